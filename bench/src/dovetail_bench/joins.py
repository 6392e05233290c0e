"""Measures join discovery: scored table pairs of a pooled corpus against declared foreign keys."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from dovetail.domain import JoinEdge
from dovetail.joins.columns import ColumnArrays, Thresholds
from dovetail.joins.declared import with_declared
from dovetail.models.vectors import VectorStore
from dovetail.offline.summary import ProgressCallback
from dovetail.plugins import open_embedder
from dovetail.search.embeddings import FOLDER as VECTORS
from dovetail_bench.datasets import Dataset, database_of
from dovetail_bench.measures import Pair, joinability
from dovetail_bench.scorings import FOREIGN_KEY, score_joins

ColumnPairs = frozenset[frozenset[str]]


def bench_joins(
    dataset: Dataset,
    name: str,
    *,
    embedder: str = "none",
    on_progress: ProgressCallback | None = None,
) -> dict[str, Any]:
    """Score all pairs of tables with rows, and measure them over the pool and inside databases.

    With an embedder, `paper` and `jar` weigh what headers mean beside how they are written. The
    pool hides which table is of which source; `by_source` are the figures of `foreign_key` where it
    may be seen, and `declared` those with the keys that the sources declare themselves, if they do.
    """
    model = open_embedder(embedder)
    told = replace(dataset, declared=True)
    catalog = told.catalog(None, on_progress, search=False)
    started = time.perf_counter()
    embed = VectorStore(catalog.folder / VECTORS, model).documents if model else None
    edges = score_joins(catalog, name, embed=embed)
    seconds = time.perf_counter() - started
    arrays = ColumnArrays.of(catalog)
    gold = declared(dataset, arrays)
    live = int((arrays.rows > 0).sum())
    ours = name == FOREIGN_KEY
    shown = {}
    if ours:
        seen = score_joins(catalog, name, Thresholds(sources=True))
        shown["by_source"] = _measured(arrays, gold, seen)
    if ours and catalog.records.keys_digest:
        shown["declared"] = _measured(arrays, gold, with_declared(catalog, edges))
    return {
        "dataset": dataset.name,
        "scoring": name,
        "embedder": model.model_id if model else None,
        "tables": len(arrays.ids),
        "empty_tables": len(arrays.ids) - live,
        "columns": len(arrays),
        "seconds": round(seconds, 3),
        **_measured(arrays, gold, edges),
        **shown,
    }


def _measured(
    arrays: ColumnArrays, gold: dict[Pair, ColumnPairs], edges: Sequence[JoinEdge]
) -> dict[str, Any]:
    """How edges do over all pairs of tables with rows, and over those of one database.

    A declared key between tables without an edge has no best columns, whatever the scoring.
    """
    scores, best = best_pairs(arrays, edges)
    live = [table for table, rows in enumerate(arrays.rows.tolist()) if rows]
    owners = Counter(database_of(arrays.ids[table]) for table in live)

    def inside(pair: Pair) -> bool:
        return database_of(arrays.ids[pair[0]]) == database_of(arrays.ids[pair[1]])

    within = {pair: score for pair, score in scores.items() if inside(pair)}
    gold_within = {pair: columns for pair, columns in gold.items() if inside(pair)}
    pairs_within = sum(_choose_two(count) for count in owners.values())
    return {
        "all": asdict(joinability(scores, best, gold, _choose_two(len(live)))),
        "within": asdict(joinability(within, best, gold_within, pairs_within)),
    }


def declared(dataset: Dataset, arrays: ColumnArrays) -> dict[Pair, ColumnPairs]:
    """The declared keys between tables with rows: by pair of tables, the pairs of columns."""
    places = {(table.source, table.name.lower()): place for place, table in enumerate(arrays.ids)}
    gold: dict[Pair, ColumnPairs] = {}
    for key in dataset.foreign_keys():
        child = places.get((key.database, key.table.lower()))
        parent = places.get((key.ref_database, key.ref_table.lower()))
        if child is None or parent is None or not (arrays.rows[child] and arrays.rows[parent]):
            continue
        columns = frozenset((_column(child, key.column), _column(parent, key.ref_column)))
        pair = (min(child, parent), max(child, parent))
        gold[pair] = gold.get(pair, frozenset()) | {columns}
    return gold


def best_pairs(
    arrays: ColumnArrays, edges: Sequence[JoinEdge]
) -> tuple[dict[Pair, float], dict[Pair, ColumnPairs]]:
    """Per pair of tables the best score, and the columns it stands for; self edges are left out."""
    place = {table: number for number, table in enumerate(arrays.ids)}
    scores: dict[Pair, float] = {}
    best: dict[Pair, ColumnPairs] = {}
    for edge in sorted(edges, key=lambda edge: -edge.score):
        left, right = place[edge.left], place[edge.right]
        pair = (min(left, right), max(left, right))
        if left != right and pair not in scores:
            scores[pair] = edge.score
            best[pair] = frozenset(
                frozenset((_column(left, a), _column(right, b))) for a, b in edge.columns
            )
    return scores, best


def _column(table: int, name: str) -> str:
    return f"{table}.{name.lower()}"


def _choose_two(count: int) -> int:
    return count * (count - 1) // 2
