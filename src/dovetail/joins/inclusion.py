"""Exact inclusion between columns: whose distinct values are all found in another column?

Over all columns of a lake at once, from their sorted hash vectors, without comparing every pair:

1. Columns with the same set of values are one class; classes are compared, columns are not.
2. A class is represented by its few smallest hashes, its probes. One pass over all values finds
   which classes hold which probe; a class can only lie in those that hold all of its probes.
   Near misses left over mostly fail on buckets of hashes, a bit set over all classes each.
3. Classes are visited from the largest down. A candidate superset is verified value by value,
   smallest first, and brings its own supersets along without further checks (transitivity).

Pairs of columns are streamed, never listed: there may be hundreds of millions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dovetail.hashing import Hashes
from dovetail.joins.lake import Flags, Ints, Lake
from dovetail.joins.postings import Postings

PROBES = 16
# How many first bits of a hash tell whether it may be a probe.
_MARK_BITS = 23
_MARK_SHIFT = np.uint64(64 - _MARK_BITS)
# How many first bits of a hash name its bucket, and how many buckets of a set are looked up.
_BUCKET_BITS = 13
_BUCKET_SHIFT = np.uint64(64 - _BUCKET_BITS)
_LOOKED_UP = 256
# For fewer candidates than these it is quicker to verify them one by one.
_WORTH_BUCKETS = 4


@dataclass(frozen=True, slots=True)
class Classes:
    """Columns grouped by equal sets of values, the largest sets first; empty ones are left out."""

    members: list[Ints]
    vectors: list[Hashes]
    of: Ints  # the class of each column, -1 for an empty one

    def __len__(self) -> int:
        return len(self.members)


def group(lake: Lake) -> Classes:
    """Group columns by equal sets.

    Sets are told apart by size, ends and two sums over their hashes, which as good random numbers
    would have to agree by a chance of one in 2^128; equal keys are compared value by value still.
    """
    places: dict[tuple[int, ...], list[list[int]]] = {}
    for place, vector in enumerate(lake.vectors):
        if not len(vector):
            continue
        key = (len(vector), int(vector[0]), int(vector[-1]), int(np.bitwise_xor.reduce(vector)))
        for same in places.setdefault(key, []):
            if np.array_equal(lake.vectors[same[0]], vector):
                same.append(place)
                break
        else:
            places[key].append([place])
    found = [same for alike in places.values() for same in alike]
    found.sort(key=lambda same: (-len(lake.vectors[same[0]]), same[0]))
    of = np.full(len(lake), -1, dtype=np.int64)
    for place, same in enumerate(found):
        of[same] = place
    members = [np.array(same, dtype=np.int64) for same in found]
    return Classes(members, [lake.vectors[same[0]] for same in found], of)


def supersets(classes: Classes) -> Iterator[tuple[int, Ints]]:
    """For each class, from the largest down, the classes it lies in, itself the last of them."""
    probes = [vector[:PROBES] for vector in classes.vectors]
    holders = Holders(probes, classes.vectors)
    dense = _Dense(holders, len(classes))
    buckets = _Buckets(classes.vectors)
    known = _Known(len(classes))
    inside = np.zeros(len(classes), dtype=np.bool_)
    starts = np.cumsum([0, *(len(few) for few in probes)])
    every = holders.places(np.concatenate(probes)) if probes else starts
    alone = np.minimum.reduceat(holders.times[every], starts[:-1]) == 1 if probes else inside
    for place, vector in enumerate(classes.vectors):
        if alone[place]:  # a probe that no other set holds
            known.add(np.array([place]))
            yield place, np.array([place])
            continue
        # Larger sets come first, so only those before can hold this one.
        candidates = dense.holding_all(every[starts[place] : starts[place + 1]], place)
        # A set of no more values than probes is known in full: nothing is left to verify.
        if len(vector) > PROBES:
            if len(candidates) > _WORTH_BUCKETS:
                candidates = candidates[buckets.may_hold(vector, place)[candidates]]
            left = candidates[:-1]
            while len(left):
                smallest, left = int(left[-1]), left[:-1]
                if _lies_in(vector, classes.vectors[smallest]):
                    inside[known.of(smallest)] = True
                    left = left[~inside[left]]
            inside[place] = True
            verified = candidates[inside[candidates]]
            inside[verified] = False
            candidates = verified
        known.add(candidates)
        yield place, candidates


class _Known:
    """The supersets found so far: a list where they are few, a bit set where they are many."""

    def __init__(self, classes: int) -> None:
        self._classes = classes
        self._sets: list[npt.NDArray[np.int32] | npt.NDArray[np.uint8]] = []

    def add(self, places: Ints) -> None:
        if len(places) * 32 < self._classes:
            self._sets.append(places.astype(np.int32))
            return
        flags = np.zeros(self._classes, dtype=np.bool_)
        flags[places] = True
        self._sets.append(np.packbits(flags))

    def of(self, place: int) -> npt.NDArray[np.intp]:
        found = self._sets[place]
        if found.dtype == np.uint8:
            return np.flatnonzero(np.unpackbits(found.view(np.uint8), count=self._classes))
        return found.astype(np.intp)


class Holders:
    """Which of some sets of values hold which probes, found in one pass over all values."""

    def __init__(self, probes: Sequence[Hashes], vectors: Sequence[Hashes]) -> None:
        nothing = np.empty(0, dtype=np.uint64)
        self._probes = np.unique(np.concatenate([nothing, *probes]))
        # A value can only be a probe if some probe shares its first bits: most are ruled out so.
        self._marked = np.zeros(1 << _MARK_BITS, dtype=np.bool_)
        self._marked[self._probes >> _MARK_SHIFT] = True
        held = [self.places(vector) for vector in vectors]
        lengths = np.array([len(found) for found in held], dtype=np.int64)
        probe = np.concatenate([np.empty(0, dtype=np.int64), *held])
        order = np.argsort(probe, kind="stable")  # so each probe's holders stay in order
        self._sets = np.repeat(np.arange(len(held), dtype=np.int32), lengths)[order]
        self.times: Ints = np.bincount(probe, minlength=len(self._probes))
        self._starts = np.concatenate([[0], np.cumsum(self.times)])

    def places(self, values: Hashes) -> Ints:
        """The places, among all probes, of those values that are probes."""
        if not len(self._probes):
            return np.empty(0, dtype=np.int64)
        likely = values[self._marked[values >> _MARK_SHIFT]]
        at = np.searchsorted(self._probes, likely)
        at[at == len(self._probes)] = 0
        found: Ints = at[self._probes[at] == likely]
        return found

    def ranges(self, places: Ints) -> tuple[Ints, Ints]:
        """Where in `sets` those begin and end that hold each of some probes."""
        return self._starts[places], self._starts[places + 1]

    @property
    def sets(self) -> npt.NDArray[np.int32]:
        """The sets that hold the first probe, then those that hold the second, and so on."""
        return self._sets

    def lists(self, places: Ints) -> list[npt.NDArray[np.int32]]:
        """For each of some probes the sets that hold it, in order; the shortest list first."""
        starts, ends = self._starts[places], self._starts[places + 1]
        order = np.argsort(ends - starts, kind="stable").tolist()
        return [self._sets[starts[place] : ends[place]] for place in order]


class _Dense:
    """Which sets hold all of some probes; a probe that many sets hold has a bit for each set."""

    def __init__(self, holders: Holders, sets: int) -> None:
        self._holders = holders
        # From here on the bits take no more room than the list.
        many = np.flatnonzero(holders.times * 32 >= sets)
        self._row = np.full(len(holders.times), -1, dtype=np.int64)
        self._row[many] = np.arange(len(many))
        self._bits = np.zeros((len(many), (sets + 7) // 8), dtype=np.uint8)
        for row, probe in enumerate(many.tolist()):
            flags = np.zeros(sets, dtype=np.bool_)
            flags[holders.lists(np.array([probe]))[0]] = True
            self._bits[row] = np.packbits(flags)

    def holding_all(self, probes: Ints, last: int) -> Ints:
        """The sets up to `last` that hold every probe."""
        rows = self._row[probes]
        few, many = probes[rows < 0], rows[rows >= 0]
        if len(few):
            found = _common(self._holders.lists(few), last)
            if len(found) == 1 or not len(many):
                return found
        bits = np.bitwise_and.reduce(self._bits[many, : last // 8 + 1])
        flags = np.unpackbits(bits, count=last + 1).view(np.bool_)
        return found[flags[found]] if len(few) else np.flatnonzero(flags).astype(np.int64)


class _Buckets:
    """Which sets have a value in which bucket of hashes, a bit for each set: what lies in a set
    has no value in a bucket where that set has none. Near misses fail here, all in one go."""

    def __init__(self, vectors: Sequence[Hashes]) -> None:
        self._bits = np.empty((1 << _BUCKET_BITS, (len(vectors) + 7) // 8), dtype=np.uint8)
        step = 512  # sets at a time, so that what is written stays near
        for start in range(0, len(vectors), step):
            some = vectors[start : start + step]
            packed = np.zeros(((len(some) + 7) // 8, 1 << _BUCKET_BITS), dtype=np.uint8)
            for place, vector in enumerate(some):
                packed[place >> 3][vector >> _BUCKET_SHIFT] |= np.uint8(128 >> (place & 7))
            self._bits[:, start // 8 : start // 8 + len(packed)] = packed.T

    def may_hold(self, vector: Hashes, last: int) -> Flags:
        """For the sets up to `last`, whether none of the buckets looked up rules it out."""
        spread = vector[:: len(vector) // _LOOKED_UP + 1] >> _BUCKET_SHIFT
        bits = np.bitwise_and.reduce(self._bits[spread, : last // 8 + 1])
        return np.unpackbits(bits, count=last + 1).view(np.bool_)


def _common(lists: list[npt.NDArray[np.int32]], last: int) -> Ints:
    """What is in every list, up to `last`."""
    found = lists[0][: np.searchsorted(lists[0], last, side="right")]
    for other in lists[1:]:
        if len(found) == 1:
            break
        at = np.searchsorted(other, found)
        at[at == len(other)] = 0
        found = found[other[at] == found]
    places: Ints = found.astype(np.int64)
    return places


def _lies_in(inner: Hashes, outer: Hashes) -> bool:
    """Whether every value is found; a thin sample is tried first."""
    if len(inner) >= len(outer):
        return False
    step = len(inner) // 64
    return (step == 0 or _all_in(inner[::step], outer)) and _all_in(inner, outer)


def _all_in(inner: Hashes, outer: Hashes) -> bool:
    at = outer.searchsorted(inner)
    return bool(at[-1] < len(outer)) and bool((outer[at] == inner).all())


def pairs(lake: Lake, classes: Classes | None = None) -> Iterator[tuple[Ints, Ints]]:
    """Every pair (inner, outer) of columns of two tables, at least one of them unique.

    They come in blocks, so that no more than a block of them is ever held.
    """
    classes = classes or group(lake)
    unique = _Members(classes, lake.unique)
    other = _Members(classes, ~lake.unique)
    for place, outer in supersets(classes):
        if len(outer) == len(classes.members[place]) == 1:
            continue
        keys, rest = unique.of(outer), other.of(outer)
        mine = classes.members[place]
        blocks = [(mine, keys), (mine[lake.unique[mine]], rest)]
        for inner, outside in blocks:
            if len(inner) and len(outside):
                left = np.repeat(inner, len(outside))
                right = np.tile(outside, len(inner))
                apart = lake.table[left] != lake.table[right]
                yield left[apart], right[apart]


def pairs_of(lake: Lake, postings: Postings, fresh: Flags) -> Iterator[tuple[Ints, Ints]]:
    """Those of the same pairs one of whose tables is fresh, without a look at the others."""
    mine = fresh[lake.table]
    for column in np.flatnonzero(mine & (lake.distinct > 0)).tolist():
        around, inside = postings.nested(lake.vectors[column])
        valid = (lake.unique | lake.unique[column]) & (lake.table != lake.table[column])
        outer = np.flatnonzero(around & valid)
        # What lies in this column and is fresh too finds it as its own superset.
        inner = np.flatnonzero(inside & valid & ~mine)
        yield np.full(len(outer), column), outer
        yield inner, np.full(len(inner), column)


class _Members:
    """The columns of each class that a flag picks, ready to be gathered for many classes."""

    def __init__(self, classes: Classes, flag: Flags) -> None:
        picked = [mine[flag[mine]] for mine in classes.members]
        self._flat = np.concatenate(picked) if picked else np.empty(0, dtype=np.int64)
        self._starts = np.concatenate([[0], np.cumsum([len(mine) for mine in picked])])

    def of(self, places: Ints) -> Ints:
        starts = self._starts[places]
        lengths = self._starts[places + 1] - starts
        before = np.cumsum(lengths) - lengths
        total = int(lengths.sum())
        gathered: Ints = self._flat[np.arange(total) + np.repeat(starts - before, lengths)]
        return gathered
