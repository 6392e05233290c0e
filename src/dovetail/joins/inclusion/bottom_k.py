"""Which sets of values may hold which others? Told by a few values of each, for all sets at once.

A set is represented by its few smallest hashes, its probes. One pass over all values finds which
sets hold which probe; a set can only lie in those that hold all of its probes. Near misses left
over mostly fail on buckets of hashes: what lies in a set has no value in a bucket where that set
has none.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from dovetail.hashing import Hashes
from dovetail.joins.column_arrays import Flags, Ints, firsts, spans
from dovetail.joins.inclusion.equal_sets import together

Bits = npt.NDArray[np.uint8]

# First bits of a hash that tell whether it may be a probe: so many that the table stays in the
# processor's cache, where there are not many probes.
_LEAST_MARKS, _MOST_MARKS = 18, 23
# First bits of a hash that name its bucket, and how many buckets of a set are looked up.
_BUCKET_BITS = 13
_BUCKET_SHIFT = np.uint64(64 - _BUCKET_BITS)
_LOOKED_UP = 512
# For fewer candidates than these it is quicker to verify them one by one.
_WORTH_BUCKETS = 4


class Holders:
    """Which of some sets of values hold which probes, found in one pass over all values."""

    def __init__(self, probes: Sequence[Hashes], vectors: Sequence[Hashes]) -> None:
        nothing = np.empty(0, dtype=np.uint64)
        self._probes = np.sort(np.concatenate([nothing, *probes]))
        self._probes = self._probes[firsts(self._probes)]
        # A value can only be a probe if some probe shares its first bits: most are ruled out so.
        bits = min(max(len(self._probes).bit_length() + 4, _LEAST_MARKS), _MOST_MARKS)
        self._shift = np.uint64(64 - bits)
        self._marked = np.zeros(1 << bits, dtype=np.bool_)
        self._marked[self._probes >> self._shift] = True
        # A probe and a set that holds it in one number: sorting those is quicker than places.
        held = [np.empty(0, dtype=np.int64)]
        for first, values, starts in together(vectors):
            at, probe = self._found(values)
            held.append(
                probe * len(vectors) + np.searchsorted(starts, at, side="right") + first - 1
            )
        every = np.concatenate(held)
        every.sort()
        probe = every // max(len(vectors), 1)
        self._sets = (every - probe * len(vectors)).astype(np.int32)
        self.times: Ints = np.bincount(probe, minlength=len(self._probes))
        self._starts = np.concatenate([[0], np.cumsum(self.times)])

    def places(self, values: Hashes) -> Ints:
        """The places, among all probes, of those values that are probes."""
        return self._found(values)[1]

    def _found(self, values: Hashes) -> tuple[Ints, Ints]:
        """Those values that are probes: their places, and their places among all probes."""
        nothing = np.empty(0, dtype=np.int64)
        if not len(self._probes):
            return nothing, nothing
        likely = np.flatnonzero(self._marked.take((values >> self._shift).view(np.int64)))
        chosen = values[likely]
        at = np.searchsorted(self._probes, chosen)
        at[at == len(self._probes)] = 0
        same = self._probes[at] == chosen
        return likely[same], at[same]

    def ranges(self, places: Ints) -> tuple[Ints, Ints]:
        """Where in `sets` those begin and end that hold each of some probes."""
        return self._starts[places], self._starts[places + 1]

    @property
    def sets(self) -> npt.NDArray[np.int32]:
        """The sets that hold the first probe, then those that hold the second, and so on."""
        return self._sets


class Likely:
    """The sets that may hold each of some sets, as rows of bits; the first set has the last bit
    of the first byte."""

    def __init__(self, vectors: Sequence[Hashes], probes: int) -> None:
        self._vectors = vectors
        few = [vector[:probes] for vector in vectors]
        self._holders = Holders(few, vectors)
        self._lengths = np.array([len(some) for some in few], dtype=np.int64)
        self._starts = np.cumsum(self._lengths) - self._lengths
        self._every = self._holders.places(np.concatenate(few)) if few else self._starts
        self._rows, self._bits = self._dense()
        self.alone = self._alone()
        # Sets that hold no probe of another are candidates for none.
        common = np.repeat(self._holders.times > 1, self._holders.times)
        holding = np.bincount(self._holders.sets[common], minlength=len(vectors)) > 0
        self._buckets = _buckets(
            [v if h else v[:0] for v, h in zip(vectors, holding.tolist(), strict=True)]
        )

    def _alone(self) -> Flags:
        """Which sets have a probe that no other set holds: they lie in none."""
        if not len(self._vectors):
            return np.empty(0, dtype=np.bool_)
        alone: Flags = np.minimum.reduceat(self._holders.times[self._every], self._starts) == 1
        return alone

    def _dense(self) -> tuple[Ints, Bits]:
        """A row of bits for each probe that many sets hold, and which row that is.

        One in 32 is many: the bits take no more room than the list then. The last row, that of
        all other probes, rules out nothing.
        """
        sets = len(self._vectors)
        many = np.flatnonzero(self._holders.times * 32 >= sets)
        row = np.full(len(self._holders.times), len(many), dtype=np.int64)
        row[many] = np.arange(len(many))
        bits = np.full((len(many) + 1, (sets + 7) // 8), 255, dtype=np.uint8)
        for at, probe in enumerate(many.tolist()):
            (start,), (end,) = self._holders.ranges(np.array([probe]))
            flags = np.zeros(sets, dtype=np.bool_)
            flags[self._holders.sets[start:end]] = True
            bits[at] = np.packbits(flags, bitorder="little")
        return row, bits

    def rows(self, places: Ints) -> Bits:
        """For some sets, in order: a row each of those up to the last of them that may hold it."""
        size = int(places[-1]) + 1
        width = (size + 7) // 8
        found = np.full((len(places), width), 255, dtype=np.uint8)
        light = np.zeros((len(places), size), dtype=np.uint8)
        listed = np.zeros(len(places), dtype=np.uint8)
        lengths = self._lengths[places]
        for number in range(int(lengths.max())):
            here = np.flatnonzero(lengths > number)
            probes = self._every[self._starts[places[here]] + number]
            rows = self._rows[probes]
            found[here] &= self._bits[rows, :width]
            few = np.flatnonzero(rows == len(self._bits) - 1)
            starts, ends = self._holders.ranges(probes[few])
            sets = self._holders.sets[spans(starts, ends)]
            of = np.repeat(here[few], ends - starts)
            light[of[sets < size], sets[sets < size]] += 1
            listed[here[few]] += 1
        found &= np.packbits(light == listed[:, None], axis=1, bitorder="little")
        many = np.bitwise_count(found).sum(axis=1) > _WORTH_BUCKETS
        for row in np.flatnonzero(many).tolist():
            vector = self._vectors[places[row]]
            spread = vector[:: len(vector) // _LOOKED_UP + 1] >> _BUCKET_SHIFT
            found[row] &= np.bitwise_and.reduce(self._buckets[spread, :width])
        return found


class Filled:
    """The buckets of hashes where each of some sets has a value; found out when first wanted."""

    def __init__(self, vectors: Sequence[Hashes]) -> None:
        self._vectors = vectors
        self._bits = np.zeros((len(vectors), (1 << _BUCKET_BITS) // 64), dtype=np.uint64)
        self._known = np.zeros(len(vectors), dtype=np.bool_)

    def hold(self, place: int, others: Ints) -> Ints:
        """Those of some sets that have a value in every bucket where one has."""
        wanted = np.append(others, place)
        for unknown in wanted[~self._known[wanted]].tolist():
            flags = np.zeros(1 << _BUCKET_BITS, dtype=np.bool_)
            flags[self._vectors[unknown] >> _BUCKET_SHIFT] = True
            self._bits[unknown] = np.packbits(flags).view(np.uint64)
            self._known[unknown] = True
        missing = self._bits[place] & ~self._bits[others]
        held: Ints = others[~missing.any(axis=1)]
        return held


def _buckets(vectors: Sequence[Hashes]) -> Bits:
    """For each bucket of hashes a row of bits: the sets that have a value there."""
    bits = np.empty((1 << _BUCKET_BITS, (len(vectors) + 7) // 8), dtype=np.uint8)
    step = 64  # sets at a time, so that what is written stays near
    for first in range(0, len(vectors), step):
        some = vectors[first : first + step]
        flags = np.zeros((1 << _BUCKET_BITS, len(some)), dtype=np.bool_)
        number = np.repeat(np.arange(len(some)), [len(vector) for vector in some])
        flags[np.concatenate(some) >> _BUCKET_SHIFT, number] = True
        packed = np.packbits(flags, axis=1, bitorder="little")
        bits[:, first // 8 : first // 8 + packed.shape[1]] = packed
    return bits
