"""Joins by names alone, between tables with hardly any rows: their values say nothing yet.

A few rows are a sample, or the first entries of a table; that a reference is not found among them
means little. So a column that is called an identifier refers to the key of the one table of its
source that it is named after: `port_id` to the `id` of `ports`, `namespace_id` in `meta_objects` to
that of `meta_namespaces`. Every second such edge is a key where keys are declared (Beaver).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from dovetail.arrays import Floats
from dovetail.domain import JoinEdge
from dovetail.joins.columns import HARDLY_ANY, ColumnArrays, TableColumns, edge_of
from dovetail.names.references import refers
from dovetail.names.table_name import copy_marks, entity
from dovetail.names.words import Words, core, identifies

# Nats for the one table that a column is named after.
_NAMED = 0.1
# Of more tables that share a word none is looked at: they are parts of one.
_MOST_ALIKE = 64
# How far the words must agree; what a copy loses, and a key that is merely called the same.
_LEAST_AGREEMENT, _COPY, _SAME_NAME = 0.8, 0.3, 0.05
# A column, and a table that it may refer to.
_Pair = tuple[int, int]


def name_only_edges(
    arrays: ColumnArrays, columns: TableColumns, edges: Sequence[JoinEdge]
) -> list[JoinEdge]:
    """The key that each column without a join is named after, among tables without values."""
    small = np.flatnonzero(arrays.rows <= HARDLY_ANY).tolist()
    if len(small) < 2 or not arrays.thresholds.sources:
        return []
    keys = _keys_by_name(arrays, columns, small)
    joined = {
        (edge.left, column) for edge in edges if edge.score > 0.5 for column, _ in edge.columns
    }
    children = [
        child
        for table in small
        for child in columns.of[table]
        if identifies(arrays.name[child])
        and keys.get(table) != child
        and (arrays.ids[table], arrays.name[child]) not in joined
    ]
    pairs = _near(arrays, keys, children)
    best: dict[int, dict[float, list[int]]] = defaultdict(lambda: defaultdict(list))
    for (child, other), agree in zip(pairs, _agreement(arrays, keys, pairs).tolist(), strict=True):
        if agree >= _LEAST_AGREEMENT:
            best[child][agree].append(keys[other])
    named = [(child, rated[max(rated)]) for child, rated in best.items()]
    return [
        edge_of(arrays, [(child, found[0])], _NAMED, 0, {"names_only": 1.0})
        for child, found in named
        if len(found) == 1
    ]


def _keys_by_name(
    arrays: ColumnArrays, columns: TableColumns, tables: Sequence[int]
) -> dict[int, int]:
    """The key of each table by its name: a bare id, or the first column if it is named so."""
    tables = [table for table in tables if columns.of[table]]
    first = [columns.of[table][0] for table in tables]
    called = [core(arrays.name[column]) for column in first]
    about = [entity(arrays.ids[table].name) for table in tables]
    own = (np.minimum(refers(called, about), refers(about, called)) > 0.5).tolist()
    keys: dict[int, int] = {}
    for table, column, named in zip(tables, first, own, strict=True):
        ids = [each for each in columns.of[table] if identifies(arrays.name[each])]
        bare = [each for each in ids if not core(arrays.name[each])]
        if bare or (named and column in ids):
            keys[table] = bare[0] if bare else column
    return keys


def _near(arrays: ColumnArrays, keys: dict[int, int], children: Sequence[int]) -> list[_Pair]:
    """Columns with the tables of their source that share a word with them, but for too many."""
    known: dict[tuple[str, Words], set[int]] = defaultdict(set)
    for table, key in keys.items():
        # By the head of what the table is about, and by what its key is called.
        for name in (entity(arrays.ids[table].name)[-1:], core(arrays.name[key])):
            known[arrays.ids[table].source, name].add(table)
    pairs: list[_Pair] = []
    for child in children:
        table, called = int(arrays.table[child]), core(arrays.name[child])
        names = {called, *((word,) for word in called)} - {()}
        near = {o for name in names for o in known.get((arrays.ids[table].source, name), ())}
        if len(near) <= _MOST_ALIKE:
            others = sorted(near - {table})
            pairs += [(child, o) for o in others if _same_kind(arrays, child, keys[o])]
    return pairs


def _same_kind(arrays: ColumnArrays, child: int, key: int) -> bool:
    filled = bool(arrays.filled[child]) and bool(arrays.filled[key])
    return not filled or bool(arrays.number[child] == arrays.number[key])


def _agreement(arrays: ColumnArrays, keys: dict[int, int], pairs: Sequence[_Pair]) -> Floats:
    """How far columns' words refer to tables, or are those of their keys."""
    called = [core(arrays.name[child]) for child, _ in pairs]
    own, other = (
        [arrays.ids[table].name for table in side]
        for side in ([int(arrays.table[child]) for child, _ in pairs], [of for _, of in pairs])
    )
    about = [entity(name) for name in other]
    apart = [_apart(about, entity(name)) for about, name in zip(about, own, strict=True)]
    agree = np.maximum(refers(called, about), refers(called, apart))
    key_names = [core(arrays.name[keys[table]]) for _, table in pairs]
    same = [key == name for key, name in zip(key_names, called, strict=True)]
    copies = [bool(copy_marks(o) - copy_marks(name)) for o, name in zip(other, own, strict=True)]
    agreement: Floats = np.maximum(agree, (1 - _SAME_NAME) * np.array(same, dtype=np.float64))
    return agreement - _COPY * np.array(copies, dtype=np.float64)


def _apart(about: Words, own: Words) -> Words:
    """What a table is about, but for the words it has in front in common with another.

    >>> _apart(("meta", "namespace"), ("meta", "object"))
    ('namespace',)
    """
    common = 0
    while common < min(len(about), len(own)) and about[common] == own[common]:
        common += 1
    return about[min(common, len(about) - 1) :]
