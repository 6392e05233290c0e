"""Candidate foreign keys: all pairs of columns one of which may refer to the other, and why so few.

A candidate is a column (child) and a key column of another table (parent) that holds most of the
child's rows: an inclusion dependency that tolerates noise. `Thresholds` say what is a key and what
is most. Of the many such pairs that chance makes (ids 1..n are contained in ids 1..m), only those
can become edges whose names have a word in common or whose values are distinctive; the rest is
never looked at. Of those, the scoring may rule out pairs whose upper bound is too low whatever
their counts; what is left is counted exactly (`counting.py`).

An update looks for the pairs of changed columns and knows the others from before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log

import numpy as np

from dovetail.arrays import Encoded, Flags, Floats, Ints
from dovetail.joins.candidate_search import (
    Bounds,
    EqualSets,
    SourceOnly,
    group_equal_sets,
    likely_pairs,
    prepare_search,
)
from dovetail.joins.columns import ColumnArrays
from dovetail.joins.counting import count_shared
from dovetail.names.lookup import NameIndex, NameMatch
from dovetail.names.words import core

# With a greater share of columns to search for, all candidates are looked for anew.
_MOST_CHANGED = 0.1
# How much rarer a column's values may become before its pairs must be looked for again.
_SLACK = 0.05
# Tables that hold a value, on average, from which on the values of a column say nothing.
_EVERYDAY = 1_000
# Keys that a name may fit for them to be looked at wherever they are.
_FEW_KEYS = 64

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
    distinctive: Flags,
    bounds: Bounds,
    chosen: Sequence[Chosen] = (),
    source_only: SourceOnly | None = None,
) -> Candidates:
    """All candidates between two tables; `distinctive` flags columns with distinctive values.

    Pairs that are not within `bounds` are neither counted nor returned. Only pairs that one of
    `chosen` flags are looked for; all, if there are none. Nor are pairs that `source_only` does not
    allow.
    """
    groups = group_equal_sets(arrays.values)
    source_only = source_only or SourceOnly.of_none(len(arrays))
    every = (arrays.children, arrays.key)
    keys = np.flatnonzero(arrays.key)
    named = NameMatch.of(arrays.called, arrays.table, arrays.table_names, keys)
    parts = []
    for flags in chosen or [every]:
        if not (flags[0].any() and flags[1].any()):
            continue
        search = prepare_search(arrays, groups, distinctive, named, flags, source_only)
        within = bounds.of_groups(search.child_groups, search.key_groups)
        if ranges := search.ranges():
            shared = {"search": search, "bounds": within}
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
class CountedPairs:
    """The candidates that were counted: they need not be counted again as tables come.

    `rarity` is how rare each column's values were when its pairs were looked for, NaN for a column
    whose were not. A pair whose upper bound was too low then is too low now, unless values have
    become much rarer since. `searched` flags columns that were looked up in all keys there are.
    """

    candidates: Candidates
    rarity: Floats
    searched: Flags

    def renumbered(self, number: Ints, size: int) -> CountedPairs:
        """By other numbers of so many columns; those whose number is -1 are left out."""
        left = number >= 0
        rarity = np.full(size, np.nan)
        rarity[number[left]] = self.rarity[left]
        searched = np.zeros(size, dtype=np.bool_)
        searched[number[left]] = self.searched[left]
        known = self.candidates
        known = known.take(left[known.child] & left[known.parent])
        child, parent = number[known.child], number[known.parent]
        return CountedPairs(Candidates(child, parent, known.shared, known.rows), rarity, searched)


@dataclass(frozen=True, slots=True)
class Update:
    """Which columns an update looks for candidates of, and the candidates known of the others.

    `changed` columns are looked for as children and as parents, `seeking` ones as children. Bounds
    are those of values as rare as `rarity_bound`.
    """

    changed: Flags
    seeking: Flags
    known: Candidates
    rarity: Floats

    @property
    def rarity_bound(self) -> Floats:
        """How rare each column's values may become before its pairs are looked for again."""
        return self.rarity + _SLACK

    @classmethod
    def of(cls, before: CountedPairs | None, rarity: Floats, open_to_all: Flags) -> Update:
        """The update since some candidates were counted, if any were.

        `rarity` is how rare each column's values are; `open_to_all` flags the columns that are to
        be looked up in all keys.
        """
        if before is not None:
            changed = ~(rarity <= before.rarity + _SLACK)
            seeking = changed | (open_to_all & ~before.searched)
            if np.count_nonzero(seeking) <= _MOST_CHANGED * len(rarity):
                known = before.candidates
                same = ~(changed[known.parent] | seeking[known.child])
                kept = np.where(changed, rarity, before.rarity)
                return cls(changed, seeking, known.take(same), kept)
        every = np.ones(len(rarity), dtype=np.bool_)
        return cls(every, every, concatenate([]), rarity)

    def chosen(self, pairs: Sequence[Chosen]) -> list[Chosen]:
        """Of pairs of flags for children and parents, those that are to be looked for."""
        fresh = [(child & self.seeking, parent) for child, parent in pairs]
        return fresh + [(child & ~self.seeking, parent & self.changed) for child, parent in pairs]


def own_source_only(arrays: ColumnArrays, common: Floats) -> SourceOnly:
    """Which columns are compared with the keys of their own source alone.

    The numbers 1 to 10 are in every other table. Where very many tables hold a column's values,
    these say nothing; where its name fits very many keys, it says little more. All pairs of such
    columns and keys would be as many as tables times tables, and hardly one of them a join: of keys
    that look alike the one of the same source is preferred in any case.

    `common` is ln of how many tables hold a column's values. No column is so restricted where
    sources do not count, or where there is but one.
    """
    source = Encoded.of([table.source for table in arrays.ids]).codes[arrays.table]
    everyday = (common > log(_EVERYDAY)) & (arrays.filled > 0)
    flags = np.zeros(len(arrays), dtype=np.bool_)
    if not arrays.thresholds.sources or not everyday.any() or (source == source[0]).all():
        return SourceOnly(flags, source)
    columns = np.flatnonzero(everyday)
    keys = np.flatnonzero(arrays.key).tolist()
    tables = [arrays.ids[table].name for table in arrays.table[keys].tolist()]
    lookup = NameIndex.of_keys(tables, [arrays.called[key] for key in keys])
    names = Encoded.of([arrays.called[column] for column in columns.tolist()])
    fits_many = [lookup.has_more_than(core(name), _FEW_KEYS) for name in names.dictionary]
    flags[columns] = np.array(fits_many, dtype=np.bool_)[names.codes]
    return SourceOnly(flags, source)
