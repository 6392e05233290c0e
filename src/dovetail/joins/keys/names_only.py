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
from dovetail.joins.column_arrays import ColumnArrays
from dovetail.joins.keys.table_columns import probability
from dovetail.joins.naming.conventions import naming_conventions
from dovetail.joins.naming.name_lookup import NameLookup
from dovetail.joins.naming.name_words import core, entity, identifies, refers
from dovetail.joins.scoring.latent_databases import LatentDatabases
from dovetail.joins.scoring.weights import Weights

# Tables with no more rows than these say nothing by their values.
_HARDLY_ANY = 5
# Nats at most: a score of 0.14.
_MOST_LOGIT = -1.8
# How far the words must agree.
_LEAST_AGREEMENT = 0.9


def name_only_edges(
    arrays: ColumnArrays, edges: Sequence[JoinEdge], databases: LatentDatabases, weights: Weights
) -> list[JoinEdge]:
    """The best key that each column without a join is named after, among tables without values.

    The column must be called an identifier, the key stand first in its table and be one by name.
    """
    small = arrays.rows <= _HARDLY_ANY
    if np.count_nonzero(small) < 2:
        return []
    joined = {
        (edge.left, column) for edge in edges if edge.score > 0.5 for column, _ in edge.columns
    }
    columns = np.flatnonzero(small[arrays.table])
    keys = columns[
        (arrays.position[columns] == 0) & [identifies(arrays.name[c]) for c in columns.tolist()]
    ]
    lookup, conventions = NameLookup(arrays, keys), naming_conventions(arrays)
    found = []
    for child in columns.tolist():
        table, name = int(arrays.table[child]), arrays.name[child]
        if not identifies(name) or (arrays.ids[table], name) in joined:
            continue
        rated: dict[float, list[int]] = defaultdict(list)
        for key in lookup.keys_named_by(name).tolist():
            other = int(arrays.table[key])
            agree = _agreement(arrays, child, key)
            if other != table and agree >= _LEAST_AGREEMENT and not databases.clash(table, other):
                convention = float(conventions[table] @ conventions[other])
                rated[agree + weights.convention * convention / weights.name].append(key)
        if rated:
            best = rated[max(rated)]
            found += [_edge(arrays, child, key, len(best) - 1, weights) for key in best]
    return found


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
