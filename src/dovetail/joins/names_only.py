"""Joins by names alone, between tables with hardly any rows: their values say nothing yet.

A few rows are a sample, or the first entries of a table; that a reference is not found among them
means little. So a column that is called an identifier refers to the key of the table it is named
after: `port_id` to the `id` of `ports`, `namespace_id` in `meta_objects` to that of
`meta_namespaces`. Where keys are declared (Beaver), every second such edge of one source is one of
them, and two of five where sources are not seen; their scores say so, and their evidence says
`names_only`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain

import numpy as np

from dovetail.arrays import Floats
from dovetail.domain import JoinEdge
from dovetail.joins.columns import HARDLY_ANY, ColumnArrays, TableColumns, probability
from dovetail.joins.features import Weights
from dovetail.names.references import refers
from dovetail.names.table_name import CopyMarks, entity
from dovetail.names.words import Words, core, identifies

# Nats for the one table that a column is named after: in its own source, and where none is seen.
_SAME_SOURCE, _ANYWHERE = 0.1, -1.8
# Of more tables that fit as well none is meant.
_MOST_COMPETITORS = 2
# Of more tables of one name none is looked at: they are parts of one.
_MOST_ALIKE = 64
# How far the words must agree; what a copy loses, and a key that is merely called the same.
_LEAST_AGREEMENT, _COPY, _SAME_NAME = 0.8, 0.3, 0.05


def name_only_edges(
    arrays: ColumnArrays,
    columns: TableColumns,
    edges: Sequence[JoinEdge],
    weights: Weights,
) -> list[JoinEdge]:
    """The best key that each column without a join is named after, among tables without values."""
    small = np.flatnonzero(arrays.rows <= HARDLY_ANY).tolist()
    if len(small) < 2:
        return []
    joined = {
        (edge.left, column) for edge in edges if edge.score > 0.5 for column, _ in edge.columns
    }
    keys = _Keys(arrays, columns, small)
    children = [
        child
        for table in small
        for child in columns.of[table]
        if identifies(arrays.name[child]) and (arrays.ids[table], arrays.name[child]) not in joined
    ]
    edges_by_name = []
    for child, best in keys.named_after(children):
        if len(best) <= _MOST_COMPETITORS + 1:
            edges_by_name += [_edge(arrays, child, key, len(best) - 1, weights) for key in best]
    return edges_by_name


class _Keys:
    """The keys of tables by the words they are known by."""

    def __init__(self, arrays: ColumnArrays, columns: TableColumns, tables: Sequence[int]) -> None:
        self._arrays = arrays
        self._about = {table: entity(arrays.ids[table].name) for table in tables}
        self._key = self._find(columns)
        self._tables: dict[Words, list[int]] = defaultdict(list)
        for table, key in self._key.items():
            # By the head of what the table is about, and by what its key is called.
            for name in {self._about[table][-1:], core(arrays.name[key])}:
                self._tables[name].append(table)

    def _find(self, columns: TableColumns) -> dict[int, int]:
        """The key of each table by its name: a bare id, or the first column if it is named so."""
        names = self._arrays.name
        first = {table: columns.of[table][:1] for table in self._about}
        called = [core(names[column]) for listed in first.values() for column in listed]
        about = [self._about[table] for table, listed in first.items() for _ in listed]
        own = iter((np.minimum(refers(called, about), refers(about, called)) > 0.5).tolist())
        keys: dict[int, int] = {}
        for table, listed in first.items():
            named = [column for column in listed if next(own) and identifies(names[column])]
            bare = (c for c in columns.of[table] if identifies(names[c]) and not core(names[c]))
            key = next(chain(bare, named), None)
            if key is not None:
                keys[table] = key
        return keys

    def named_after(self, children: Sequence[int]) -> Iterator[tuple[int, list[int]]]:
        """Each column with the keys that it is named after as far as any, where there are some."""
        pairs = [(child, other) for child in children for other in self._near(child)]
        rated: dict[int, dict[float, list[int]]] = defaultdict(lambda: defaultdict(list))
        for (child, other), agree in zip(pairs, self._agreement(pairs).tolist(), strict=True):
            if agree >= _LEAST_AGREEMENT:
                table = int(self._arrays.table[child])
                rated[child][agree + self._next_to(table, other)].append(self._key[other])
        for child, ratings in rated.items():
            yield child, ratings[max(ratings)]

    def _near(self, child: int) -> list[int]:
        """The tables that share a word with a column, in order; none where these are too many."""
        arrays = self._arrays
        table, called = int(arrays.table[child]), core(arrays.name[child])
        if self._key.get(table) == child or not called:
            return []
        names = {called, *((word,) for word in called)}
        near = sorted({other for name in names for other in self._tables.get(name, ())})
        if len(near) > _MOST_ALIKE:
            return []
        return [
            other for other in near if other != table and self._same_kind(child, self._key[other])
        ]

    def _same_kind(self, child: int, key: int) -> bool:
        arrays = self._arrays
        filled = bool(arrays.filled[child]) and bool(arrays.filled[key])
        return not filled or bool(arrays.number[child] == arrays.number[key])

    def _next_to(self, table: int, other: int) -> float:
        """1 for a table of the same source, where sources count: it goes before all others."""
        ids = self._arrays.ids
        counts = bool(self._arrays.thresholds.sources)
        return float(counts and ids[table].source == ids[other].source)

    def _agreement(self, pairs: Sequence[tuple[int, int]]) -> Floats:
        """How far columns' words refer to tables, or are those of their keys."""
        arrays = self._arrays
        called = [core(arrays.name[child]) for child, _ in pairs]
        tables = [int(arrays.table[child]) for child, _ in pairs]
        about = [self._about[other] for _, other in pairs]
        apart = [
            _apart(self._about[o], self._about[t]) for t, (_, o) in zip(tables, pairs, strict=True)
        ]
        agree = np.maximum(refers(called, about), refers(called, apart))
        keys = [core(arrays.name[self._key[other]]) for _, other in pairs]
        same = np.array(
            [key == name for key, name in zip(keys, called, strict=True)], dtype=np.bool_
        )
        copies = CopyMarks.of(arrays.table_names)
        others = np.array([other for _, other in pairs], dtype=np.int64)
        copy = copies.copied(np.array(tables, dtype=np.int64), others)
        agreement: Floats = np.maximum(agree, (1 - _SAME_NAME) * same) - _COPY * copy
        return agreement


def _apart(about: Words, mine: Words) -> Words:
    """What a table is about, but for the words it has in front in common with another.

    >>> _apart(("meta", "namespace"), ("meta", "object"))
    ('namespace',)
    """
    common = 0
    while common < min(len(about), len(mine)) and about[common] == mine[common]:
        common += 1
    return about[min(common, len(about) - 1) :]


def _edge(
    arrays: ColumnArrays, child: int, key: int, competitors: int, weights: Weights
) -> JoinEdge:
    left, right = arrays.ids[int(arrays.table[child])], arrays.ids[int(arrays.table[key])]
    near = bool(arrays.thresholds.sources) and left.source == right.source
    logit = (_SAME_SOURCE if near else _ANYWHERE) - weights.competitor * competitors
    return JoinEdge(
        left=left,
        right=right,
        columns=((arrays.name[child], arrays.name[key]),),
        score=probability(logit),
        cardinality="n:1",
        match_rate=0.0,
        evidence={
            "names_only": 1.0,
            "logit": round(logit, 6),
            "competitors": float(competitors),
        },
    )
