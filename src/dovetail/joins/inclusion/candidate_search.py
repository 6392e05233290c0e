"""The search for likely pairs of a column and a key, a range of columns at a time.

Everything that it goes by is in arrays, prepared once (`prepare_search.py`): whoever has them, this
process or a worker that maps them, finds the same pairs of a range.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from dovetail.arrays import Flags, Ints, firsts, spans
from dovetail.joins.inclusion.grouping import BLOCK, Groups, in_parts, products
from dovetail.names.lookup import NameMatch

# What a pair of groups costs, in held values that are tallied.
_EACH_PAIR = 4
# Bits of a whole number that is not negative.
_NUMBER_BITS = 63
# Says of many pairs (child, parent) whether the upper bound of their score is high enough.
BoundCheck = Callable[[Ints, Ints], Flags]


class Bounds(Protocol):
    """Rules out pairs by the upper bounds of their scores, whatever their counts.

    `shareable` bounds are dataclasses of arrays, which workers can be told.
    """

    @property
    def shareable(self) -> bool: ...

    def of_groups(self, children: Groups, parents: Groups) -> Bounds:
        """The same, told the groups that children and parents fall into."""
        ...

    def within_groups(self, child: Ints, parent: Ints) -> Flags:
        """Whether the first columns of two groups are within bound, for all that these stand for:
        no pair is ruled out that by itself would not be."""
        ...

    def within(self, child: Ints, parent: Ints) -> Flags:
        """Whether each pair is within bound."""
        ...


@dataclass(frozen=True, slots=True)
class EachPair:
    """Bounds that a function tells, of pairs alone."""

    check: BoundCheck
    shareable: bool = False

    def of_groups(self, children: Groups, parents: Groups) -> EachPair:
        del children, parents
        return self

    def within_groups(self, child: Ints, parent: Ints) -> Flags:
        del parent
        return np.ones(len(child), dtype=np.bool_)

    def within(self, child: Ints, parent: Ints) -> Flags:
        return self.check(child, parent)


def no_bounds() -> EachPair:
    """Bounds that rule out nothing."""
    return EachPair(lambda child, _: np.ones(len(child), dtype=np.bool_))


@dataclass(frozen=True, slots=True)
class CandidateSearch:
    """Looks up the parents of many columns together.

    Columns with the same values in as many rows each are looked up once: their `sort` is the same.
    Keys with the same values are one key group. Columns of one sort, or keys of one group, that are
    called alike share their answers: they are a group of `mine`, or of `theirs`; `by_sort` and
    `by_group` list those. Per column: its `table`, and whether its values are `distinctive`. Per
    sort: the `filled` rows, whether the sample is the `whole`, and where its sampled values begin
    (`sampled_at`). Per sampled value: the `rows` that hold it, and where the key groups that do
    `begin` and `end` in `sets`. `least` is the share of rows that a key must hold.
    """

    table: Ints
    distinctive: Flags
    named: NameMatch
    mine: Groups
    by_sort: Groups
    theirs: Groups
    by_group: Groups
    filled: Ints
    whole: Flags
    sampled_at: Ints
    rows: Ints
    begin: Ints
    end: Ints
    sets: npt.NDArray[np.int32]
    key_groups: int
    least: float

    def ranges(self) -> Iterator[tuple[int, int]]:
        """All groups of `mine` in ranges of about equal work, told before it is done.

        Groups of one sort may be in several ranges: of 5,105 tables of five rows, those with the
        numbers 1 to 5 made half of all pairs.
        """
        names = np.append(0, np.cumsum(np.diff(self.by_group.starts)[self.sets]))
        held = _sums(self.end - self.begin, self.sampled_at)
        named = _sums(names[self.end] - names[self.begin], self.sampled_at)
        named //= np.maximum(np.diff(self.sampled_at), 1)
        mine = np.diff(self.by_sort.starts)
        work = np.repeat(held // np.maximum(mine, 1) + _EACH_PAIR * named, mine)
        for part in in_parts(work, BLOCK):
            yield part.start, part.stop

    def pairs(self, first: int, last: int, bounds: Bounds) -> Iterator[tuple[Ints, Ints]]:
        """Likely pairs, within bounds, of a range of `mine`, many at a time: keys of other tables,
        by name or distinctive, that likely hold the child's rows."""
        starts = self.by_sort.starts
        start = int(np.searchsorted(starts, first, side="right")) - 1
        stop = int(np.searchsorted(starts, last))
        by_sort = Groups(np.arange(first, last), starts[start : stop + 1].clip(first, last) - first)
        sort, group = self._likely(start, stop)
        for mine, theirs in products(by_sort, sort, self.by_group, group):
            child, parent = self.mine.first[mine], self.theirs.first[theirs]
            able = self.distinctive[child] & self.distinctive[parent]
            rest = np.flatnonzero(~able)
            able[rest] = self.named(child[rest], parent[rest])
            named = np.flatnonzero(able)
            able[named] = bounds.within_groups(child[named], parent[named])
            mine, theirs = mine[able], theirs[able]
            for child, parent in products(self.mine, mine, self.theirs, theirs):
                apart = np.flatnonzero(self.table[child] != self.table[parent])
                child, parent = child[apart], parent[apart]
                order = np.lexsort((parent, child))
                child, parent = child[order], parent[order]
                if len(order):
                    within = np.flatnonzero(bounds.within(child, parent))
                    yield child[within], parent[within]

    def _likely(self, start: int, stop: int) -> tuple[Ints, Ints]:
        """Sorts, by their places in a range, with the key groups that hold half of their sampled
        values, or of their rows.

        By rows, since many values of one row each may be orphans; by values, since one of many
        rows may be. Where all values are sampled, enough of the rows must be found.
        """
        first, last = self.sampled_at[start], self.sampled_at[stop]
        begin, end, count = self.begin[first:last], self.end[first:last], max(self.key_groups, 1)
        size = np.diff(self.sampled_at[start : stop + 1])
        groups = self.sets[spans(begin, end)]
        sort = np.repeat(np.arange(stop - start), size)
        pair = np.repeat(sort, end - begin) * count + groups.astype(np.int64)
        weights = np.repeat(self.rows[first:last], end - begin)
        pair, by_value, by_rows = _tally(pair, weights, (stop - start) * count)
        rows = _sums(self.rows[first:last], self.sampled_at[start : stop + 1] - first)
        sort, group = pair // count, pair % count
        likely = (2 * by_value >= size[sort]) | (2 * by_rows >= rows[sort])
        filled, whole = self.filled[start:stop][sort], self.whole[start:stop][sort]
        likely &= ~whole | (by_rows >= self.least * filled)
        return sort[likely], group[likely]


def _sums(values: Ints, bounds: Ints) -> Ints:
    """The sum of the values between each two bounds."""
    total = np.append(0, np.cumsum(values))
    sums: Ints = total[bounds[1:]] - total[bounds[:-1]]
    return sums


def _tally(pairs: Ints, weights: Ints, size: int) -> tuple[Ints, Ints, Ints]:
    """Distinct pairs, numbered below a size, in order: how often each comes, and its weight."""
    if size <= 4 * len(pairs):  # so few there can be that an array of all is quicker than sorting
        times = np.bincount(pairs, minlength=size)
        there = np.flatnonzero(times)
        weight = np.bincount(pairs, weights, minlength=size)
        return there, times[there], weight[there].astype(np.int64)
    pairs, weights = _sorted_by_pair(pairs, weights, size)
    at = firsts(pairs)
    if not len(at):
        return pairs, at, at
    return pairs[at], np.diff(np.append(at, len(pairs))), np.add.reduceat(weights, at)


def _sorted_by_pair(pairs: Ints, weights: Ints, size: int) -> tuple[Ints, Ints]:
    """Pairs, numbered below a size, in order, with their weights.

    Both in one number, where they fit, since sorting numbers is quicker than sorting places.
    """
    bits = int(weights.max(initial=0)).bit_length()
    if size.bit_length() + bits > _NUMBER_BITS:
        order = np.argsort(pairs, kind="stable")
        return pairs[order], weights[order]
    both = pairs << bits | weights
    both.sort()
    return both >> bits, both & ((1 << bits) - 1)
