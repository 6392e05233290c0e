"""Sketches of value sets: samples and bottom-k hashes, and which sets hold their values.

Of each set a few values are sampled by rows. One pass over all values finds which sets hold which
of the sampled values: a set is likely contained in those that hold most of its sample.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dovetail.arrays import Counts, Flags, Floats, Ints, sorted_distinct, spans
from dovetail.engines.passes import Arrays, Range
from dovetail.hashing import Hashes, mix

if TYPE_CHECKING:
    from dovetail.joins.columns import ColumnValues, ValueSets

# Values sampled from a set.
SAMPLE_SIZE = 32
# Values that a range of a pass holds, about; what a set costs besides its values, in values. Both
# depend on the catalog alone.
_VALUES, _EACH_SET = 1 << 22, 1 << 9
# Values that are looked at together: a call per set would cost more than its values do.
_BLOCK = 1 << 19
# First bits of a hash that tell whether it may be a sketch value: so many that the table of them
# stays in the processor's cache, where there are not many sketch values.
_LEAST_PREFIX_BITS, _MOST_PREFIX_BITS = 18, 23


def ranges_of(sizes: Ints, each: int = _EACH_SET) -> list[Range]:
    """Cut things of so many values each into ranges of about equal work."""
    ends = np.cumsum(sizes + each)
    ranges: list[Range] = []
    first, before = 0, 0
    while first < len(sizes):
        last = max(int(np.searchsorted(ends, before + _VALUES, side="right")), first + 1)
        ranges.append((first, last))
        first, before = last, int(ends[last - 1])
    return ranges


@dataclass(frozen=True, slots=True)
class SetFacts:
    """What one pass says of each value set.

    `digest` are two numbers that only equal sets have in common. The sampled values of the first
    set begin at the first of `starts`, and so on: their `hashes`, and the `rows` of each.
    """

    digest: npt.NDArray[np.uint64]
    starts: Ints
    hashes: Hashes
    rows: Ints

    @classmethod
    def of(cls, arrays: Arrays) -> SetFacts:
        """The facts in the arrays of `set_facts`."""
        starts = np.append(0, np.cumsum(arrays["sizes"]))
        return cls(arrays["digest"], starts, arrays["hashes"], arrays["rows"])

    def sample(self, number: int) -> tuple[Hashes, Ints]:
        """The sampled values of a set, sorted, and the rows that hold each."""
        part = slice(self.starts[number], self.starts[number + 1])
        return self.hashes[part], self.rows[part]

    def sampled(self, sets: Ints) -> tuple[Hashes, Ints, Ints]:
        """The sampled values of some sets one after the other, the rows that hold each, and how
        many there are of each set."""
        starts, ends = self.starts[sets], self.starts[sets + 1]
        every = spans(starts, ends)
        return self.hashes[every], self.rows[every], ends - starts


def set_facts(values: ColumnValues, first: int, last: int, shared: Mapping[str, Any]) -> Arrays:
    """A pass: of each value set a digest, and its sampled values with their rows."""
    del shared
    digest = np.zeros((last - first, 2), dtype=np.uint64)
    hashes: list[Hashes] = [np.empty(0, dtype=np.uint64)]
    rows: list[Counts] = [np.empty(0, dtype=np.uint32)]
    sets = [values.hashes(number) for number in range(first, last)]
    sizes = np.array([min(len(each), SAMPLE_SIZE) for each in sets], dtype=np.int64)
    for at, every, starts in in_blocks(sets):
        full = np.diff(np.append(starts, len(every))) > 0
        for half, summed in enumerate((every, mix(every))):
            reduced = np.add.reduceat(summed, starts[full]) if full.any() else summed[:0]
            digest[at : at + len(starts), half][full] = reduced
    for number, each in zip(range(first, last), sets, strict=True):
        counts = values.counts(number)
        if len(each) > SAMPLE_SIZE:
            chosen = sample_places(each, counts)
            each, counts = each[chosen], counts[chosen]
        hashes.append(each)
        rows.append(counts)
    return {
        "digest": digest,
        "sizes": sizes,
        "hashes": np.concatenate(hashes),
        "rows": np.concatenate(rows).astype(np.int64),
    }


def sample_places(hashes: Hashes, counts: Counts) -> Ints:
    """The indices of a set's sampled values, in order; more rows make a value more likely.

    The same ones every time: a hash is a random number u itself, and those with the smallest
    -ln(u) / rows are a sample weighted by rows (Efraimidis and Spirakis).
    """
    if len(hashes) <= SAMPLE_SIZE:
        return np.arange(len(hashes))
    if counts.max() == 1:
        return np.arange(len(hashes) - SAMPLE_SIZE, len(hashes))
    order = -np.log((hashes.astype(np.float64) + 1) / 2.0**64) / counts
    return np.sort(np.argpartition(order, SAMPLE_SIZE)[:SAMPLE_SIZE])


def in_blocks(value_hashes: Sequence[Hashes]) -> Iterator[tuple[int, Hashes, Ints]]:
    """Many sets at a time: the number of the first, all their values, and where each begins."""
    ends = np.cumsum([len(hashes) for hashes in value_hashes], dtype=np.int64)
    first, before = 0, 0
    while first < len(value_hashes):
        last = max(int(np.searchsorted(ends, before + _BLOCK, side="right")), first + 1)
        starts = np.concatenate([[0], ends[first : last - 1] - before])
        yield first, np.concatenate(value_hashes[first:last]), starts
        first, before = last, int(ends[last - 1])


@dataclass(frozen=True, slots=True)
class SketchLookup:
    """Tells which of many values are sketch values; these come sorted, each once.

    A hash can only be a sketch value if one shares its first bits, by which `prefixes` flags them:
    most are ruled out so.
    """

    values: Hashes
    prefixes: Flags

    @classmethod
    def of(cls, values: Hashes) -> SketchLookup:
        """Look some sorted values up."""
        bits = min(max(len(values).bit_length() + 4, _LEAST_PREFIX_BITS), _MOST_PREFIX_BITS)
        prefixes = np.zeros(1 << bits, dtype=np.bool_)
        prefixes[values >> np.uint64(64 - bits)] = True
        return cls(values, prefixes)

    def find(self, values: Hashes) -> tuple[Ints, Ints]:
        """Those values that are sketch values: their indices, and their indices among these."""
        nothing = np.empty(0, dtype=np.int64)
        if not len(self.values):
            return nothing, nothing
        shift = np.uint64(65 - len(self.prefixes).bit_length())
        possible = np.flatnonzero(self.prefixes.take((values >> shift).view(np.int64)))
        chosen = values[possible]
        at = np.searchsorted(self.values, chosen)
        at[at == len(self.values)] = 0
        same = self.values[at] == chosen
        return possible[same], at[same]


def holding(values: ColumnValues, first: int, last: int, shared: Mapping[str, Any]) -> Arrays:
    """A pass: which of some sets hold which sketch values: index of the value x sets + that of the
    set. Both in one number, since sorting those is quicker than sorting indices."""
    sets, lookup = shared["sets"], shared["lookup"]
    holders = [np.empty(0, dtype=np.int64)]
    batch = [values.hashes(number) for number in sets[first:last].tolist()]
    for at, every, starts in in_blocks(batch):
        index, value = lookup.find(every)
        of = np.searchsorted(starts, index, side="right") + (first + at - 1)
        holders.append(value * len(sets) + of)
    return {"held": np.concatenate(holders)}


class SketchIndex:
    """An inverted index from sketch values to the sets that hold them."""

    def __init__(self, sketches: Sequence[Hashes], sets: ValueSets) -> None:
        """`sketches` give the values to index; the sets that hold them, one pass finds."""
        values = sorted_distinct(np.concatenate([np.empty(0, dtype=np.uint64), *sketches]))
        self._lookup = SketchLookup.of(values)
        count = len(sets)
        every = sets.holding(values)
        every.sort()
        value = every // max(count, 1)
        self._sets = (every - value * count).astype(np.int32)
        self.holders: Ints = np.bincount(value, minlength=len(values))
        self._starts = np.concatenate([[0], np.cumsum(self.holders)])

    def places(self, values: Hashes) -> Ints:
        """The indices, among all sketch values, of those values that are sketch values."""
        return self._lookup.find(values)[1]

    def posting_ranges(self, values: Ints) -> tuple[Ints, Ints]:
        """Where in `sets` those begin and end that hold each of some sketch values."""
        return self._starts[values], self._starts[values + 1]

    def divide(self, parts: Ints) -> None:
        """Count every set as several: part `n` of all has the values of set `parts[n]`."""
        by_set = np.argsort(parts, kind="stable")
        ends = np.searchsorted(parts[by_set], [self._sets, self._sets + 1])
        value = np.repeat(np.arange(len(self.holders)), self.holders)
        every = np.repeat(value, ends[1] - ends[0]) * len(parts) + by_set[spans(ends[0], ends[1])]
        every.sort()
        value = every // max(len(parts), 1)
        self._sets = (every - value * len(parts)).astype(np.int32)
        self.holders = np.bincount(value, minlength=len(self.holders))
        self._starts = np.concatenate([[0], np.cumsum(self.holders)])

    def within(self, begin: Ints, end: Ints, first: Ints, last: Ints) -> tuple[Ints, Ints]:
        """Ranges of `sets` narrowed to the sets from a first one to before a last."""
        value = np.searchsorted(self._starts, begin, side="right") - 1
        count = int(self._sets.max(initial=0)) + 1
        every = np.repeat(np.arange(len(self.holders)), self.holders) * count + self._sets
        low = np.searchsorted(every, value * count + np.minimum(first, count))
        high = np.searchsorted(every, value * count + np.minimum(last, count))
        return np.clip(low, begin, end), np.clip(high, begin, end)

    @property
    def sets(self) -> npt.NDArray[np.int32]:
        """The sets that hold the first sketch value, then those that hold the second, and so on."""
        return self._sets


def commonness(sets: ValueSets, table: Ints) -> Floats:
    """Per set the mean, over its sampled values, of ln(tables that hold the value).

    `table` is the number of each set's table; only these sets count.
    """
    hashes, _, sizes = sets.sampled()
    values = sorted_distinct(hashes)
    held = sets.holding(values)
    width, tables = max(len(sets), 1), int(table.max(initial=0)) + 1
    pairs = sorted_distinct(held // width * tables + table[held % width])
    holders = np.bincount(pairs // tables, minlength=len(values))
    of = np.repeat(np.arange(len(sets)), sizes)
    # There are few numbers of tables, each of them many times: a logarithm for each is looked up.
    logarithm = np.log(np.maximum(np.arange(int(holders.max(initial=0)) + 1), 1))
    nats = logarithm[holders[np.searchsorted(values, hashes)]]
    mean: Floats = np.bincount(of, nats, minlength=len(sets)) / np.maximum(sizes, 1)
    return mean
