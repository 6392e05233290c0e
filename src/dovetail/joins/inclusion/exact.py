"""Exact inclusion between columns: whose distinct values are all found in another column?

Over all columns of a lake at once, from their sorted hash vectors, without comparing every pair:

1. Columns with the same set of values are one class (`classes.py`).
2. Each class can only lie in a few others, as a few values of it tell (`probes.py`).
3. Classes are visited from the largest down. A candidate superset is verified value by value,
   smallest first, and brings its own supersets along without further checks (transitivity). Where
   some have failed, the others are compared by their buckets of hashes first.

Pairs of columns are streamed, never listed: there may be hundreds of millions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from dovetail.hashing import Hashes
from dovetail.joins.column_arrays import Flags, Ints, Lake, spans
from dovetail.joins.inclusion.bottom_k import Filled, Likely
from dovetail.joins.inclusion.equal_sets import Classes, group
from dovetail.joins.value_index.postings import Postings

PROBES = 16
# Bits of candidates that are held at a time, and pairs of columns in a block.
_BITS, _BLOCK = 1 << 22, 1 << 20
# A set so many times larger is searched, not read through.
_FAR = 8
# After so many candidates that fail, the rest is looked at all together.
_PATIENCE = 8


def supersets(classes: Classes) -> Iterator[tuple[Ints, Ints]]:
    """Every two classes one of which lies in the other, (inner, outer), itself included.

    They come in blocks, from the largest inner class down.
    """
    likely = Likely(classes.vectors, PROBES)
    yield np.flatnonzero(likely.alone), np.flatnonzero(likely.alone)
    known = _Known(classes.vectors)
    others = np.flatnonzero(~likely.alone)
    step = max(_BITS // max(len(classes), 1), 1)
    for start in range(0, len(others), step):
        places = others[start : start + step]
        rows = likely.rows(places)
        width = rows.shape[1]
        for row, place in enumerate(places.tolist()):
            found = known.add(place, int.from_bytes(rows[row].tobytes(), "little"))
            rows[row] = np.frombuffer(found.to_bytes(width, "little"), dtype=np.uint8)
        counts = np.bitwise_count(rows).sum(axis=1, dtype=np.int64)
        inner = np.repeat(np.arange(len(places)), counts)
        flags = np.unpackbits(rows, bitorder="little").view(np.bool_)
        yield places[inner], np.flatnonzero(flags) - inner * (8 * width)


class _Known:
    """The supersets found so far of each class, the largest classes first.

    A set of classes is a whole number here, with a bit for each: no array is as quick to join, cut
    and search where a step takes less than a microsecond.
    """

    def __init__(self, vectors: Sequence[Hashes]) -> None:
        self._vectors = vectors
        self._filled = Filled(vectors)
        self._around: dict[int, int] = {}

    def add(self, place: int, candidates: int) -> int:
        """Find the supersets of a class among candidates, smallest first; itself is one."""
        inside = 1 << place
        # Larger sets come first, so only those before can hold this one.
        candidates &= inside - 1
        failed = 0
        while candidates:
            smallest = candidates.bit_length() - 1
            if _lies_in(self._vectors[place], self._vectors[smallest]):
                around = self._around.get(smallest, 1 << smallest)
                inside |= around
                candidates &= ~around
            else:
                candidates ^= 1 << smallest
                failed += 1
                if failed == _PATIENCE and candidates:
                    candidates = self._sifted(place, candidates)
        self._around[place] = inside
        return inside

    def _sifted(self, place: int, candidates: int) -> int:
        """Candidates without those that have no value in some bucket where a class has one."""
        width = (candidates.bit_length() + 7) // 8
        raw = np.frombuffer(candidates.to_bytes(width, "little"), dtype=np.uint8)
        flags = np.unpackbits(raw, bitorder="little")
        held = self._filled.hold(place, np.flatnonzero(flags))
        flags[:] = 0
        flags[held] = 1
        return int.from_bytes(np.packbits(flags, bitorder="little").tobytes(), "little")


def _lies_in(inner: Hashes, outer: Hashes) -> bool:
    """Whether every value is found; a thin sample is tried first."""
    if len(inner) >= len(outer):
        return False
    step = len(inner) // 64
    if step and not _all_in(inner[::step], outer):
        return False
    if len(outer) > _FAR * len(inner):
        return _all_in(inner, outer)
    # A stable sort merges two sorted runs, which is up to five times quicker than searching.
    merged = np.concatenate([outer, inner])
    merged.sort(kind="stable")
    return bool(np.count_nonzero(merged[1:] == merged[:-1]) == len(inner))


def _all_in(inner: Hashes, outer: Hashes) -> bool:
    at = outer.searchsorted(inner)
    return bool(at[-1] < len(outer)) and bool((outer[at] == inner).all())


def pairs(lake: Lake, classes: Classes | None = None) -> Iterator[tuple[Ints, Ints]]:
    """Every pair (inner, outer) of columns of two tables, at least one of them unique.

    They come in blocks, so that no more than a block of them is ever held.
    """
    classes = classes or group(lake)
    every = np.ones(len(lake), dtype=np.bool_)
    keys, rest, both = (_Members(classes, f) for f in (lake.unique, ~lake.unique, every))
    for inner, outer in supersets(classes):
        for mine, others in ((keys, both), (rest, keys)):
            for left, right in _columns(mine, inner, others, outer):
                apart = np.flatnonzero(lake.table[left] != lake.table[right])
                if len(apart):
                    yield left[apart], right[apart]


def _columns(
    mine: _Members, inner: Ints, others: _Members, outer: Ints
) -> Iterator[tuple[Ints, Ints]]:
    """The pairs of columns that pairs of classes stand for, a block at a time."""
    ends = np.cumsum(mine.size[inner] * others.size[outer])
    start, before = 0, 0
    while start < len(inner):
        end = max(int(np.searchsorted(ends, before + _BLOCK, side="right")), start + 1)
        column, pair = mine.of(inner[start:end])
        right, place = others.of(outer[start:end][pair])
        yield column[place], right
        start, before = end, int(ends[end - 1])


def pairs_of(lake: Lake, postings: Postings, fresh: Flags) -> Iterator[tuple[Ints, Ints]]:
    """Those of the same pairs one of whose tables is fresh, without a look at the others."""
    mine = fresh[lake.table]
    for column in np.flatnonzero(mine & (lake.distinct > 0)).tolist():
        chosen = lake.table != lake.table[column]
        if not lake.unique[column]:
            chosen &= lake.unique
        outer, inner = postings.nested(lake.vectors[column], chosen)
        # What lies in this column and is fresh too finds it as its own superset.
        inner = inner[~mine[inner]]
        yield np.full(len(outer), column), outer
        yield inner, np.full(len(inner), column)


class _Members:
    """The columns of each class that a flag picks, ready to be gathered for many classes."""

    def __init__(self, classes: Classes, flag: Flags) -> None:
        column = np.flatnonzero(flag & (classes.of >= 0))
        of = classes.of[column]
        self._flat = column[np.argsort(of, kind="stable")]
        self.size: Ints = np.bincount(of, minlength=len(classes))
        self._starts = np.cumsum(self.size) - self.size

    def of(self, places: Ints) -> tuple[Ints, Ints]:
        """The columns of some classes, each with the place of its class among them."""
        starts, lengths = self._starts[places], self.size[places]
        return self._flat[spans(starts, starts + lengths)], np.repeat(
            np.arange(len(places)), lengths
        )
