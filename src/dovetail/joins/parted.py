"""Keys of tables that are kept in parts, as columns of tables of their own, and edges to the parts.

A table in parts is one more table, whose columns are the keys of all parts together (`parts.py`):
others may refer to it. An edge to it is told of every part that holds some of the rows.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dovetail.arrays import Flags
from dovetail.joins.candidates import Candidates, concatenate
from dovetail.joins.columns import CatalogValues, ColumnArrays, ValueSets
from dovetail.joins.counting import count_shared
from dovetail.joins.scoring import ScoredPairs

# The share of a column's rows that a part must hold for the two to join.
_LEAST_ROWS = 0.01


def with_parts(arrays: ColumnArrays, values: CatalogValues) -> ColumnArrays:
    """All columns, and after them the keys of tables in parts, each of these a table at the end."""
    if not values.parted:
        return arrays
    first = np.array([key[0] for _, key in values.parted], dtype=np.int64)
    members = [np.array(key, dtype=np.int64) for _, key in values.parted]
    tables, table = np.unique([number for number, _ in values.parted], return_inverse=True)
    wholes = [values.parts[number] for number in tables.tolist()]
    sets = len(arrays) + len(values.normalized) + np.arange(len(first))
    distinct, filled = values.distinct[sets], values.filled[sets]

    def every(flags: Flags) -> Flags:
        return np.append(flags, [bool(flags[columns].all()) for columns in members])

    of_whole = np.full(len(arrays.ids) + len(wholes), -1, dtype=np.int64)
    for number, whole in enumerate(wholes, len(arrays.ids)):
        of_whole[[*whole.tables, number]] = number
    rows = [int(arrays.rows[whole.tables].sum()) for whole in wholes]
    sampled = arrays.estimated
    if sampled is not None:
        sampled = np.append(sampled, [bool(sampled[whole.tables].any()) for whole in wholes])
    return replace(
        arrays,
        ids=[*arrays.ids, *(whole.id for whole in wholes)],
        table_labels=arrays.table_labels
        and [*arrays.table_labels, *(arrays.table_labels[whole.tables[0]] for whole in wholes)],
        column_labels=arrays.column_labels
        and [*arrays.column_labels, *(arrays.column_labels[column] for column in first.tolist())],
        rows=np.append(arrays.rows, np.array(rows, dtype=np.int64)),
        table=np.append(arrays.table, len(arrays.ids) + table),
        position=np.append(arrays.position, arrays.position[first]),
        first=np.append(arrays.first, arrays.first[first]),
        name=[*arrays.name, *(arrays.name[column] for column in first.tolist())],
        called=[*arrays.called, *(arrays.called[column] for column in first.tolist())],
        number=every(arrays.number),
        text=every(arrays.text),
        filled=np.append(arrays.filled, filled),
        distinct=np.append(arrays.distinct, distinct),
        unique=np.append(arrays.unique, distinct == filled),
        key=np.append(arrays.key, np.ones(len(first), dtype=np.bool_)),
        low=np.append(arrays.low, [arrays.low[columns].min() for columns in members]),
        high=np.append(arrays.high, [arrays.high[columns].max() for columns in members]),
        values=ValueSets(arrays.values.passes, np.append(arrays.values.numbers, sets)),
        period=every(arrays.period),
        days=np.append(arrays.days, np.zeros(len(first), dtype=np.bool_)),
        codes=every(arrays.codes),
        words=every(arrays.words),
        prefix=[*arrays.prefix, *(arrays.prefix[column] for column in first.tolist())],
        estimated=sampled,
        whole=of_whole,
    )


def by_part(arrays: ColumnArrays, scored: ScoredPairs, values: CatalogValues) -> ScoredPairs:
    """Scored pairs, those with a key of a table in parts told of each part that holds some rows."""
    columns = len(arrays) - len(values.parted)
    candidates = scored.candidates
    whole = candidates.parent >= columns
    if not whole.any():
        return scored
    kept, split = np.flatnonzero(~whole), np.flatnonzero(whole)
    members = [values.parted[p - columns][1] for p in candidates.parent[split].tolist()]
    at = np.repeat(split, [len(each) for each in members])
    parent = np.array([column for each in members for column in each], dtype=np.int64)
    order = np.argsort(candidates.child[at], kind="stable")
    at, parent = at[order], parent[order]
    child = candidates.child[at]
    transforms = [scored.transform[number] for number in at.tolist()]
    own, keys = (
        np.array(
            [
                values.forms_of(column).get(name, column)
                for column, name in zip(ends.tolist(), transforms, strict=True)
            ],
            dtype=np.int64,
        )
        for ends in (child, parent)
    )
    every_pair, passes = np.arange(len(own)), arrays.values.passes
    shared, rows = count_shared(
        ValueSets(passes, own), every_pair, ValueSets(passes, keys), every_pair
    )
    some = np.flatnonzero(rows >= np.maximum(_LEAST_ROWS * arrays.filled[child], 1))
    every = np.append(kept, at[some])
    parted = Candidates(child[some], parent[some], shared[some], rows[some])
    part = np.append(np.zeros(len(kept)), np.ones(len(some)))
    evidence = {name: each[every] for name, each in scored.evidence.items()}
    return ScoredPairs(
        concatenate([candidates.take(kept), parted]),
        scored.score[every],
        evidence | {"part": part},
        [scored.transform[number] for number in every.tolist()],
    )
