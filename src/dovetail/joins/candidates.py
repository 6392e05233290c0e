"""Candidate foreign keys: all pairs of columns one of which may refer to the other, and why so few.

A candidate is a column (child) and a key column of another table (parent) that holds most of the
child's rows: an inclusion dependency that tolerates noise. `Thresholds` say what is a key and what
is most. Of the many such pairs that chance makes (ids 1..n are contained in ids 1..m), only those
can become edges whose names have a word in common or whose values are distinctive; the rest is
never looked at. Of those, the scoring may rule out pairs whose upper bound is too low whatever
their counts; what is left is counted exactly (`counting.py`).

Everything that the search goes by is in arrays, prepared once: whoever has them, this process or a
worker that maps them, finds the same pairs of a range of child groups.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import log
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from dovetail.arrays import Encoded, Flags, Floats, Ints, encode_by, firsts, sorted_distinct, spans
from dovetail.engines.passes import Arrays, Range
from dovetail.hashing import Hashes
from dovetail.joins.columns import ColumnArrays, ColumnValues, ValueSets
from dovetail.joins.counting import count_shared
from dovetail.joins.sketches import SAMPLE_SIZE, SketchIndex
from dovetail.names.words import core

# Pairs of columns that come together.
BLOCK = 1 << 20
# What a pair of groups costs, in sampled values that are tallied.
_EACH_PAIR = 4
# Tables that hold a value, on average, from which on the values of a column say nothing.
_EVERYDAY = 1_000
# Columns of one name for keys to be looked at wherever they are.
_FEW_ALIKE = 64
# Flags of the columns that may be a child, and of those that may be its parent.
Chosen = tuple[Flags, Flags]


@dataclass(frozen=True, slots=True)
class Candidates:
    """Pairs of columns with exact counts: distinct values in common, and child rows matched."""

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

    def sorted(self) -> Candidates:
        """The same in the order of their columns."""
        return self.take(np.lexsort((self.parent, self.child)))


def concatenate(parts: Sequence[Candidates]) -> Candidates:
    """Candidates one after the other."""
    names = ("child", "parent", "shared", "rows")
    nothing = np.empty(0, dtype=np.int64)
    return Candidates(
        *(np.concatenate([nothing, *(getattr(part, name) for part in parts)]) for name in names)
    )


def find_candidates(
    arrays: ColumnArrays,
    bounds: Bounds,
    chosen: Sequence[Chosen] = (),
    source_only: SourceOnly | None = None,
) -> Candidates:
    """All candidates between two tables.

    Pairs that are not eligible or not within `bounds` are neither counted nor returned. Only pairs
    that one of `chosen` flags are looked for; all, if there are none. Nor are pairs that
    `source_only` does not allow.
    """
    groups = group_equal_sets(arrays.values)
    source_only = source_only or SourceOnly.of_none(len(arrays))
    parts = []
    for flags in chosen or [(arrays.children, arrays.key)]:
        if not (flags[0].any() and flags[1].any()):
            continue
        search = prepare_search(arrays, groups, bounds, flags, source_only)
        if ranges := search.ranges():
            shared = {"search": search, "bounds": bounds}
            pairs = arrays.values.passes.joined(likely_pairs, ranges, shared)
            parts.append(_counted(arrays, groups, pairs["child"], pairs["parent"]))
    return concatenate(parts)


def _counted(arrays: ColumnArrays, groups: EqualSets, child: Ints, parent: Ints) -> Candidates:
    """Those of some pairs whose parent holds enough of the child's rows, with exact counts."""
    width = max(len(groups), 1)
    pairs, back = np.unique(child * width + groups.group_of[parent], return_inverse=True)
    shared, rows = count_shared(arrays.values, pairs // width, groups.values, pairs % width)
    counted = Candidates(child, parent, shared[back], rows[back])
    return counted.take(counted.rows >= arrays.least_rows[child] * arrays.filled[child])


@dataclass(frozen=True, slots=True)
class EqualSets:
    """Columns grouped by equal value sets, the largest sets first; empty columns are in none."""

    values: ValueSets  # of each group
    group_of: Ints  # the group of each column, -1 for an empty column

    def __len__(self) -> int:
        return len(self.values)


def group_equal_sets(values: ValueSets) -> EqualSets:
    """Group value sets that are equal, as their digests tell."""
    sizes = values.sizes
    left, right = values.passes.facts.digest[values.numbers].T
    order = np.lexsort((right, left, sizes))  # stable: of equal sets the first comes first
    keys = np.stack([sizes[order].astype(np.uint64), left[order], right[order]])
    new = np.append(True, (np.diff(keys) != 0).any(axis=0))[: len(sizes)]
    first = np.empty(len(sizes), dtype=np.int64)
    first[order] = order[np.flatnonzero(new)[np.cumsum(new) - 1]]
    first[sizes == 0] = -1
    groups = np.flatnonzero(first == np.arange(len(first)))
    groups = groups[np.argsort(-sizes[groups], kind="stable")]
    number = np.full(len(first) + 1, -1, dtype=np.int64)  # the last is for empty columns
    number[groups] = np.arange(len(groups))
    return EqualSets(values.take(groups), number[first])


@dataclass(frozen=True, slots=True)
class Groups:
    """Members in groups: those of group `n` are from `starts[n]` to before `starts[n + 1]`."""

    members: Ints
    starts: Ints

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def first(self) -> Ints:
        """The first member of each group, which represents it."""
        first: Ints = self.members[self.starts[:-1]]
        return first

    @classmethod
    def of(cls, members: Ints, *facts: Ints) -> Groups:
        """Members grouped by facts that have an entry for each, in the order of these."""
        order = members[np.lexsort([fact[members] for fact in reversed(facts)])]
        new = np.zeros(len(order), dtype=np.bool_)
        new[:1] = True
        for fact in facts:
            new[1:] |= fact[order][1:] != fact[order][:-1]
        return cls(order, np.append(np.flatnonzero(new), len(order)))


def products(left: Groups, lefts: Ints, right: Groups, rights: Ints) -> Iterator[tuple[Ints, Ints]]:
    """The pairs of members that pairs of groups represent, a block at a time."""
    left_size, right_size = np.diff(left.starts), np.diff(right.starts)
    for batch in in_parts(left_size[lefts], BLOCK):
        chosen = lefts[batch]
        member = left.members[spans(left.starts[chosen], left.starts[chosen + 1])]
        other = np.repeat(rights[batch], left_size[chosen])
        for part in in_parts(right_size[other], BLOCK):
            of = other[part]
            beside = right.members[spans(right.starts[of], right.starts[of + 1])]
            yield np.repeat(member[part], right_size[of]), beside


def in_parts(sizes: Ints, limit: int) -> Iterator[slice]:
    """Cut a sequence so that the sizes in a part sum to no more than a limit, or it is one item."""
    ends = np.cumsum(sizes)
    start, before = 0, 0
    while start < len(sizes):
        end = max(int(np.searchsorted(ends, before + limit, side="right")), start + 1)
        yield slice(start, end)
        start, before = end, int(ends[end - 1])


class Bounds(Protocol):
    """Rules out pairs, whatever their counts. A dataclass of arrays, which workers can be given.

    Columns of equal values and of one kind, `child_kind` or `key_kind`, are eligible alike.
    """

    @property
    def child_kind(self) -> Ints: ...

    @property
    def key_kind(self) -> Ints: ...

    def eligible(self, child: Ints, key: Ints) -> Flags:
        """Whether names or values say so much of each pair that it is worth looking at."""
        ...

    def within(self, child: Ints, key: Ints) -> Flags:
        """Whether the score of each pair may be high enough."""
        ...


@dataclass(frozen=True, slots=True)
class SourceOnly:
    """Per column: whether only keys of its own source are compared with it, and which that is."""

    flags: Flags
    source: Ints

    def allows(self, child: Ints, key: Ints) -> Flags:
        """Whether each pair may be looked at."""
        allowed: Flags = ~self.flags[child] | (self.source[child] == self.source[key])
        return allowed

    @classmethod
    def of_none(cls, columns: int) -> SourceOnly:
        """Every column is compared with all keys."""
        return cls(np.zeros(columns, dtype=np.bool_), np.zeros(columns, dtype=np.int64))


@dataclass(frozen=True, slots=True)
class CandidateSearch:
    """Looks up the keys of many child columns together.

    A *value multiset* is a set of values and how many rows hold each: children of one multiset are
    looked up once. Keys of one value set are looked up once, too. Children of one multiset and of
    one kind are a child group; keys of one set and kind are a key group: all pairs of two groups
    share their answers. `by_multiset` and `by_set` list those groups.

    Per column: its `table`. Per multiset: the `filled` rows, whether it is sampled in `full`, and
    where its sampled values begin (`sampled_at`). Per sampled value: the `rows` that hold it, and
    where the key sets that do `begin` and `end` in `sets`, of which there are `set_count`.
    `set_table` and `multiset_table` are the tables of those that stand in one table alone, -1 of
    others. `minimum` is the share of rows that a key must hold.
    """

    table: Ints
    child_groups: Groups
    by_multiset: Groups
    key_groups: Groups
    by_set: Groups
    filled: Ints
    full: Flags
    sampled_at: Ints
    rows: Ints
    begin: Ints
    end: Ints
    sets: npt.NDArray[np.int32]
    set_count: int
    set_table: Ints
    multiset_table: Ints
    minimum: Floats

    def ranges(self) -> list[Range]:
        """All child groups in ranges of about equal work, estimated before it is done.

        Groups of one multiset may be in several ranges: of 5,105 tables of five rows, those with
        the numbers 1 to 5 made half of all pairs.
        """
        names = np.append(0, np.cumsum(np.diff(self.by_set.starts)[self.sets]))
        tallied = _sums(self.end - self.begin, self.sampled_at)
        named = _sums(names[self.end] - names[self.begin], self.sampled_at)
        named //= np.maximum(np.diff(self.sampled_at), 1)
        groups = np.diff(self.by_multiset.starts)
        work = np.repeat(tallied // np.maximum(groups, 1) + _EACH_PAIR * named, groups)
        return [(part.start, part.stop) for part in in_parts(work, BLOCK)]

    def pairs(self, first: int, last: int, bounds: Bounds) -> Iterator[tuple[Ints, Ints]]:
        """Likely pairs, within bounds, of a range of child groups, many at a time: eligible keys of
        other tables that likely hold the child's rows."""
        starts = self.by_multiset.starts
        start = int(np.searchsorted(starts, first, side="right")) - 1
        stop = int(np.searchsorted(starts, last))
        cut = starts[start : stop + 1].clip(first, last) - first
        by_multiset = Groups(np.arange(first, last), cut)
        multiset, key_set = self._likely_sets(start, stop)
        for children, keys in products(by_multiset, multiset, self.by_set, key_set):
            firsts_of = self.child_groups.first[children], self.key_groups.first[keys]
            eligible = bounds.eligible(*firsts_of)
            groups = children[eligible], self.key_groups, keys[eligible]
            for child, key in products(self.child_groups, *groups):
                apart = np.flatnonzero(self.table[child] != self.table[key])
                child, key = child[apart], key[apart]
                order = np.lexsort((key, child))
                child, key = child[order], key[order]
                if len(order):
                    within = np.flatnonzero(bounds.within(child, key))
                    yield child[within], key[within]

    def _likely_sets(self, start: int, stop: int) -> tuple[Ints, Ints]:
        """Multisets of a range, and the key sets that hold half of their sampled values or rows.

        By rows, since many values of one row each may be orphans; by values, since one of many
        rows may be. Where all values are sampled, enough of the rows must be found.
        """
        first, last = self.sampled_at[start], self.sampled_at[stop]
        begin, end, count = self.begin[first:last], self.end[first:last], max(self.set_count, 1)
        size = np.diff(self.sampled_at[start : stop + 1])
        sets = self.sets[spans(begin, end)].astype(np.int64)
        multiset = np.repeat(np.repeat(np.arange(stop - start), size), end - begin)
        # What stands in one table alone is never a pair with what stands there alone.
        elsewhere = self.set_table[sets] != self.multiset_table[start:stop][multiset]
        elsewhere |= self.set_table[sets] < 0
        pair = multiset[elsewhere] * count + sets[elsewhere]
        weights = np.repeat(self.rows[first:last], end - begin)[elsewhere]
        pair, by_value, by_rows = _tally(pair, weights)
        rows = _sums(self.rows[first:last], self.sampled_at[start : stop + 1] - first)
        multiset, key_set = pair // count, pair % count
        # Where less than half will do, samples may well have half of that.
        few = self.minimum[start:stop] < 0.5
        least = np.where(few, self.minimum[start:stop] / 2, 0.5)[multiset]
        likely = (by_value >= least * size[multiset]) | (by_rows >= least * rows[multiset])
        filled, full = self.filled[start:stop][multiset], self.full[start:stop][multiset]
        likely &= ~full | (by_rows >= self.minimum[start:stop][multiset] * filled)
        return multiset[likely], key_set[likely]


def likely_pairs(values: ColumnValues, first: int, last: int, shared: Mapping[str, Any]) -> Arrays:
    """A pass over child groups: the likely pairs of a child and a key, within bounds."""
    del values
    pairs = shared["search"].pairs(first, last, shared["bounds"])
    nothing = np.empty((2, 0), dtype=np.int64)
    child, parent = np.concatenate([nothing, *map(np.stack, pairs)], axis=1)
    return {"child": child, "parent": parent}


def prepare_search(
    arrays: ColumnArrays,
    equal: EqualSets,
    bounds: Bounds,
    chosen: Chosen,
    source_only: SourceOnly,
) -> CandidateSearch:
    """The search for the likely pairs of some children and some keys, both flagged by `chosen`."""
    children, may_be_key = chosen
    keys = np.flatnonzero(arrays.key & may_be_key & (equal.group_of >= 0))
    # Only where it matters are the keys of one set in several sources several sets.
    by_source = source_only.flags.any()
    source = source_only.source if by_source else np.zeros(len(arrays), dtype=np.int64)
    only = np.where(source_only.flags, source, -1)
    set_and_source = source * len(equal) + equal.group_of
    sets = sorted_distinct(set_and_source[keys])
    set_of = np.full(len(arrays), -1, dtype=np.int64)
    set_of[keys] = np.searchsorted(sets, set_and_source[keys])
    key_groups = Groups.of(keys, set_of, bounds.key_kind)
    first, multiset = _multisets(arrays, equal, children, only)
    members = np.flatnonzero(multiset >= 0)
    child_groups = Groups.of(members, multiset, bounds.child_kind)
    hashes, rows, sizes = arrays.values.take(first).sampled()
    index, begin, end = _held_by(equal, sets, hashes, np.repeat(only[first], sizes))
    return CandidateSearch(
        table=arrays.tables,
        child_groups=child_groups,
        by_multiset=Groups.of(np.arange(len(child_groups)), multiset[child_groups.first]),
        key_groups=key_groups,
        by_set=Groups.of(np.arange(len(key_groups)), set_of[key_groups.first]),
        filled=arrays.filled[first],
        # Where all values are sampled, the rows found by the sample are all that are found.
        full=arrays.distinct[first] <= SAMPLE_SIZE,
        sampled_at=np.append(0, np.cumsum(sizes)),
        rows=rows,
        begin=begin,
        end=end,
        sets=index.sets,
        set_count=len(sets),
        set_table=_only_table(arrays.tables[keys], set_of[keys], len(sets)),
        multiset_table=_only_table(arrays.tables[members], multiset[members], len(first)),
        minimum=arrays.least_rows[first],
    )


def _multisets(
    arrays: ColumnArrays, equal: EqualSets, children: Flags, only: Ints
) -> tuple[Ints, Ints]:
    """The first column of each value multiset, and the multiset of each column; -1 if it is no
    child. Columns that `only` keys of different sources are compared with count as different."""
    first: list[int] = []
    number: dict[tuple[int, bytes, int], int] = {}
    multiset = np.full(len(arrays), -1, dtype=np.int64)
    filled, distinct, facts = arrays.filled, arrays.distinct, arrays.values.passes.facts
    for column in np.flatnonzero(children & (filled > 0) & (equal.group_of >= 0)).tolist():
        group, source = int(equal.group_of[column]), int(only[column])
        if filled[column] == distinct[column]:
            key = (group, b"", source)
        elif distinct[column] <= SAMPLE_SIZE:
            rows = facts.sample(int(arrays.values.numbers[column]))[1]
            key = (group, rows.tobytes(), source)
        else:  # hardly ever the same as another, and much to compare
            key = (-column - 1, b"", source)
        at = number.setdefault(key, len(first))
        if at == len(first):
            first.append(column)
        multiset[column] = at
    return np.array(first, dtype=np.int64), multiset


def _held_by(
    equal: EqualSets, sets: Ints, sampled: Hashes, only: Ints
) -> tuple[SketchIndex, Ints, Ints]:
    """Which key sets hold sampled values: where those of each value begin and end in the index.

    `only` is the source whose keys each value is compared with, -1 for all.
    """
    width = max(len(equal), 1)
    group = sets % width
    distinct = sorted_distinct(group)
    index = SketchIndex([sampled], equal.values.take(distinct))
    if not np.array_equal(group, distinct):
        index.divide(np.searchsorted(distinct, group))
    begin, end = index.posting_ranges(index.places(sampled))
    local = np.flatnonzero(only >= 0)
    if len(local):
        bounds = np.searchsorted(sets // width, [only[local], only[local] + 1])
        begin[local], end[local] = index.within(begin[local], end[local], *bounds)
    return index, begin, end


def _only_table(tables: Ints, group: Ints, count: int) -> Ints:
    """The table that all members of a group are in; -1 where they are in several."""
    least, most = np.full(count, np.iinfo(np.int64).max), np.full(count, -1, dtype=np.int64)
    np.minimum.at(least, group, tables)
    np.maximum.at(most, group, tables)
    return np.where(least == most, most, -1)


def _sums(values: Ints, bounds: Ints) -> Ints:
    """The sum of the values between each two bounds."""
    total = np.append(0, np.cumsum(values))
    sums: Ints = total[bounds[1:]] - total[bounds[:-1]]
    return sums


def _tally(pairs: Ints, weights: Ints) -> tuple[Ints, Ints, Ints]:
    """Distinct pairs, by number, in order: how often each comes, and its weight."""
    order = np.argsort(pairs, kind="stable")
    pairs, at = pairs[order], firsts(pairs[order])
    if not len(at):
        return pairs, at, at
    return pairs[at], np.diff(np.append(at, len(pairs))), np.add.reduceat(weights[order], at)


def own_source_only(arrays: ColumnArrays, common: Floats) -> SourceOnly:
    """Which columns are compared with the keys of their own source alone.

    The numbers 1 to 10 are in every other table. Where very many tables hold a column's values,
    these say nothing; where very many columns are called as it is, its name says little more. All
    pairs of such columns and keys would be as many as tables times tables, and hardly one of them a
    join: of keys that look alike the one of the same source is preferred in any case.

    `common` is ln of how many tables hold a column's values. No column is so restricted where
    sources do not count, or where there is but one.
    """
    source = Encoded.of([table.source for table in arrays.ids]).codes[arrays.table]
    everyday = (common > log(_EVERYDAY)) & (arrays.filled > 0)
    flags = np.zeros(len(arrays), dtype=np.bool_)
    if not arrays.thresholds.sources or not everyday.any() or (source == source[0]).all():
        return SourceOnly(flags, source)
    called = encode_by(core, Encoded.of(arrays.called)).codes
    flags = everyday & (np.bincount(called)[called] > _FEW_ALIKE)
    return SourceOnly(flags, source)
