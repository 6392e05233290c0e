"""Exact counts for many pairs of a column and a value set: values in common, and rows found.

Columns with many pairs are counted together, as a product of matrices; the others pair by pair.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from dovetail.hashing import Hashes
from dovetail.joins.column_arrays import ColumnArrays, Ints, found_in

# Pairs from which on a column's are counted together with those of others, and the multiplications
# that take as long as counting one pair by itself.
_BUSY, _WORTH = 32, 200_000
# Columns that are counted together at most, and the numbers that their matrices may have.
_TOGETHER, _ROOM = 1024, 1 << 27


def count_shared(
    arrays: ColumnArrays, child: Ints, sets: Sequence[Hashes], outer: Ints
) -> tuple[Ints, Ints]:
    """Per pair of a column and a set: distinct values in common, and the column's rows found.

    `child` numbers a column, `outer` one of the `sets`. Pairs come in the order of their columns.
    """
    shared, rows = np.zeros((2, len(child)), dtype=np.int64)
    alone = np.ones(len(child), dtype=np.bool_)
    busy = np.flatnonzero(np.bincount(child)[child] >= _BUSY)
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


def _by_product(
    arrays: ColumnArrays, child: Ints, sets: Sequence[Hashes], outer: Ints
) -> tuple[Ints, Ints] | None:
    """The same counts as a product of matrices (columns x values) and (values x sets).

    Worth it where few values make many pairs: ids 1..n. None where it is not.
    """
    columns, row = np.unique(child, return_inverse=True)
    outers, place = np.unique(outer, return_inverse=True)
    value_hashes = [arrays.value_hashes[column] for column in columns.tolist()]
    values = np.unique(np.concatenate(value_hashes))
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
