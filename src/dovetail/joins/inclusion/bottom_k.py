"""Bottom-k sketches: which value sets may contain which others, for all sets at once?

The sketch of a set is its k smallest hashes. One pass over all values finds which sets hold which
sketch value; a set can only be contained in those that hold its whole sketch. Near misses that are
left mostly fail on buckets of hashes: a superset has a value in every bucket where the subset has.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from dovetail.arrays import Flags, Ints, firsts, spans
from dovetail.hashing import Hashes
from dovetail.joins.distributed.distributed_columns import DistributedColumns
from dovetail.joins.inclusion.equal_sets import in_blocks

Bitmaps = npt.NDArray[np.uint8]

# First bits of a hash that tell whether it may be a sketch value: so many that the table of them
# stays in the processor's cache, where there are not many sketch values.
_LEAST_PREFIX_BITS, _MOST_PREFIX_BITS = 18, 23
# First bits of a hash that name its bucket, and how many buckets of a set are looked up.
_BUCKET_BITS = 13
_BUCKET_SHIFT = np.uint64(64 - _BUCKET_BITS)
_BUCKETS_LOOKED_UP = 512
# For no more candidates than these it is quicker to verify them one by one.
_FEW_CANDIDATES = 4


class SketchLookup:
    """Tells which of many values are sketch values; these come sorted, each once."""

    def __init__(self, values: Hashes) -> None:
        self._values = values
        # A hash can only be a sketch value if one shares its first bits: most are ruled out so.
        bits = len(self._values).bit_length() + 4
        bits = min(max(bits, _LEAST_PREFIX_BITS), _MOST_PREFIX_BITS)
        self._shift = np.uint64(64 - bits)
        self._prefixes = np.zeros(1 << bits, dtype=np.bool_)
        self._prefixes[self._values >> self._shift] = True

    def found(self, values: Hashes) -> tuple[Ints, Ints]:
        """Those values that are sketch values: their places, and their places among these."""
        nothing = np.empty(0, dtype=np.int64)
        if not len(self._values):
            return nothing, nothing
        likely = np.flatnonzero(self._prefixes.take((values >> self._shift).view(np.int64)))
        chosen = values[likely]
        at = np.searchsorted(self._values, chosen)
        at[at == len(self._values)] = 0
        same = self._values[at] == chosen
        return likely[same], at[same]


def holders(lookup: SketchLookup, value_hashes: Sequence[Hashes], count: int) -> Ints:
    """Which sets hold which sketch values: place of the value x `count` + place of the set.

    Both in one number, since sorting those is quicker than sorting places.
    """
    held = [np.empty(0, dtype=np.int64)]
    for first, values, starts in in_blocks(value_hashes):
        at, place = lookup.found(values)
        held.append(place * count + np.searchsorted(starts, at, side="right") + first - 1)
    return np.concatenate(held)


class SketchIndex:
    """An inverted index from sketch values to the sets that hold them, made in one pass."""

    def __init__(self, sketches: Sequence[Hashes], value_hashes: Sequence[Hashes]) -> None:
        """`sketches` give the values to index, `value_hashes` the sets to look for them in."""
        nothing = np.empty(0, dtype=np.uint64)
        values = np.sort(np.concatenate([nothing, *sketches]))
        values = values[firsts(values)]
        self._lookup = SketchLookup(values)
        count = len(value_hashes)
        if isinstance(value_hashes, DistributedColumns):
            passed = value_hashes.passes.holding(value_hashes.columns, values)
            every: Ints = np.concatenate([np.empty(0, dtype=np.int64), *passed])
        else:
            every = holders(self._lookup, value_hashes, count)
        every.sort()
        place = every // max(count, 1)
        self._sets = (every - place * count).astype(np.int32)
        self.holders: Ints = np.bincount(place, minlength=len(values))
        self._starts = np.concatenate([[0], np.cumsum(self.holders)])

    def places(self, values: Hashes) -> Ints:
        """The places, among all sketch values, of those values that are sketch values."""
        return self._lookup.found(values)[1]

    def posting_ranges(self, places: Ints) -> tuple[Ints, Ints]:
        """Where in `sets` those begin and end that hold each of some sketch values."""
        return self._starts[places], self._starts[places + 1]

    def divide(self, parts: Ints) -> None:
        """Count every set as several: part `n` of all has the values of set `parts[n]`."""
        by_set = np.argsort(parts, kind="stable")
        ends = np.searchsorted(parts[by_set], [self._sets, self._sets + 1])
        place = np.repeat(np.arange(len(self.holders)), self.holders)
        every = np.repeat(place, ends[1] - ends[0]) * len(parts) + by_set[spans(ends[0], ends[1])]
        every.sort()
        place = every // max(len(parts), 1)
        self._sets = (every - place * len(parts)).astype(np.int32)
        self.holders = np.bincount(place, minlength=len(self.holders))
        self._starts = np.concatenate([[0], np.cumsum(self.holders)])

    def within(self, begin: Ints, end: Ints, first: Ints, last: Ints) -> tuple[Ints, Ints]:
        """Ranges of `sets` narrowed to the sets from a first one to before a last."""
        place = np.searchsorted(self._starts, begin, side="right") - 1
        count = int(self._sets.max(initial=0)) + 1
        every = np.repeat(np.arange(len(self.holders)), self.holders) * count + self._sets
        low = np.searchsorted(every, place * count + np.minimum(first, count))
        high = np.searchsorted(every, place * count + np.minimum(last, count))
        return np.clip(low, begin, end), np.clip(high, begin, end)

    @property
    def sets(self) -> npt.NDArray[np.int32]:
        """The sets that hold the first sketch value, then those that hold the second, and so on."""
        return self._sets


class CandidateSupersets:
    """The sets that may contain each of some sets, as bitmaps; the first set has the last bit of
    the first byte."""

    def __init__(self, value_hashes: Sequence[Hashes], sketch_size: int) -> None:
        self._value_hashes = value_hashes
        sketches = [hashes[:sketch_size] for hashes in value_hashes]
        self._index = SketchIndex(sketches, value_hashes)
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
