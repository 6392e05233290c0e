"""Bottom-k sketches: which value sets may contain which others, for all sets at once?

The sketch of a set is its k smallest hashes. One pass over all values finds which sets hold which
sketch value; a set can only be contained in those that hold its whole sketch. Near misses that are
left mostly fail on buckets of hashes: a superset has a value in every bucket where the subset has.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from dovetail.arrays import Flags, Ints, spans
from dovetail.hashing import Hashes
from dovetail.joins.column_arrays import ValueSets
from dovetail.joins.sketches import SketchIndex

Bitmaps = npt.NDArray[np.uint8]

# First bits of a hash that name its bucket, and how many buckets of a set are looked up.
_BUCKET_BITS = 13
_BUCKET_SHIFT = np.uint64(64 - _BUCKET_BITS)
_BUCKETS_LOOKED_UP = 512
# For no more candidates than these it is quicker to verify them one by one.
_FEW_CANDIDATES = 4


class CandidateSupersets:
    """The sets that may contain each of some sets, as bitmaps; the first set has the last bit of
    the first byte."""

    def __init__(self, values: ValueSets, sketch_size: int) -> None:
        self._value_hashes = value_hashes = list(values)
        sketches = [hashes[:sketch_size] for hashes in value_hashes]
        self._index = SketchIndex(sketches, values)
        self._lengths = np.array([len(sketch) for sketch in sketches], dtype=np.int64)
        self._starts = np.cumsum(self._lengths) - self._lengths
        self._every = self._index.places(np.concatenate(sketches)) if sketches else self._starts
        self._rows, self._bitmaps = self._frequent_bitmaps()
        self.maximal = self._contained_in_none()
        # Sets that hold no sketch value of another are candidates for none.
        common = np.repeat(self._index.holders > 1, self._index.holders)
        holding = np.bincount(self._index.sets[common], minlength=len(value_hashes)) > 0
        wanted = zip(value_hashes, holding.tolist(), strict=True)
        self._buckets = _bucket_bitmaps([hashes if held else hashes[:0] for hashes, held in wanted])

    def _contained_in_none(self) -> Flags:
        """Which sets have a sketch value that no other set holds: they have no superset."""
        if not len(self._value_hashes):
            return np.empty(0, dtype=np.bool_)
        least = np.minimum.reduceat(self._index.holders[self._every], self._starts)
        maximal: Flags = least == 1
        return maximal

    def _frequent_bitmaps(self) -> tuple[Ints, Bitmaps]:
        """A bitmap over the sets for each frequent sketch value, and which bitmap is whose.

        One set in 32 makes a value frequent: a bitmap takes no more room than the list then. The
        last bitmap, that of all rare values, rules out nothing.
        """
        sets = len(self._value_hashes)
        frequent = np.flatnonzero(self._index.holders * 32 >= sets)
        row = np.full(len(self._index.holders), len(frequent), dtype=np.int64)
        row[frequent] = np.arange(len(frequent))
        bitmaps = np.full((len(frequent) + 1, (sets + 7) // 8), 255, dtype=np.uint8)
        for at, place in enumerate(frequent.tolist()):
            (start,), (end,) = self._index.posting_ranges(np.array([place]))
            flags = np.zeros(sets, dtype=np.bool_)
            flags[self._index.sets[start:end]] = True
            bitmaps[at] = np.packbits(flags, bitorder="little")
        return row, bitmaps

    def bitmaps(self, places: Ints) -> Bitmaps:
        """For some sets, in order: a bitmap each of those up to the last that may contain it."""
        size = int(places[-1]) + 1
        width = (size + 7) // 8
        found = np.full((len(places), width), 255, dtype=np.uint8)
        rare_held = np.zeros((len(places), size), dtype=np.uint8)
        rare = np.zeros(len(places), dtype=np.uint8)
        lengths = self._lengths[places]
        for number in range(int(lengths.max())):
            here = np.flatnonzero(lengths > number)
            values = self._every[self._starts[places[here]] + number]
            rows = self._rows[values]
            found[here] &= self._bitmaps[rows, :width]
            few = np.flatnonzero(rows == len(self._bitmaps) - 1)
            starts, ends = self._index.posting_ranges(values[few])
            sets = self._index.sets[spans(starts, ends)]
            of = np.repeat(here[few], ends - starts)
            rare_held[of[sets < size], sets[sets < size]] += 1
            rare[here[few]] += 1
        found &= np.packbits(rare_held == rare[:, None], axis=1, bitorder="little")
        many = np.bitwise_count(found).sum(axis=1) > _FEW_CANDIDATES
        for row in np.flatnonzero(many).tolist():
            hashes = self._value_hashes[places[row]]
            buckets = hashes[:: len(hashes) // _BUCKETS_LOOKED_UP + 1] >> _BUCKET_SHIFT
            found[row] &= np.bitwise_and.reduce(self._buckets[buckets, :width])
        return found


class BucketSignatures:
    """Per set the buckets of hashes where it has a value, as a bitmap; made when first wanted."""

    def __init__(self, value_hashes: Sequence[Hashes]) -> None:
        self._value_hashes = value_hashes
        self._bits = np.zeros((len(value_hashes), (1 << _BUCKET_BITS) // 64), dtype=np.uint64)
        self._made = np.zeros(len(value_hashes), dtype=np.bool_)

    def may_contain(self, place: int, others: Ints) -> Ints:
        """Those of some sets that have a value in every bucket where the given set has one."""
        wanted = np.append(others, place)
        for missing in wanted[~self._made[wanted]].tolist():
            flags = np.zeros(1 << _BUCKET_BITS, dtype=np.bool_)
            flags[self._value_hashes[missing] >> _BUCKET_SHIFT] = True
            self._bits[missing] = np.packbits(flags).view(np.uint64)
            self._made[missing] = True
        lacking = self._bits[place] & ~self._bits[others]
        found: Ints = others[~lacking.any(axis=1)]
        return found


def _bucket_bitmaps(value_hashes: Sequence[Hashes]) -> Bitmaps:
    """For each bucket of hashes a bitmap of the sets that have a value there."""
    bitmaps = np.empty((1 << _BUCKET_BITS, (len(value_hashes) + 7) // 8), dtype=np.uint8)
    step = 64  # sets at a time, so that what is written stays in the cache
    for first in range(0, len(value_hashes), step):
        some = value_hashes[first : first + step]
        flags = np.zeros((1 << _BUCKET_BITS, len(some)), dtype=np.bool_)
        number = np.repeat(np.arange(len(some)), [len(hashes) for hashes in some])
        flags[np.concatenate(some) >> _BUCKET_SHIFT, number] = True
        packed = np.packbits(flags, axis=1, bitorder="little")
        bitmaps[:, first // 8 : first // 8 + packed.shape[1]] = packed
    return bitmaps
