"""Keys of tables that are kept in parts, as columns of tables of their own, and edges to the parts.

A table in parts is one more table, whose columns are the keys of all parts together (`parts.py`):
others may refer to it. An edge to it is told of every part that holds some of the rows.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dovetail.joins.candidates import Candidates, concatenate
from dovetail.joins.columns import CatalogValues, ColumnArrays, ValueSets
from dovetail.joins.counting import count_shared
from dovetail.joins.scoring import ScoredPairs

# The share of a column's rows that a part must hold for the two to join.
_LEAST_ROWS = 0.01


def with_parts(arrays: ColumnArrays, values: CatalogValues) -> ColumnArrays:
    """All columns, and after them the keys of tables in parts, each of these a table at the end: a
    key reads as that of the first part does."""
    if not values.parted:
        return arrays
    members = [np.array(key, dtype=np.int64) for _, key in values.parted]
    first = np.array([key[0] for key in members], dtype=np.int64)
    tables, table = np.unique([number for number, _ in values.parted], return_inverse=True)
    wholes = [values.parts[number] for number in tables.tolist()]
    leading = [whole.tables[0] for whole in wholes]
    sets = len(arrays) + len(values.normalized) + np.arange(len(first))
    distinct, filled = values.distinct[sets], values.filled[sets]
    keys = replace(
        arrays.take(first),
        table=len(arrays.ids) + table,
        filled=filled,
        distinct=distinct,
        unique=distinct == filled,
        key=np.ones(len(first), dtype=np.bool_),
        low=np.array([arrays.low[columns].min() for columns in members]),
        high=np.array([arrays.high[columns].max() for columns in members]),
        days=np.zeros(len(first), dtype=np.bool_),
        values=ValueSets(arrays.values.passes, sets),
    )
    of_whole = np.full(len(arrays.ids) + len(wholes), -1, dtype=np.int64)
    for number, whole in enumerate(wholes, len(arrays.ids)):
        of_whole[[*whole.tables, number]] = number
    rows = [int(arrays.rows[whole.tables].sum()) for whole in wholes]
    sampled, labels = arrays.estimated, arrays.table_labels
    return replace(
        arrays.followed_by(keys),
        ids=[*arrays.ids, *(whole.id for whole in wholes)],
        rows=np.append(arrays.rows, np.array(rows, dtype=np.int64)),
        table_labels=labels and [*labels, *(labels[table] for table in leading)],
        estimated=None if sampled is None else np.append(sampled, sampled[leading]),
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
