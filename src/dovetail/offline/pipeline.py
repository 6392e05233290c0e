"""The offline line in one function: from sources to a catalog that can be asked.

    profile → dbt → join evidence → families → purposes → embeddings → search index

Each stage needs only what stands left of it. Join evidence comes before purposes, which do not need
it, because it takes seconds where a language model may take hours: an update that is interrupted
over the model leaves a catalog that can be asked. Whatever builds a catalog (the command line, the
Python API, the benchmarks) calls `update`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from dovetail.catalog.reader import CatalogReader
from dovetail.catalog.writer import writing
from dovetail.engines.passes import Workers, connected
from dovetail.errors import CatalogError
from dovetail.families.stored import bring_up_to_date as update_families
from dovetail.joins.column_arrays import Thresholds
from dovetail.joins.known_edges import bring_up_to_date as update_joins
from dovetail.offline.dbt_stage import dbt_stage, has_dbt
from dovetail.offline.profile_stage import UpdateRequest, profile_stage
from dovetail.offline.progress import Progress, ProgressCallback
from dovetail.offline.purpose import Prices, write_purposes
from dovetail.offline.summary import StageClock, UpdateSummary
from dovetail.plugins import open_engine
from dovetail.ports import LLM, Engine
from dovetail.search.embeddings import DistributedEmbedder, embed_catalog
from dovetail.search.index import (
    has_index,
    index_inputs,
    make_index,
    remove_other_indexes,
    save_index,
)
from dovetail.settings import Settings


def update(
    sources: Sequence[str] = (),
    *,
    into: str | Path,
    settings: Settings | None = None,
    forget: Sequence[str] = (),
    check: bool = False,
    joins: bool = True,
    search: bool = True,
    llm: LLM | None = None,
    engine: Engine | None = None,
    on_progress: ProgressCallback | None = None,
) -> UpdateSummary:
    """Bring the catalog at `into` up to date with sources, and say what changed.

    Without `sources`, those that the catalog has are brought up to date. `forget` drops sources by
    label; `check` reads every table again, whatever its source says. Without `joins`, join evidence
    and families are left to whoever asks for them first; without `search`, so are embeddings and
    search index. Purposes are written if an `llm` is given. The work is done by the engine that the
    settings name, unless one is given.
    """
    path, settings = Path(into), settings or Settings()
    notify = on_progress or _ignore
    clock = StageClock()
    # The engine of this machine profiles alone: the other stages share its memory in one process.
    elsewhere = engine is not None or settings.engine != Settings().engine
    engine = engine or _engine(settings)
    workers = Workers(engine) if elsewhere else None
    with _told_as_catalog_error(path), connected(engine):
        with writing(path) as writer:
            with clock.stage("profile"):
                request = UpdateRequest(sources, forget, check)
                summary = profile_stage(writer, request, settings, engine, notify)
            if has_dbt(path, settings):
                with clock.stage("dbt"):
                    summary = dbt_stage(summary, settings)
            catalog = summary.catalog.knowing(settings)
            summary = replace(summary, catalog=catalog)
            if joins:
                _joins_and_families(catalog, settings, workers, clock, notify)

        if llm is not None:
            with clock.stage("purposes"):
                prices = Prices(settings.llm_price_in, settings.llm_price_out)
                purposes = write_purposes(
                    catalog,
                    llm,
                    workers=settings.llm_workers,
                    prices=prices,
                    style=settings.purpose_style,
                    on_progress=notify,
                )
                summary = replace(summary, purposes=purposes)

        if search:
            note = _search_index(catalog, settings, workers, clock, notify)
            summary = replace(summary, note=note)
    return replace(summary, stages=tuple(clock.times))


def apply_knowledge(folder: str | Path, settings: Settings) -> CatalogReader:
    """Bring what depends on past queries up to date: joins, families and search index.

    No source is read. Returned is the catalog as it is known now.
    """
    path = Path(folder)
    clock = StageClock()
    with _told_as_catalog_error(path):
        with writing(path):
            catalog = CatalogReader.open(path).knowing(settings)
            _joins_and_families(catalog, settings, None, clock, _ignore)
        _search_index(catalog, settings, None, clock, _ignore)
    return catalog


def _engine(settings: Settings) -> Engine:
    return open_engine(settings.engine, workers=settings.workers, address=settings.ray_address)


def _search_index(
    catalog: CatalogReader,
    settings: Settings,
    workers: Workers | None,
    clock: StageClock,
    notify: ProgressCallback,
) -> str:
    """Have the search index ready; what search has to go without is told, if anything."""
    inputs, note = index_inputs(catalog, settings)
    if not has_index(catalog, inputs):
        with clock.stage("embeddings"):
            by = inputs
            if workers is not None and inputs.embedder is not None:
                distributed = DistributedEmbedder(inputs.embedder, settings.embedder, workers)
                by = replace(inputs, embedder=distributed)
            embeddings = embed_catalog(catalog, by, _counter("embed", notify))
        with clock.stage("search_index"):
            notify(Progress("index", 0, 1))
            save_index(make_index(catalog, inputs, embeddings, workers), catalog, inputs)
    remove_other_indexes(catalog, inputs)
    return note


def _joins_and_families(
    catalog: CatalogReader,
    settings: Settings,
    workers: Workers | None,
    clock: StageClock,
    notify: ProgressCallback,
) -> None:
    """Bring join evidence up to date, and the families that it helps to tell."""
    thresholds = Thresholds(settings.join_rows, settings.join_unique)
    with clock.stage("joins"):
        update_joins(catalog, thresholds, _counter("join", notify), workers)
    if settings.families:
        with clock.stage("families"):
            notify(Progress("family", 0, 1))
            update_families(catalog, thresholds)


@contextmanager
def _told_as_catalog_error(path: Path) -> Iterator[None]:
    """Errors of sources are caught where these are read, so an OSError is about the catalog."""
    try:
        yield
    except OSError as error:
        raise CatalogError(
            f"cannot write to {path}: {error.strerror or error}; the catalog is as it was before, "
            "and what was finished is kept for the next run"
        ) from None


def _counter(phase: str, on_progress: ProgressCallback) -> Callable[[int, int], None]:
    """A callback that is told how much of how much is done, and passes it on as progress."""
    return lambda done, total: on_progress(Progress(phase, done, total))


def _ignore(progress: Progress) -> None:
    """Nobody listens."""
