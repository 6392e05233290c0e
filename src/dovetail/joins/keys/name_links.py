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
from dovetail.joins.column_arrays import Lake
from dovetail.joins.naming.name_lookup import Named
from dovetail.joins.naming.name_words import core, entity, identifies, refers
from dovetail.joins.scoring.features import Constants, spelling_habits
from dovetail.joins.scoring.foreign_key import Databases

# Tables with no more rows than these say nothing by their values.
_HARDLY_ANY = 5
# Nats at most: a score of 0.14.
_AT_MOST = -1.8
# How far the words must agree.
_AGREE = 0.9


def nominal_edges(
    lake: Lake, edges: Sequence[JoinEdge], databases: Databases, constants: Constants
) -> list[JoinEdge]:
    """The best key that each column without a join is named after, among tables without values.

    The column must be called an identifier, the key stand first in its table and be one by name.
    """
    bare = lake.rows <= _HARDLY_ANY
    if np.count_nonzero(bare) < 2:
        return []
    joined = {
        (edge.left, column) for edge in edges if edge.score > 0.5 for column, _ in edge.columns
    }
    columns = np.flatnonzero(bare[lake.table])
    keys = columns[
        (lake.position[columns] == 0) & [identifies(lake.name[c]) for c in columns.tolist()]
    ]
    named, habits = Named(lake, keys), spelling_habits(lake)
    found = []
    for child in columns.tolist():
        table, name = int(lake.table[child]), lake.name[child]
        if not identifies(name) or (lake.ids[table], name) in joined:
            continue
        rated: dict[float, list[int]] = defaultdict(list)
        for key in named.pointed_at(name).tolist():
            other = int(lake.table[key])
            agree = _agreement(lake, child, key)
            if other != table and agree >= _AGREE and not databases.clash(table, other):
                habit = float(habits[table] @ habits[other])
                rated[agree + constants.habit * habit / constants.name].append(key)
        if rated:
            best = rated[max(rated)]
            found += [_edge(lake, child, key, len(best), constants) for key in best]
    return found


def _agreement(lake: Lake, child: int, key: int) -> float:
    """How far a column is named after a key and its table; nothing if it is its own table's key."""
    own, other = (entity(lake.ids[int(lake.table[column])].name) for column in (child, key))
    said, called = core(lake.name[child]), core(lake.name[key])
    if lake.number[child] != lake.number[key] and lake.filled[child] and lake.filled[key]:
        return 0.0
    if lake.position[child] == 0 and refers(said, own) >= refers(said, other):
        return 0.0
    # The key is its table's own: bare, or named after it.
    is_own = 1.0 if not called else min(refers(called, other), refers(other, called))
    return max(refers(said, other), refers(said, called)) * (is_own > 0.5)


def _edge(lake: Lake, child: int, key: int, rivals: int, constants: Constants) -> JoinEdge:
    odds = _AT_MOST - constants.rival * (rivals - 1)
    return JoinEdge(
        left=lake.ids[int(lake.table[child])],
        right=lake.ids[int(lake.table[key])],
        columns=((lake.name[child], lake.name[key]),),
        score=round(float(1 / (1 + np.exp(-odds))), 6),
        cardinality="n:1",
        survive=0.0,
        evidence={"names_only": 1.0, "odds": round(odds, 6), "rivals": float(rivals - 1)},
    )
