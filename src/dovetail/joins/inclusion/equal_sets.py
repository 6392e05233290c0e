"""Groups of equal value sets: columns with the same set of values are compared as one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dovetail.hashing import Hashes
from dovetail.joins.column_arrays import ColumnArrays, Ints

# Values that are looked at together: a call per column would cost more than its values do.
_BLOCK = 1 << 19
_FEW = 64


@dataclass(frozen=True, slots=True)
class EqualSets:
    """Columns grouped by equal value sets, the largest sets first; empty columns are left out."""

    value_hashes: list[Hashes]  # of each group
    group_of: Ints  # the group of each column, -1 for an empty column

    def __len__(self) -> int:
        return len(self.value_hashes)


def group_equal_sets(arrays: ColumnArrays) -> EqualSets:
    """Group columns by equal value sets.

    Sets are told apart by size, ends and the exclusive or of their hashes, which as good random
    numbers would hardly ever agree by chance; equal keys are compared value by value still.
    """
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
    firsts = np.flatnonzero(same == np.arange(len(value_hashes)))
    sizes = np.array([len(value_hashes[column]) for column in firsts.tolist()], dtype=np.int64)
    order = firsts[np.argsort(-sizes, kind="stable")]
    number = np.full(len(value_hashes) + 1, -1, dtype=np.int64)  # the last is for empty columns
    number[order] = np.arange(len(order))
    return EqualSets([value_hashes[column] for column in order.tolist()], number[same])


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
