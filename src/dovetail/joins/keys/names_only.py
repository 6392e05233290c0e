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
from collections.abc import Sequence
from itertools import chain

import numpy as np

from dovetail.domain import JoinEdge
from dovetail.joins.column_arrays import ColumnArrays
from dovetail.joins.keys.table_columns import HARDLY_ANY, TableColumns, probability
from dovetail.joins.naming.copies import copy_marks
from dovetail.joins.naming.name_words import Words, core, entity, identifies, refers
from dovetail.joins.scoring.latent_databases import LatentDatabases
from dovetail.joins.scoring.weights import Weights

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
    databases: LatentDatabases,
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
    found = []
    for table in small:
        for child in columns.of[table]:
            name = arrays.name[child]
            if not identifies(name) or (arrays.ids[table], name) in joined:
                continue
            best = keys.named_after(child, databases)
            if 0 < len(best) <= _MOST_COMPETITORS + 1:
                found += [_edge(arrays, child, key, len(best) - 1, weights) for key in best]
    return found


class _Keys:
    """The keys of tables by the words they are known by."""

    def __init__(self, arrays: ColumnArrays, columns: TableColumns, tables: Sequence[int]) -> None:
        self._arrays = arrays
        self._about = {table: entity(arrays.ids[table].name) for table in tables}
        self._key: dict[int, int] = {}
        self._tables: dict[Words, list[int]] = defaultdict(list)
        for table in tables:
            key = self._find(columns.of[table], self._about[table])
            if key is None:
                continue
            self._key[table] = key
            # By the head of what the table is about, and by what its key is called.
            for known in {self._about[table][-1:], core(arrays.name[key])}:
                self._tables[known].append(table)
        self._memory: dict[tuple[Words, Words, int], float] = {}

    def _find(self, columns: Sequence[int], about: Words) -> int | None:
        """The key of a table by its name: a bare id, or the first column if it is named so."""
        names = [(column, self._arrays.name[column]) for column in columns]
        bare = (column for column, name in names if identifies(name) and not core(name))
        first = (
            column
            for column, name in names[:1]
            if identifies(name) and _own(core(name), about) > 0.5
        )
        return next(chain(bare, first), None)

    def named_after(self, child: int, databases: LatentDatabases) -> list[int]:
        """The keys that a column is named after as far as any, in order."""
        arrays = self._arrays
        table, called = int(arrays.table[child]), core(arrays.name[child])
        if self._key.get(table) == child or not called:
            return []
        known = {called, *((word,) for word in called)}
        near = sorted({other for words in known for other in self._tables.get(words, ())})
        if len(near) > _MOST_ALIKE:
            return []
        rated: dict[float, list[int]] = defaultdict(list)
        for other in near:
            if other == table or databases.clash(table, other):
                continue
            if not self._same_kind(child, self._key[other]):
                continue
            agree = self._agreement(called, table, other)
            if agree >= _LEAST_AGREEMENT:
                rated[agree + self._next_to(table, other)].append(self._key[other])
        return rated[max(rated)] if rated else []

    def _same_kind(self, child: int, key: int) -> bool:
        arrays = self._arrays
        known = bool(arrays.filled[child]) and bool(arrays.filled[key])
        return not known or bool(arrays.number[child] == arrays.number[key])

    def _next_to(self, table: int, other: int) -> float:
        """1 for a table of the same source, where sources count: it goes before all others."""
        ids = self._arrays.ids
        counts = bool(self._arrays.thresholds.sources)
        return float(counts and ids[table].source == ids[other].source)

    def _agreement(self, called: Words, table: int, other: int) -> float:
        """How far a column's words refer to a table, or are those of its key."""
        about, mine = self._about[other], self._about[table]
        known = called, mine, other
        if known not in self._memory:
            key = core(self._arrays.name[self._key[other]])
            agree = max(refers(called, about), refers(called, _apart(about, mine)))
            agree = max(agree, (1 - _SAME_NAME) * (key == called))
            copy = not copy_marks(self._arrays.ids[other].name) <= copy_marks(
                self._arrays.ids[table].name
            )
            self._memory[known] = agree - _COPY * copy
        return self._memory[known]


def _own(called: Words, about: Words) -> float:
    """How far a key is named after its table, both ways round."""
    return min(refers(called, about), refers(about, called))


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
