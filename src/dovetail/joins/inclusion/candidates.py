"""Foreign key candidates: few enough pairs of columns to look at closely, none left out that count.

A candidate is a column (child) and a key column of another table (parent) that holds most of the
child's rows: an inclusion dependency that tolerates noise. `Thresholds` say what is a key and what
is most. Of the many such pairs that chance makes (ids 1..n are contained in ids 1..m), only those
can become edges whose names have a word in common or whose values are distinctive; the rest is
never looked at. Of those, the scoring may rule out pairs whose upper bound is too low whatever
their counts; what is left is counted exactly (`count_shared.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dovetail.arrays import Flags, Ints
from dovetail.joins.column_arrays import ColumnArrays
from dovetail.joins.distributed.distributed_columns import DistributedColumns
from dovetail.joins.inclusion.candidate_search import Bounds, CandidateSearch, no_bounds
from dovetail.joins.inclusion.confinement import Confinement
from dovetail.joins.inclusion.count_shared import count_shared
from dovetail.joins.inclusion.equal_sets import EqualSets, group_equal_sets
from dovetail.joins.inclusion.prepare_search import prepare_search


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


def find_candidates(
    arrays: ColumnArrays,
    distinctive: Flags,
    bounds: Bounds | None = None,
    chosen: tuple[Flags, Flags] | None = None,
    confined: Confinement | None = None,
) -> Candidates:
    """All candidates between two tables; `distinctive` flags columns with distinctive values.

    Pairs that are not within `bounds` are neither counted nor returned; without them all are
    counted. `chosen` flags the columns that may be a child, and those that may be a parent; all, if
    it is not given. Pairs that are not allowed by `confined` are not looked for.
    """
    groups = group_equal_sets(arrays)
    search = prepare_search(arrays, groups, distinctive, chosen, confined)
    bounds = (bounds or no_bounds()).of_groups(search.mine, search.theirs)
    held = arrays.value_hashes
    if isinstance(held, DistributedColumns):  # workers count all of them in one go
        child, parent = _by_workers(held, search, bounds)
        return _counted(arrays, groups, child, parent)
    ranges = search.ranges()
    parts = [_counted(arrays, groups, *pair) for r in ranges for pair in search.pairs(*r, bounds)]
    return concatenate(parts)


def _by_workers(
    held: DistributedColumns, search: CandidateSearch, bounds: Bounds
) -> tuple[Ints, Ints]:
    """All likely pairs, found by workers where these can be told the bounds, and they are many."""
    ranges = list(search.ranges())
    if bounds.shareable and len(ranges) > 1:
        return held.passes.likely_pairs(ranges, search, bounds)
    found = [pair for some in ranges for pair in search.pairs(*some, bounds)]
    child, parent = np.concatenate(
        [np.empty((2, 0), dtype=np.int64), *map(np.stack, found)], axis=1
    )
    return child, parent


def _counted(arrays: ColumnArrays, groups: EqualSets, child: Ints, parent: Ints) -> Candidates:
    """Those of some pairs whose parent holds enough of the child's rows, with exact counts."""
    outer = groups.group_of[parent]
    pairs, back = np.unique(child * len(groups) + outer, return_inverse=True)
    inner, outer = pairs // max(len(groups), 1), pairs % max(len(groups), 1)
    shared, rows = count_shared(arrays, inner, groups.value_hashes, outer)
    found = Candidates(child, parent, shared[back], rows[back])
    return found.take(found.rows >= arrays.thresholds.rows * arrays.filled[child])
