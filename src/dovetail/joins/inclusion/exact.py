"""Exact inclusion dependencies: whose distinct values are all found in another column?

Over all columns at once, from their sorted value hashes, without comparing every pair:

1. Columns with equal value sets form one group (`equal_sets.py`).
2. Each group can only be contained in a few others, as its bottom-k sketch tells (`bottom_k.py`).
3. Groups are visited from the largest down. A candidate superset is verified value by value,
   smallest first, and brings its own supersets along without further checks (transitivity). Where
   some have failed, the others are compared by their buckets of hashes first.

Pairs of columns are streamed, never listed: there may be hundreds of millions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from dovetail.arrays import Flags, Ints, spans
from dovetail.hashing import Hashes
from dovetail.joins.candidate_search import EqualSets, group_equal_sets
from dovetail.joins.column_arrays import ColumnArrays
from dovetail.joins.inclusion.bottom_k import BucketSignatures, CandidateSupersets

# The k of bottom-k: hashes in the sketch of a set.
SKETCH_SIZE = 16
# Bits of candidates that are held at a time, and pairs of columns in a block.
_BITS, _BLOCK = 1 << 22, 1 << 20
# A set so many times larger is searched, not read through.
_MUCH_LARGER = 8
# After so many candidates that fail, the others are compared by buckets, all together.
_PATIENCE = 8


def supersets(groups: EqualSets) -> Iterator[tuple[Ints, Ints]]:
    """Every two groups one of which is contained in the other, (inner, outer), itself included.

    They come in blocks, from the largest inner group down.
    """
    candidates = CandidateSupersets(groups.values, SKETCH_SIZE)
    yield np.flatnonzero(candidates.maximal), np.flatnonzero(candidates.maximal)
    verified = _Supersets(list(groups.values))
    others = np.flatnonzero(~candidates.maximal)
    step = max(_BITS // max(len(groups), 1), 1)
    for start in range(0, len(others), step):
        places = others[start : start + step]
        bitmaps = candidates.bitmaps(places)
        width = bitmaps.shape[1]
        for row, place in enumerate(places.tolist()):
            found = verified.add(place, int.from_bytes(bitmaps[row].tobytes(), "little"))
            bitmaps[row] = np.frombuffer(found.to_bytes(width, "little"), dtype=np.uint8)
        counts = np.bitwise_count(bitmaps).sum(axis=1, dtype=np.int64)
        inner = np.repeat(np.arange(len(places)), counts)
        flags = np.unpackbits(bitmaps, bitorder="little").view(np.bool_)
        yield places[inner], np.flatnonzero(flags) - inner * (8 * width)


class _Supersets:
    """The supersets found so far of each group, the largest groups first.

    A set of groups is a Python integer here, with a bit for each: no array is as quick to join, cut
    and search where a step takes less than a microsecond.
    """

    def __init__(self, value_hashes: Sequence[Hashes]) -> None:
        self._value_hashes = value_hashes
        self._buckets = BucketSignatures(value_hashes)
        self._of: dict[int, int] = {}

    def add(self, place: int, candidates: int) -> int:
        """Find the supersets of a group among candidates, smallest first; itself is one."""
        found = 1 << place
        # Larger sets come first, so only those before can contain this one.
        candidates &= found - 1
        failed = 0
        while candidates:
            smallest = candidates.bit_length() - 1
            if _is_contained(self._value_hashes[place], self._value_hashes[smallest]):
                transitive = self._of.get(smallest, 1 << smallest)
                found |= transitive
                candidates &= ~transitive
            else:
                candidates ^= 1 << smallest
                failed += 1
                if failed == _PATIENCE and candidates:
                    candidates = self._filtered_by_buckets(place, candidates)
        self._of[place] = found
        return found

    def _filtered_by_buckets(self, place: int, candidates: int) -> int:
        """Candidates without those that have no value in some bucket where the group has one."""
        width = (candidates.bit_length() + 7) // 8
        raw = np.frombuffer(candidates.to_bytes(width, "little"), dtype=np.uint8)
        flags = np.unpackbits(raw, bitorder="little")
        left = self._buckets.may_contain(place, np.flatnonzero(flags))
        flags[:] = 0
        flags[left] = 1
        return int.from_bytes(np.packbits(flags, bitorder="little").tobytes(), "little")


def _is_contained(inner: Hashes, outer: Hashes) -> bool:
    """Whether every value is found; a thin sample is tried first."""
    if len(inner) >= len(outer):
        return False
    step = len(inner) // 64
    if step and not _all_in(inner[::step], outer):
        return False
    if len(outer) > _MUCH_LARGER * len(inner):
        return _all_in(inner, outer)
    # A stable sort merges two sorted sequences, up to five times quicker than searching.
    merged = np.concatenate([outer, inner])
    merged.sort(kind="stable")
    return bool(np.count_nonzero(merged[1:] == merged[:-1]) == len(inner))


def _all_in(inner: Hashes, outer: Hashes) -> bool:
    at = outer.searchsorted(inner)
    return bool(at[-1] < len(outer)) and bool((outer[at] == inner).all())


def pairs(arrays: ColumnArrays, groups: EqualSets | None = None) -> Iterator[tuple[Ints, Ints]]:
    """Every inclusion (inner, outer) of columns of two tables, at least one of them unique.

    They come in blocks, so that no more than a block of them is ever held.
    """
    groups = groups or group_equal_sets(arrays.values)
    every = np.ones(len(arrays), dtype=np.bool_)
    keys, rest, both = (_Members(groups, f) for f in (arrays.unique, ~arrays.unique, every))
    for inner, outer in supersets(groups):
        for mine, others in ((keys, both), (rest, keys)):
            for left, right in _column_pairs(mine, inner, others, outer):
                apart = np.flatnonzero(arrays.table[left] != arrays.table[right])
                if len(apart):
                    yield left[apart], right[apart]


def _column_pairs(
    mine: _Members, inner: Ints, others: _Members, outer: Ints
) -> Iterator[tuple[Ints, Ints]]:
    """The pairs of columns that pairs of groups stand for, a block at a time."""
    ends = np.cumsum(mine.size[inner] * others.size[outer])
    start, before = 0, 0
    while start < len(inner):
        end = max(int(np.searchsorted(ends, before + _BLOCK, side="right")), start + 1)
        column, pair = mine.of(inner[start:end])
        right, place = others.of(outer[start:end][pair])
        yield column[place], right
        start, before = end, int(ends[end - 1])


class _Members:
    """The columns of each group that a flag picks, ready to be gathered for many groups."""

    def __init__(self, groups: EqualSets, flag: Flags) -> None:
        column = np.flatnonzero(flag & (groups.group_of >= 0))
        of = groups.group_of[column]
        self._flat = column[np.argsort(of, kind="stable")]
        self.size: Ints = np.bincount(of, minlength=len(groups))
        self._starts = np.cumsum(self.size) - self.size

    def of(self, places: Ints) -> tuple[Ints, Ints]:
        """The columns of some groups, each with the place of its group among them."""
        starts, lengths = self._starts[places], self.size[places]
        return self._flat[spans(starts, starts + lengths)], np.repeat(
            np.arange(len(places)), lengths
        )
