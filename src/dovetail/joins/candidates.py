"""Candidate foreign keys: all pairs of columns one of which may refer to the other, and why so few.

A candidate is a column (child) and a key column of another table (parent) that holds most of the
child's rows: an inclusion dependency that tolerates noise. `Thresholds` say what is a key and what
is most. Of the many such pairs that chance makes (ids 1..n are contained in ids 1..m), only those
can become edges whose names have a word in common or whose values are distinctive; the rest is
never looked at. Of those, the scoring may rule out pairs whose upper bound is too low whatever
their counts; what is left is counted exactly (`counting.py`).
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
    Running,
    SourceOnly,
    group_equal_sets,
    likely_pairs,
    prepare_search,
)
from dovetail.joins.columns import ColumnArrays
from dovetail.joins.counting import count_shared
from dovetail.names.lookup import NameIndex, NameMatch
from dovetail.names.words import core

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
    running: Running | None = None,
) -> Candidates:
    """All candidates between two tables; `distinctive` flags columns with distinctive values.

    Pairs that are not within `bounds` are neither counted nor returned. Only pairs that one of
    `chosen` flags are looked for; all, if there are none. Nor are pairs that `source_only` does not
    allow. Those that `running` numbers end alike are looked at whatever they are called.
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
        search = prepare_search(arrays, groups, distinctive, named, flags, source_only, running)
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
