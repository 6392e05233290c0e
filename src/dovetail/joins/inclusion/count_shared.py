"""Exact counts for many pairs of a column and a value set: values in common, and rows found.

Pairs of a few values each are compared all at once. Of the others, columns with many pairs are
counted together, as a product of matrices, and the rest pair by pair.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from dovetail.arrays import Flags, Ints, found_in, sorted_distinct
from dovetail.hashing import Hashes
from dovetail.joins.column_arrays import ColumnArrays
from dovetail.joins.distributed.distributed_columns import DistributedColumns

# Pairs from which on a column's are counted together with those of others, and the multiplications
# that take as long as counting one pair by itself.
_BUSY, _WORTH = 32, 200_000
# Columns that are counted together at most, and the numbers that their matrices may have.
_TOGETHER, _ROOM = 1024, 1 << 27
# Values up to which a set is compared value by value with another, and pairs compared at a time.
_FEW, _AT_ONCE = 8, 1 << 16


def count_shared(
    arrays: ColumnArrays, child: Ints, sets: Sequence[Hashes], outer: Ints
) -> tuple[Ints, Ints]:
    """Per pair of a column and a set: distinct values in common, and the column's rows found.

    `child` numbers a column, `outer` one of the `sets`. Pairs come in the order of their columns.
    """
    mine = arrays.value_hashes
    if (
        isinstance(mine, DistributedColumns)
        and isinstance(sets, DistributedColumns)
        and mine.passes.worth_distributing(child)
    ):
        return mine.passes.count_shared(mine.columns[child], sets.columns[outer])
    shared, rows = np.zeros((2, len(child)), dtype=np.int64)
    alone = ~_count_few(arrays, child, sets, outer, shared, rows)
    many = np.bincount(child[alone], minlength=len(arrays)) >= _BUSY
    busy = np.flatnonzero(alone & many[child])
    starts = np.unique(child[busy], return_index=True)[1]
    for some in np.split(busy, starts[_TOGETHER::_TOGETHER]):
        counted = _by_product(arrays, child[some], sets, outer[some]) if len(some) else None
        if counted is not None:
            shared[some], rows[some] = counted
            alone[some] = False
    for place in np.flatnonzero(alone).tolist():
        hashes, counts = arrays.value_hashes[child[place]], arrays.counts[child[place]]
        held = found_in(hashes, sets[outer[place]])
        shared[place], rows[place] = np.count_nonzero(held), counts[held].sum()
    return shared, rows


def _count_few(
    arrays: ColumnArrays, child: Ints, sets: Sequence[Hashes], outer: Ints, shared: Ints, rows: Ints
) -> Flags:
    """Fill in the counts of pairs of a few values each; which these are."""
    outers, place = np.unique(outer, return_inverse=True)
    size = np.array([len(sets[number]) for number in outers.tolist()], dtype=np.int64)
    few: Flags = (arrays.distinct[child] <= _FEW) & (size[place] <= _FEW) & (size[place] > 0)
    columns, row = np.unique(child[few], return_inverse=True)
    small = np.flatnonzero((size <= _FEW) & (size > 0))
    # A set is filled up with a value of its own; a column with values that no row holds.
    mine, theirs = (
        np.zeros((len(columns), _FEW), np.uint64),
        np.zeros((len(small), _FEW), np.uint64),
    )
    times = np.zeros((len(columns), _FEW), dtype=np.int64)
    for at, column in enumerate(columns.tolist()):
        hashes = arrays.value_hashes[column]
        mine[at, : len(hashes)], times[at, : len(hashes)] = hashes, arrays.counts[column]
    for at, number in enumerate(outers[small].tolist()):
        hashes = sets[number]
        theirs[at] = hashes[np.minimum(np.arange(_FEW), len(hashes) - 1)]
    places, among = np.flatnonzero(few), np.searchsorted(small, place[few])
    for at in range(0, len(places), _AT_ONCE):
        part = slice(at, at + _AT_ONCE)
        left, right, weight = mine[row[part]], theirs[among[part]], times[row[part]]
        held = (left[:, :, None] == right[:, None, :]).any(axis=2) & (weight > 0)
        shared[places[part]] = held.sum(axis=1)
        rows[places[part]] = (weight * held).sum(axis=1)
    return few


def _by_product(
    arrays: ColumnArrays, child: Ints, sets: Sequence[Hashes], outer: Ints
) -> tuple[Ints, Ints] | None:
    """The same counts as a product of matrices (columns x values) and (values x sets).

    Worth it where few values make many pairs: ids 1..n. None where it is not.
    """
    columns, row = np.unique(child, return_inverse=True)
    outers, place = np.unique(outer, return_inverse=True)
    value_hashes = [arrays.value_hashes[column] for column in columns.tolist()]
    values = sorted_distinct(np.concatenate(value_hashes))
    products, room = len(columns) * len(outers), (len(columns) + len(outers)) * len(values)
    if products * len(values) > _WORTH * len(child) or room > _ROOM:
        return None
    inner = _incidence(value_hashes, values)
    holds = _incidence([sets[outer] for outer in outers.tolist()], values).T
    shared = inner @ holds
    rows = shared.astype(np.float64)
    # Where no value repeats, its rows are the values; elsewhere each weighs its rows.
    sizes = np.array([len(hashes) for hashes in value_hashes])
    repeats = np.flatnonzero(arrays.filled[columns] > sizes)
    if len(repeats):
        # Counts up to 2^24 are exact in single precision, up to 2^53 in double.
        exact = np.float32 if arrays.filled[columns].max() < 2**24 else np.float64
        weights = inner[repeats].astype(exact)
        weights[inner[repeats] > 0] = np.concatenate(
            [arrays.counts[c] for c in columns[repeats].tolist()]
        )
        rows[repeats] = weights @ holds.astype(exact, copy=False)
    return shared[row, place].astype(np.int64), rows[row, place].astype(np.int64)


def _incidence(value_hashes: Sequence[Hashes], values: Hashes) -> npt.NDArray[np.float32]:
    """The incidence matrix: which set (row) holds which value (column)."""
    matrix = np.zeros((len(value_hashes), len(values)), dtype=np.float32)
    for row, hashes in enumerate(value_hashes):
        matrix[row] = found_in(values, hashes)
    return matrix
