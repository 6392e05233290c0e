"""A corpus whose tables a language model has described, beside the one that nobody described."""

from __future__ import annotations

from collections.abc import Callable

from dovetail.bench.datasets import Dataset
from dovetail.catalog.reader import CatalogReader
from dovetail.errors import PendingError, UsageError
from dovetail.offline.progress import Progress, ProgressCallback
from dovetail.offline.purpose import write_purposes
from dovetail.retrieve.opening import needed_model
from dovetail.search.opening import make_searchable
from dovetail.settings import Settings

_VARIANT = "-purposes"


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
    model = needed_model(catalog, settings, "--purposes")
    report = write_purposes(catalog, model, on_progress=on_progress, workers=settings.llm_workers)
    if report.pending:
        raise PendingError(
            f"the purposes of {report.pending} tables wait for replies; have the requests of "
            f"{settings.llm} answered, then run this again"
        )
    for skipped in report.failed:
        note(f"no purpose for {skipped}")
    seen = on_progress or (lambda _: None)
    make_searchable(catalog, settings, lambda done, all_: seen(Progress("embed", done, all_)))
    return catalog
