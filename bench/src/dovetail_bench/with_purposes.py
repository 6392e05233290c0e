"""The catalog of a dataset with a purpose for each table, a paragraph as in the paper, apart from
the one without."""

from __future__ import annotations

from collections.abc import Callable

from dovetail.catalog.reader import CatalogReader
from dovetail.errors import PendingError, UsageError
from dovetail.models.cache import needed_model
from dovetail.offline.purpose import Prices, write_purposes
from dovetail.offline.summary import ProgressCallback
from dovetail.prompts import read_prompt
from dovetail.settings import Settings
from dovetail_bench.datasets import Dataset
from dovetail_bench.prompts import PROMPTS

_VARIANT = "-purposes"
# Characters of a purpose that are kept.
_LONGEST = 1_200


def catalog_with_purposes(
    dataset: Dataset,
    settings: Settings,
    *,
    on_progress: ProgressCallback | None = None,
    note: Callable[[str], None] = lambda _: None,
) -> CatalogReader:
    """The pooled catalog with a purpose for each table that the model could tell one of."""
    if not dataset.sources:
        raise UsageError(
            f"{dataset.name} is over a catalog of its own: dovetail index --llm gives its tables "
            "purposes, and they are always read"
        )
    catalog = dataset.catalog(settings, on_progress, search=False, variant=_VARIANT)
    model = needed_model(catalog.folder, settings, "writing purposes")
    written = write_purposes(
        catalog,
        model,
        on_progress=on_progress,
        workers=settings.llm_workers,
        prices=Prices(settings.llm_price_in, settings.llm_price_out),
        prompt=read_prompt("purpose_paragraph", PROMPTS),
        longest=_LONGEST,
    )
    if written.pending:
        raise PendingError(
            f"the purposes of {written.pending} tables wait for replies; have the requests of "
            f"{settings.llm} answered, then run this again"
        )
    for skipped in written.failed:
        note(f"no purpose for {skipped}")
    return dataset.catalog(settings, on_progress, variant=_VARIANT)
