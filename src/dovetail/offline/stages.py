"""The stages that derive something from a draft's records: each keeps the part of the last
generation where nothing changed that it is made from, and makes it anew otherwise."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from dovetail.catalog.generation import EVIDENCE, FAMILIES, JOINS, SEARCH
from dovetail.catalog.writer import Draft
from dovetail.domain import JoinEdge
from dovetail.engines.passes import Workers
from dovetail.families.detect import find_families
from dovetail.families.family import VERSION as FAMILIES_VERSION
from dovetail.families.family import by_lineage, write_families
from dovetail.joins.columns import Thresholds, catalog_passes
from dovetail.joins.edges import SCORING_VERSION, StoredEdges, write_edges
from dovetail.joins.evidence import join_evidence, with_what_people_wrote
from dovetail.joins.graph import JoinGraph
from dovetail.offline.summary import Progress, ProgressCallback, StageClock
from dovetail.ports import Embedder
from dovetail.search.embeddings import FOLDER as VECTORS
from dovetail.search.embeddings import DistributedEmbedder, embed_catalog
from dovetail.search.index import chosen_embedder, index_key, make_index
from dovetail.search.run_together import run_together
from dovetail.search.translations import translations, without_foreign
from dovetail.search.values import write_values
from dovetail.settings import Settings

# How declared keys, comments and queries change evidence: edges of another version are made again.
_JOINS_VERSION = 5


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
    edges = with_what_people_wrote(catalog, edges, catalog.usage)
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
