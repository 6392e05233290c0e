"""The offline line: from sources to a generation of the catalog that can be asked.

    sources → profile → what people wrote → draft → joins → families → embeddings → index → commit

Each stop takes what stands left of it. Nothing is in force before the commit, which replaces one
manifest; a run that ends before it leaves the catalog as it was, and its finished segments and
vectors for the next one. What is derived from records keeps its part of the last generation where
nothing changed that it is made from. Whatever builds a catalog (the command line, the Python API,
the benchmarks) calls `update`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from dovetail.catalog.generation import EVIDENCE, FAMILIES, JOINS, SEARCH
from dovetail.catalog.reader import CatalogReader, notes_file
from dovetail.catalog.writer import Draft, writing
from dovetail.domain import JoinEdge, Skipped
from dovetail.engines.passes import Workers, connected
from dovetail.errors import CatalogError, DovetailError, SourceError
from dovetail.families.detect import find_families
from dovetail.families.family import VERSION as FAMILIES_VERSION
from dovetail.families.family import by_lineage, write_families
from dovetail.joins.columns import Thresholds, catalog_passes, labelled
from dovetail.joins.edges import SCORING_VERSION, StoredEdges, write_edges
from dovetail.joins.evidence import join_evidence
from dovetail.joins.evidence import with_what_people_wrote as edges_with_what_people_wrote
from dovetail.joins.graph import JoinGraph
from dovetail.memory import bounded, ran_out, too_little
from dovetail.offline.describe import Prices, describe
from dovetail.offline.dictionary import last_dictionary, read_dictionary
from dovetail.offline.plan import ChangeLogs, Lost, UpdateRequest, plan_update
from dovetail.offline.summary import (
    DescribeSummary,
    Progress,
    ProgressCallback,
    StageClock,
    UpdateSummary,
)
from dovetail.offline.update import merged, profile_tables, summary_of
from dovetail.offline.written import with_what_people_wrote
from dovetail.plugins import open_engine
from dovetail.ports import LLM, Embedder, Engine
from dovetail.search.embeddings import FOLDER as VECTORS
from dovetail.search.embeddings import DistributedEmbedder, embed_catalog
from dovetail.search.index import chosen_embedder, index_key, make_index
from dovetail.search.run_together import run_together
from dovetail.search.translations import translations, without_foreign
from dovetail.search.values import write_values
from dovetail.settings import Settings

# The parts of a catalog that are made from its records, in words.
_MADE = {EVIDENCE: "joins", JOINS: "joins", FAMILIES: "families", SEARCH: "search index"}
# How declared keys, comments and queries change evidence: edges of another version are made again.
_JOINS_VERSION = 5


def update(
    sources: Sequence[str] = (),
    *,
    into: str | Path,
    settings: Settings | None = None,
    forget: Sequence[str] = (),
    check: bool = False,
    llm: LLM | None = None,
    engine: Engine | None = None,
    on_progress: ProgressCallback | None = None,
) -> UpdateSummary[CatalogReader]:
    """Bring the catalog at `into` up to date with sources, and say what changed.

    Without `sources`, those that the catalog has are brought up to date. `forget` drops sources by
    label; `check` reads every table again, whatever its source says. If an `llm` is given, it then
    describes the tables that it has not described yet, which comes into force with a second
    generation. The work is done by the engine that the settings name, unless one is given.
    """
    settings = settings or Settings()
    chosen = engine or open_engine(
        settings.engine, workers=settings.workers, address=settings.ray_address
    )
    # The engine of this machine profiles alone: the other stages share its memory in one process.
    elsewhere = engine is not None or settings.engine != Settings().engine
    line = _Line(Path(into), settings, chosen, elsewhere, on_progress or _ignore)
    with _as_catalog_error(line.folder), bounded(line.memory), connected(chosen):
        summary = line.run(UpdateRequest(sources, forget, check))
        if llm is not None:
            described = line.describe(summary.catalog, llm)
            catalog = line.run(UpdateRequest(visit=False)).catalog
            summary = replace(summary, catalog=catalog, descriptions=described)
    return replace(summary, stages=line.clock.times)


def update_descriptions(
    catalog: CatalogReader,
    settings: Settings,
    llm: LLM,
    on_progress: ProgressCallback | None = None,
    *,
    again: bool = False,
) -> tuple[CatalogReader, DescribeSummary]:
    """Have a model describe the tables that it has not described yet, or all `again`; no source is
    looked at."""
    with _line_here(catalog.folder, settings, on_progress) as line:
        summary = line.describe(catalog, llm, again=again)
        return line.run(UpdateRequest(visit=False)).catalog, summary


def reindex(folder: Path, settings: Settings, change: ChangeLogs | None = None) -> CatalogReader:
    """Put in force what was written down since the last generation, such as descriptions, and
    change which past queries a catalog knows; no source is looked at."""
    with _line_here(folder, settings) as line:
        return line.run(UpdateRequest(visit=False, change_logs=change)).catalog


def mend(folder: Path, settings: Settings, lost: Lost) -> CatalogReader:
    """Read again the tables that a damaged catalog has lost, make the parts that are damaged again,
    and keep all others."""
    with _line_here(folder, settings) as line:
        return line.run(UpdateRequest(damage=lost)).catalog


@contextmanager
def _line_here(
    folder: Path, settings: Settings, on_progress: ProgressCallback | None = None
) -> Iterator[_Line]:
    """The offline line of a catalog whose tables are all known, on this machine."""
    engine = open_engine(Settings().engine, workers=settings.workers, address=None)
    line = _Line(folder, settings, engine, elsewhere=False, notify=on_progress or _ignore)
    with _as_catalog_error(folder), bounded(line.memory), connected(engine):
        yield line


@dataclass(frozen=True, slots=True)
class _Line:
    """The offline line of one catalog."""

    folder: Path
    settings: Settings
    engine: Engine
    elsewhere: bool
    notify: ProgressCallback
    clock: StageClock = field(default_factory=StageClock)

    @property
    def memory(self) -> int:
        """The bytes that this process may take, and each worker."""
        return self.settings.index_memory_mb << 20

    def describe(self, catalog: CatalogReader, llm: LLM, *, again: bool = False) -> DescribeSummary:
        """Have a model describe tables; what it writes is in force after the next run."""
        settings = self.settings
        catalog.notes_file = notes_file(self.folder, settings)
        with self.clock.stage("describe"):
            return describe(
                catalog,
                llm,
                workers=settings.llm_workers,
                prices=Prices(settings.llm_price_in, settings.llm_price_out),
                on_progress=self.notify,
                again=again,
            )

    def run(self, request: UpdateRequest) -> UpdateSummary[CatalogReader]:
        """From a request to a generation in force; readers stay with the last one until then."""
        settings, clock, notify = self.settings, self.clock, self.notify
        workers = Workers(self.engine, self.memory) if self.elsewhere else None
        lost = request.damage.names if request.damage is not None else None
        with writing(self.folder, lost) as writer:
            current = writer.current
            with clock.stage("profile"):
                plan = plan_update(request, writer, settings, notify)
                profiled = profile_tables(plan, writer, self.engine, notify, memory=self.memory)
                content, retained = merged(
                    plan, profiled, current, pooled=not settings.join_sources
                )
                if lost and current is not None:
                    _refuse_losses(content.skipped, current.skipped)
                dictionary = last_dictionary(current)
                if plan.cipher is None:  # a dictionary's descriptions are cells
                    dictionary = read_dictionary(
                        content.records, content.segments, plan, dictionary
                    )
                written = with_what_people_wrote(
                    content.records, dictionary, writer, settings, request.change_logs
                )
                notify(Progress("write", 0, 1))
                draft = writer.draft(replace(content, records=written.records))
                written.write(draft)
            with clock.stage("joins"):
                joins = join_stage(draft, settings, workers, notify)
            if settings.families:
                with clock.stage("families"):
                    notify(Progress("family", 0, 1))
                    family_stage(draft, joins)
            note = search_stage(draft, joins, settings, workers, clock, notify)
            catalog = draft.commit()
        summary = summary_of(catalog, plan.before, retained, written.redeclared)
        if (summary.added or summary.changed) and not catalog.no_values:
            summary = replace(summary, masked=dict(sorted(catalog.records.masked().items())))
        notices = (*sorted(plan.notices), *written.notices)
        return replace(summary, note=note, notices=notices, remade=_remade(current, catalog))


@dataclass(frozen=True, slots=True)
class Joins:
    """The joins of a draft, and a digest of all that they were made from."""

    edges: Sequence[JoinEdge]
    key: str


def join_stage(
    draft: Draft, settings: Settings, workers: Workers | None, notify: ProgressCallback
) -> Joins:
    """The join evidence of a draft, and what declared keys, comments and past queries say of it."""
    notify(Progress("join", 0, 2))
    catalog = draft.catalog
    thresholds = Thresholds(settings.join_rows, settings.join_unique)
    kind = _digest(SCORING_VERSION, thresholds.resolved(catalog))
    key = f"{kind} {catalog.records.contents}"
    if catalog.records.comments_digest and any(map(any, labels := labelled(catalog)[1:])):
        key += f" {_digest(*labels)}"
    part = draft.kept(EVIDENCE, key)
    edges: Sequence[JoinEdge]
    if part is not None:
        edges = StoredEdges.read(part)
    else:
        shared = draft.published() if workers else catalog
        with catalog_passes(shared, workers) as passes:
            edges, complete = join_evidence(catalog, thresholds, passes)
        # What a source was missing for, the next update tries again.
        draft.write(
            EVIDENCE, key if complete else f"{kind} incomplete", partial(write_edges, edges)
        )
    notify(Progress("join", 1, 2))
    records = catalog.records
    written = records.keys_digest, records.comments_digest, catalog.usage.joins_digest
    if not any(written):
        return Joins(edges, key)
    key = f"{key} {_JOINS_VERSION} {' '.join(written)}"
    part = draft.kept(JOINS, key)
    if part is not None:
        return Joins(StoredEdges.read(part), key)
    edges = edges_with_what_people_wrote(catalog, edges, catalog.usage)
    draft.write(JOINS, key, partial(write_edges, edges))
    return Joins(edges, key)


def family_stage(draft: Draft, joins: Joins) -> None:
    """The families of a draft's tables; of which table each is, a dbt project may decide."""
    catalog = draft.catalog
    key = f"{FAMILIES_VERSION} {joins.key} {catalog.dbt.digest}"
    if draft.kept(FAMILIES, key) is None:
        families = find_families(catalog, JoinGraph(catalog.ids, joins.edges))
        draft.write(FAMILIES, key, partial(write_families, by_lineage(families, catalog.dbt)))


def search_stage(
    draft: Draft,
    joins: Joins,
    settings: Settings,
    workers: Workers | None,
    clock: StageClock,
    notify: ProgressCallback,
) -> str:
    """The search index of a draft; returned is what search has to go without, or nothing."""
    catalog = draft.catalog
    embedder, note = chosen_embedder(settings)
    key = f"{index_key(embedder)} {joins.key} {catalog.records.comments_digest}"
    write_values(draft)
    if draft.kept(SEARCH, key) is not None:
        return note
    with clock.stage("embeddings"):
        by: Embedder | None = embedder
        if workers is not None and embedder is not None:
            by = DistributedEmbedder(embedder, settings.embedder, workers)
        tables = catalog.records.named_tables()
        parts = run_together(tables)
        meanings = translations(tables, parts, catalog.folder / VECTORS)
        parts = without_foreign(parts, meanings)
        embeddings = embed_catalog(
            catalog,
            by,
            lambda done, total: notify(Progress("embed", done, total)),
            parts=parts,
            meanings=meanings,
        )
    with clock.stage("search_index"):
        notify(Progress("index", 0, 1))
        make = partial(make_index, catalog, embedder, joins.edges, embeddings, parts)
        draft.write(SEARCH, key, partial(make, meanings=meanings))
    return note


def _digest(*things: object) -> str:
    return hashlib.sha256(repr(things).encode()).hexdigest()[:12]


def _remade(before: CatalogReader | None, after: CatalogReader) -> tuple[str, ...]:
    """What a generation has not taken over from the last one, in words."""
    if before is None:
        return ()
    old, new = before.manifest.parts, after.manifest.parts
    return tuple(dict.fromkeys(_MADE[name] for name in _MADE if old.get(name) != new.get(name)))


def _refuse_losses(skipped: Sequence[Skipped], before: Sequence[Skipped]) -> None:
    """Refuse to go on without tables that a damaged catalog had and that cannot be read now."""
    for skip in skipped:
        if skip not in before:
            raise SourceError(
                f"{skip}; the catalog is as it was: repair it when that can be read, or drop the "
                "source with dovetail index --forget LABEL"
            )


@contextmanager
def _as_catalog_error(path: Path) -> Iterator[None]:
    """Errors of sources are caught where these are read, so an OSError is about the catalog."""
    kept = "the catalog is as it was before, and what was finished is kept for the next run"
    try:
        yield
    except DovetailError:
        raise
    except Exception as error:
        if ran_out(error):
            raise CatalogError(f"indexing {too_little()}; {kept}: allow more") from None
        if isinstance(error, OSError):
            why = error.strerror or error
            raise CatalogError(f"cannot write to {path}: {why}; {kept}") from None
        raise


def _ignore(progress: Progress) -> None:
    """Nobody listens."""
