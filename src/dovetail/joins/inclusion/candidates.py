"""Foreign key candidates: few enough pairs of columns to look at closely, none left out that count.

A candidate is a column (child) and a key column of another table (parent) that holds most of the
child's rows: an inclusion dependency that tolerates noise. `Thresholds` say what is a key and what
is most. Of the many such pairs that chance makes (ids 1..n are contained in ids 1..m), only those
can become edges whose names have a word in common or whose values are distinctive; the rest is
never looked at. Of those, the scoring may rule out pairs whose upper bound is too low whatever
their counts; what is left is counted exactly (`count_shared.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dovetail.hashing import Hashes
from dovetail.joins.column_arrays import (
    ColumnArrays,
    Counts,
    Flags,
    Ints,
    firsts,
    sorted_distinct,
    spans,
)
from dovetail.joins.distributed.distributed_columns import DistributedColumns
from dovetail.joins.inclusion.bottom_k import SketchIndex
from dovetail.joins.inclusion.confinement import Confinement
from dovetail.joins.inclusion.count_shared import count_shared
from dovetail.joins.inclusion.equal_sets import group_equal_sets
from dovetail.joins.inclusion.grouping import BLOCK, Groups, in_parts, products
from dovetail.joins.naming.name_match import NameMatch
from dovetail.joins.value_index.row_sample import SAMPLE_SIZE, sample_places


@dataclass(frozen=True, slots=True)
class Candidates:
    """Pairs of columns with exact counts: distinct values in common, and child rows found."""

    child: Ints
    parent: Ints
    shared: Ints
    rows: Ints

    def __len__(self) -> int:
        return len(self.child)

    def take(self, chosen: Ints | Flags) -> Candidates:
        """Some of them."""
        parts = (self.child, self.parent, self.shared, self.rows)
        return Candidates(*(part[chosen] for part in parts))


def concatenate(parts: Sequence[Candidates]) -> Candidates:
    """Candidates one after the other."""
    names = ("child", "parent", "shared", "rows")
    nothing = np.empty(0, dtype=np.int64)
    return Candidates(
        *(np.concatenate([nothing, *(getattr(part, name) for part in parts)]) for name in names)
    )


# Bits of a whole number that is not negative.
_NUMBER_BITS = 63
# Says of many pairs (child, parent) whether the upper bound of their score is high enough.
BoundCheck = Callable[[Ints, Ints], Flags]
# Given the groups that children and parents fall into, says the same of the first columns of two
# groups, for all pairs that these stand for: none is ruled out that by itself would not be.
GroupBound = Callable[[Groups, Groups], BoundCheck]


def find_candidates(
    arrays: ColumnArrays,
    distinctive: Flags,
    within_bound: BoundCheck | None = None,
    group_bound: GroupBound | None = None,
    chosen: tuple[Flags, Flags] | None = None,
    confined: Confinement | None = None,
) -> Candidates:
    """All candidates between two tables; `distinctive` flags columns with distinctive values.

    Pairs that are not `within_bound` are neither counted nor returned; without it all are counted.
    A `group_bound` rules most of them out before they are so much as listed. `chosen` flags the
    columns that may be a child, and those that may be a parent; all, if it is not given. Pairs that
    are not allowed by `confined` are not looked for.
    """
    search = _CandidateSearch(arrays, distinctive, group_bound, chosen, confined)
    able = _within(search.blocks(), within_bound)
    if isinstance(arrays.value_hashes, DistributedColumns):  # workers count all of them in one go
        every = [np.empty((2, 0), dtype=np.int64), *map(np.stack, able)]
        return search.counted(*np.concatenate(every, axis=1))
    return concatenate([search.counted(child, parent) for child, parent in able])


def _within(
    blocks: Iterator[tuple[Ints, Ints]], within_bound: BoundCheck | None
) -> Iterator[tuple[Ints, Ints]]:
    """Pairs without those that are not within bound."""
    for child, parent in blocks:
        chosen = np.flatnonzero(within_bound(child, parent)) if within_bound else slice(None)
        yield child[chosen], parent[chosen]


class _CandidateSearch:
    """Looks up the parents of many columns together, and counts many pairs at once.

    Columns with the same values in as many rows each are looked up once: their `sort` is the same.
    """

    def __init__(
        self,
        arrays: ColumnArrays,
        distinctive: Flags,
        group_bound: GroupBound | None,
        chosen: tuple[Flags, Flags] | None = None,
        confined: Confinement | None = None,
    ) -> None:
        self._arrays = arrays
        self._distinctive = distinctive
        self._groups = group_equal_sets(arrays)
        self._children, may_be_key = chosen or (np.ones(len(arrays), dtype=np.bool_), arrays.key)
        keys = np.flatnonzero(arrays.key & may_be_key & (self._groups.group_of >= 0))
        self._named = NameMatch(arrays, keys)
        # Groups of equal sets that hold some key, numbered anew: by source, where that matters.
        source, home = _homes(len(arrays), confined)
        placed = source * len(self._groups) + self._groups.group_of
        groups = sorted_distinct(placed[keys])
        self._key_groups = len(groups)
        first, sort = self._sorts(home)
        # Columns of one sort, or keys of one group, and of one name: they share their answers.
        children, named = np.flatnonzero(sort >= 0), 2 * self._named.called + distinctive
        self._mine = Groups.of(children, sort, named)
        self._by_sort = Groups.of(np.arange(len(self._mine)), sort[self._mine.first])
        group_of = np.full(len(arrays), -1, dtype=np.int64)
        group_of[keys] = np.searchsorted(groups, placed[keys])
        self._theirs = Groups.of(keys, group_of, 2 * self._named.name + distinctive)
        self._by_group = Groups.of(np.arange(len(self._theirs)), group_of[self._theirs.first])
        self._within = group_bound(self._mine, self._theirs) if group_bound else None
        firsts_of = np.array(first, dtype=np.int64)
        self._filled = arrays.filled[firsts_of]
        # Where all values are sampled, the rows found by the sample are all that are found.
        self._whole = arrays.distinct[firsts_of] <= SAMPLE_SIZE
        samples, rows = _sampled(arrays, first)
        of_groups, sets = self._groups.value_hashes, groups % max(len(self._groups), 1)
        distinct_sets = sorted_distinct(sets)
        self._index = SketchIndex(
            samples,
            of_groups.take(distinct_sets)
            if isinstance(of_groups, DistributedColumns)
            else [of_groups[group] for group in distinct_sets.tolist()],
        )
        if not np.array_equal(sets, distinct_sets):
            self._index.divide(np.searchsorted(distinct_sets, sets))
        # All samples one after the other: where each begins, its sets in the index, and its rows.
        self._sampled_at = np.cumsum([0, *map(len, samples)])
        every = np.concatenate([np.empty(0, dtype=np.uint64), *samples])
        self._begin, self._end = self._index.posting_ranges(self._index.places(every))
        of_sort = home[firsts_of]
        if (of_sort >= 0).any():
            at = np.repeat(of_sort, np.diff(self._sampled_at))
            bounds = np.searchsorted(groups // max(len(self._groups), 1), [at, at + 1])
            local = np.flatnonzero(at >= 0)
            self._begin[local], self._end[local] = self._index.within(
                self._begin[local], self._end[local], *bounds[:, local]
            )
        self._rows = np.concatenate([np.empty(0, dtype=np.int64), *rows])

    def _sorts(self, home: Ints) -> tuple[list[int], Ints]:
        """The first column of each sort, and the sort of each column, -1 if it is none's child."""
        first: list[int] = []
        number: dict[tuple[int, bytes, int], int] = {}
        sort = np.full(len(self._arrays), -1, dtype=np.int64)
        filled = np.where(self._children, self._arrays.filled, 0).tolist()
        distinct = self._arrays.distinct.tolist()
        counts = _few_counts(self._arrays)
        groups = zip(self._groups.group_of.tolist(), home.tolist(), strict=True)
        for column, (group, at_home) in enumerate(groups):
            if filled[column] <= 0 or group < 0:
                continue
            if filled[column] == distinct[column]:
                key = (group, b"", at_home)
            elif distinct[column] <= SAMPLE_SIZE:
                key = (group, counts(column).tobytes(), at_home)
            else:  # hardly ever the same as another, and much to compare
                key = (-column - 1, b"", at_home)
            at = number.setdefault(key, len(first))
            if at == len(first):
                first.append(column)
            sort[column] = at
        return first, sort

    def blocks(self) -> Iterator[tuple[Ints, Ints]]:
        """Likely pairs, of many children at a time, in order: keys of other tables, by name or
        distinctive, that likely hold the child's rows."""
        table = self._arrays.table
        for sort, group in self._likely():
            for mine, theirs in products(self._by_sort, sort, self._by_group, group):
                child, parent = self._mine.first[mine], self._theirs.first[theirs]
                able = self._distinctive[child] & self._distinctive[parent]
                rest = np.flatnonzero(~able)
                able[rest] = self._named(child[rest], parent[rest])
                if self._within:
                    named = np.flatnonzero(able)
                    able[named] = self._within(child[named], parent[named])
                mine, theirs = mine[able], theirs[able]
                for child, parent in products(self._mine, mine, self._theirs, theirs):
                    apart = np.flatnonzero(table[child] != table[parent])
                    child, parent = child[apart], parent[apart]
                    order = np.lexsort((parent, child))
                    if len(order):
                        yield child[order], parent[order]

    def _likely(self) -> Iterator[tuple[Ints, Ints]]:
        """Sorts with the groups of keys that hold half of their sampled values, or of their rows.

        By rows, since many values of one row each may be orphans; by values, since one of many
        rows may be. Where all values are sampled, enough of the rows must be found.
        """
        held = np.append(0, np.cumsum(self._end - self._begin))[self._sampled_at]
        size, rows = np.diff(self._sampled_at), _sums(self._rows, self._sampled_at)
        count, least = self._key_groups, self._arrays.thresholds.rows
        for part in in_parts(np.diff(held), BLOCK):
            first, last = self._sampled_at[part.start], self._sampled_at[part.stop]
            lengths = self._end[first:last] - self._begin[first:last]
            groups = self._index.sets[spans(self._begin[first:last], self._end[first:last])]
            sort = np.repeat(np.arange(part.stop - part.start), size[part])
            pair = np.repeat(sort, lengths) * count + groups.astype(np.int64)
            weights = np.repeat(self._rows[first:last], lengths)
            pair, by_value, by_rows = _tally(pair, weights, (part.stop - part.start) * count)
            sort = part.start + pair // max(count, 1)
            likely = (2 * by_value >= size[sort]) | (2 * by_rows >= rows[sort])
            likely &= ~self._whole[sort] | (by_rows >= least * self._filled[sort])
            yield sort[likely], (pair % max(count, 1))[likely]

    def counted(self, child: Ints, parent: Ints) -> Candidates:
        """Those of some pairs whose parent holds enough of the child's rows, with exact counts."""
        groups = len(self._groups)
        outer = self._groups.group_of[parent]
        pairs, back = np.unique(child * groups + outer, return_inverse=True)
        inner, outer = pairs // groups, pairs % groups
        shared, rows = count_shared(self._arrays, inner, self._groups.value_hashes, outer)
        found = Candidates(child, parent, shared[back], rows[back])
        return found.take(found.rows >= self._arrays.thresholds.rows * self._arrays.filled[child])


def _homes(size: int, confined: Confinement | None) -> tuple[Ints, Ints]:
    """The source that each column counts for as a key, and that it is confined to, or -1."""
    if confined is None or not confined.confined.any():
        return np.zeros(size, dtype=np.int64), np.full(size, -1)
    return confined.source, np.where(confined.confined, confined.source, -1)


def _sampled(arrays: ColumnArrays, columns: Sequence[int]) -> tuple[list[Hashes], list[Ints]]:
    """The sampled values of some columns, and the rows that hold each."""
    if isinstance(arrays.value_hashes, DistributedColumns):
        samples = [arrays.value_hashes.sample(column) for column in columns]
        return [hashes for hashes, _ in samples], [rows for _, rows in samples]
    found: tuple[list[Hashes], list[Ints]] = [], []
    every_counts = list(arrays.counts)
    for column in columns:
        hashes, counts = arrays.value_hashes[column], every_counts[column]
        places = sample_places(hashes, counts)
        found[0].append(hashes[places])
        found[1].append(counts[places].astype(np.int64))
    return found


def _few_counts(arrays: ColumnArrays) -> Callable[[int], Ints | Counts]:
    """Reads the counts of a column whose values are all sampled."""
    if isinstance(arrays.value_hashes, DistributedColumns):
        distributed = arrays.value_hashes
        return lambda column: distributed.sample(column)[1]
    return list(arrays.counts).__getitem__


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
