"""Groups of equal value sets: columns with the same set of values are compared as one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dovetail.arrays import Ints
from dovetail.hashing import Hashes
from dovetail.joins.column_arrays import ColumnArrays
from dovetail.joins.distributed.distributed_columns import DistributedColumns

# Values that are looked at together: a call per column would cost more than its values do.
_BLOCK = 1 << 19
_FEW = 64


@dataclass(frozen=True, slots=True)
class EqualSets:
    """Columns grouped by equal value sets, the largest sets first; empty columns are left out."""

    value_hashes: Sequence[Hashes]  # of each group
    group_of: Ints  # the group of each column, -1 for an empty column

    def __len__(self) -> int:
        return len(self.value_hashes)


def group_equal_sets(arrays: ColumnArrays) -> EqualSets:
    """Group columns by equal value sets.

    Sets are told apart by size, ends and the exclusive or of their hashes, which as good random
    numbers would hardly ever agree by chance; equal keys are compared value by value still.
    """
    if isinstance(arrays.value_hashes, DistributedColumns):
        return _by_digest(arrays.value_hashes)
    value_hashes = list(arrays.value_hashes)
    filled = [column for column, hashes in enumerate(value_hashes) if len(hashes)]
    first: dict[tuple[int, ...], list[int]] = {}  # the first column of each group, by key
    same = np.full(len(value_hashes), -1, dtype=np.int64)
    keys = _keys([value_hashes[column] for column in filled])
    for column, key in zip(filled, keys, strict=True):
        alike = first.setdefault(key, [])
        for other in alike:
            if _equal(value_hashes[other], value_hashes[column]):
                same[column] = other
                break
        else:
            alike.append(column)
            same[column] = column
    order, group_of = _numbered(same, np.array([len(hashes) for hashes in value_hashes]))
    return EqualSets([value_hashes[column] for column in order.tolist()], group_of)


def _by_digest(value_hashes: DistributedColumns) -> EqualSets:
    """The same groups from the digests of value sets, which workers work out."""
    passes = value_hashes.passes
    sizes = passes.values.distinct[value_hashes.columns]
    one, other = passes.facts.digest[value_hashes.columns].T
    by_digest = np.lexsort((other, one))  # stable: of equal sets the first column comes first
    new = np.append(True, (np.diff(one[by_digest]) != 0) | (np.diff(other[by_digest]) != 0))
    new = new[: len(sizes)]
    same = np.empty(len(sizes), dtype=np.int64)
    same[by_digest] = by_digest[np.flatnonzero(new)[np.cumsum(new) - 1]]
    same[sizes == 0] = -1
    order, group_of = _numbered(same, sizes)
    return EqualSets(value_hashes.take(order), group_of)


def _numbered(same: Ints, sizes: Ints) -> tuple[Ints, Ints]:
    """The first column of each group, the largest sets first, and each column's group.

    `same` is the first column with the same set, -1 for an empty column.
    """
    firsts = np.flatnonzero(same == np.arange(len(same)))
    order = firsts[np.argsort(-sizes[firsts], kind="stable")]
    number = np.full(len(same) + 1, -1, dtype=np.int64)  # the last is for empty columns
    number[order] = np.arange(len(order))
    return order, number[same]


def _equal(one: Hashes, other: Hashes) -> bool:
    # Of a few values the bytes are compared several times quicker.
    if len(one) <= _FEW:
        return one.tobytes() == other.tobytes()
    return np.array_equal(one, other)


def _keys(value_hashes: Sequence[Hashes]) -> Iterator[tuple[int, ...]]:
    """What equal sets have in common: size, ends, and the exclusive or of all hashes."""
    for _, values, starts in in_blocks(value_hashes):
        ends = np.append(starts[1:], len(values))
        parts = (
            ends - starts,
            values[starts],
            values[ends - 1],
            np.bitwise_xor.reduceat(values, starts),
        )
        yield from zip(*(part.tolist() for part in parts), strict=True)


def in_blocks(value_hashes: Sequence[Hashes]) -> Iterator[tuple[int, Hashes, Ints]]:
    """Many sets at a time: the number of the first, all their values, and where each begins."""
    ends = np.cumsum([len(hashes) for hashes in value_hashes], dtype=np.int64)
    first, before = 0, 0
    while first < len(value_hashes):
        last = max(int(np.searchsorted(ends, before + _BLOCK, side="right")), first + 1)
        starts = np.concatenate([[0], ends[first : last - 1] - before])
        yield first, np.concatenate(value_hashes[first:last]), starts
        first, before = last, int(ends[last - 1])
