"""Joins by names alone, between tables with hardly any rows: their values say nothing yet.

A few rows are a sample, or the first entries of a table; that a reference is not found among them
means little. Of such edges one in seven is right where keys are declared, so none scores higher:
something to look at, never a join; its evidence says `names_only`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from dovetail.domain import JoinEdge
from dovetail.joins.column_arrays import ColumnArrays, Ints
from dovetail.joins.keys.table_columns import HARDLY_ANY, probability
from dovetail.joins.naming.conventions import naming_conventions
from dovetail.joins.naming.name_lookup import NameLookup
from dovetail.joins.naming.name_words import core, entity, identifies, refers
from dovetail.joins.scoring.latent_databases import LatentDatabases
from dovetail.joins.scoring.weights import Weights

# Nats at most: a score of 0.14.
_MOST_LOGIT = -1.8
# Of more equal competitors every score is 0 to the sixth digit: 1 / (1 + exp(1.8 + 19 ln 2)).
_MOST_COMPETITORS = 19
# How far the words must agree.
_LEAST_AGREEMENT = 0.9


def name_only_edges(
    arrays: ColumnArrays, edges: Sequence[JoinEdge], databases: LatentDatabases, weights: Weights
) -> list[JoinEdge]:
    """The best key that each column without a join is named after, among tables without values.

    The column must be called an identifier, the key stand first in its table and be one by name.
    """
    small = arrays.rows <= HARDLY_ANY
    if np.count_nonzero(small) < 2:
        return []
    joined = {
        (edge.left, column) for edge in edges if edge.score > 0.5 for column, _ in edge.columns
    }
    columns = np.flatnonzero(small[arrays.table])
    keys = columns[
        (arrays.position[columns] == 0) & [identifies(arrays.name[c]) for c in columns.tolist()]
    ]
    named_keys, conventions = _NamedKeys(arrays, keys), naming_conventions(arrays)
    found = []
    for child in columns.tolist():
        table, name = int(arrays.table[child]), arrays.name[child]
        if not identifies(name) or (arrays.ids[table], name) in joined:
            continue
        rated: dict[float, list[int]] = defaultdict(list)
        for key, agree in named_keys.of(child):
            other = int(arrays.table[key])
            if other != table and not databases.clash(table, other):
                convention = float(conventions[table] @ conventions[other])
                rated[agree + weights.convention * convention / weights.name].append(key)
        best = rated[max(rated)] if rated else []
        if 0 < len(best) <= _MOST_COMPETITORS + 1:
            found += [_edge(arrays, child, key, len(best) - 1, weights) for key in best]
    return found


class _NamedKeys:
    """The keys that columns are named after, worked out once for columns and keys named alike."""

    def __init__(self, arrays: ColumnArrays, keys: Ints) -> None:
        self._arrays = arrays
        self._alike: dict[tuple[object, ...], list[int]] = defaultdict(list)
        for key in keys.tolist():
            own = entity(arrays.ids[int(arrays.table[key])].name)
            self._alike[core(arrays.name[key]), own, self._kind(key)].append(key)
        self._members = {alike[0]: alike for alike in self._alike.values()}
        self._lookup = NameLookup(arrays, np.array(sorted(self._members), dtype=np.int64))
        self._memory: dict[tuple[object, ...], list[tuple[int, float]]] = {}

    def _kind(self, column: int) -> bool | None:
        """Whether a column holds numbers; None if it is empty."""
        return bool(self._arrays.number[column]) if self._arrays.filled[column] else None

    def of(self, child: int) -> list[tuple[int, float]]:
        """The keys that a column is named after, in order, and how far it is."""
        arrays, own = self._arrays, None
        if arrays.position[child] == 0:
            own = entity(arrays.ids[int(arrays.table[child])].name)
        alike = core(arrays.name[child]), own, self._kind(child)
        if alike not in self._memory:
            found = []
            for first in self._lookup.keys_named_by(arrays.name[child]).tolist():
                agree = _agreement(arrays, child, first)
                if agree >= _LEAST_AGREEMENT:
                    found += [(key, agree) for key in self._members[first]]
            self._memory[alike] = sorted(found)
        return self._memory[alike]


def _agreement(arrays: ColumnArrays, child: int, key: int) -> float:
    """How far a column is named after a key and its table; nothing if it is its own table's key."""
    own, other = (entity(arrays.ids[int(arrays.table[column])].name) for column in (child, key))
    named, called = core(arrays.name[child]), core(arrays.name[key])
    if arrays.number[child] != arrays.number[key] and arrays.filled[child] and arrays.filled[key]:
        return 0.0
    if arrays.position[child] == 0 and refers(named, own) >= refers(named, other):
        return 0.0
    # The key is its table's own: bare, or named after it.
    is_own = 1.0 if not called else min(refers(called, other), refers(other, called))
    return max(refers(named, other), refers(named, called)) * (is_own > 0.5)


def _edge(
    arrays: ColumnArrays, child: int, key: int, competitors: int, weights: Weights
) -> JoinEdge:
    logit = _MOST_LOGIT - weights.competitor * competitors
    return JoinEdge(
        left=arrays.ids[int(arrays.table[child])],
        right=arrays.ids[int(arrays.table[key])],
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
