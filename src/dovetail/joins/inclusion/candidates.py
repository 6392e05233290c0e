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
from itertools import product

import numpy as np

from dovetail.joins.column_arrays import ColumnArrays, Flags, Ints, found_in, spans
from dovetail.joins.inclusion.bottom_k import SketchIndex
from dovetail.joins.inclusion.count_shared import count_shared
from dovetail.joins.inclusion.equal_sets import group_equal_sets
from dovetail.joins.naming.name_lookup import NameLookup
from dovetail.joins.value_index.row_sample import sample_places

# Likely pairs that are looked at together.
_BLOCK = 1 << 21


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


# Says of many pairs (child, parent) whether the upper bound of their score is high enough.
BoundCheck = Callable[[Ints, Ints], Flags]


def find_candidates(
    arrays: ColumnArrays, distinctive: Flags, within_bound: BoundCheck | None = None
) -> Candidates:
    """All candidates between two tables; `distinctive` flags columns with distinctive values.

    Pairs that are not `within_bound` are neither counted nor returned; without it all are counted.
    """
    search = _CandidateSearch(arrays, distinctive)
    found = []
    for child, parent in _blocks(search):
        able = within_bound(child, parent) if within_bound else np.ones(len(child), dtype=np.bool_)
        chosen = np.flatnonzero(able)
        found.append(search.counted(child[chosen], parent[chosen]))
    return concatenate(found)


def candidates_between(arrays: ColumnArrays, one: int, other: int) -> Candidates:
    """All candidates between two tables, whatever their names and values say."""
    mine = {table: np.flatnonzero(arrays.table == table).tolist() for table in (one, other)}
    found = []
    for left, right in ((one, other), (other, one)):
        for child, parent in product(mine[left], mine[right]):
            if arrays.key[parent] and arrays.filled[child]:
                held = found_in(arrays.value_hashes[child], arrays.value_hashes[parent])
                rows = int(arrays.counts[child][held].sum())
                if rows >= arrays.thresholds.rows * arrays.filled[child]:
                    found.append((child, parent, int(np.count_nonzero(held)), rows))
    return Candidates(*np.array(found, dtype=np.int64).reshape(-1, 4).T)


def _blocks(search: _CandidateSearch) -> Iterator[tuple[Ints, Ints]]:
    """Likely pairs, many children at a time."""
    children: list[int] = []
    parents: list[Ints] = []
    waiting = 0
    for child in search.children.tolist():
        keys = search.parents(child)
        if len(keys):
            children.append(child)
            parents.append(keys)
            waiting += len(keys)
        if waiting >= _BLOCK:
            yield _pairs(children, parents)
            children, parents, waiting = [], [], 0
    if children:
        yield _pairs(children, parents)


def _pairs(children: Sequence[int], parents: Sequence[Ints]) -> tuple[Ints, Ints]:
    lengths = [len(keys) for keys in parents]
    return np.repeat(np.array(children, dtype=np.int64), lengths), np.concatenate(parents)


class _CandidateSearch:
    """Looks up the parents of one column after the other, and counts many pairs at once."""

    def __init__(self, arrays: ColumnArrays, distinctive: Flags) -> None:
        self._arrays = arrays
        self._distinctive = distinctive
        self._groups = group_equal_sets(arrays)
        self.children = np.flatnonzero(arrays.filled > 0)
        keys = np.flatnonzero(arrays.key & (self._groups.group_of >= 0))
        self._lookup = NameLookup(arrays, keys)
        # Groups of equal sets that hold some key, numbered anew, and the keys of each.
        groups = np.unique(self._groups.group_of[keys])
        self._keys = keys[np.argsort(self._groups.group_of[keys], kind="stable")]
        self._starts = np.searchsorted(
            self._groups.group_of[self._keys], np.append(groups, len(self._groups))
        )
        self._samples = [
            hashes[sample_places(hashes, counts)]
            for hashes, counts in zip(arrays.value_hashes, arrays.counts, strict=True)
        ]
        self._index = SketchIndex(
            self._samples, [self._groups.value_hashes[group] for group in groups.tolist()]
        )

    def parents(self, child: int) -> Ints:
        """The keys of other tables, by name or distinctive, that likely hold the child's rows."""
        likely = self._likely_groups(child)
        keys: Ints = self._keys[spans(self._starts[likely], self._starts[likely + 1])]
        keys = keys[self._arrays.table[keys] != self._arrays.table[child]]
        if not len(keys):
            return keys
        chosen = found_in(keys, self._lookup.keys_named_by(self._arrays.name[child]))
        if self._distinctive[child]:
            chosen |= self._distinctive[keys]
        return np.sort(keys[chosen])

    def _likely_groups(self, child: int) -> Ints:
        """The groups of keys that hold half of the child's sampled values, or of their rows.

        By rows, since many values of one row each may be orphans; by values, since one of many
        rows may be.
        """
        sample = self._samples[child]
        starts, ends = self._index.posting_ranges(self._index.places(sample))
        groups = self._index.sets[spans(starts, ends)]
        if not len(groups):
            return np.empty(0, dtype=np.int64)
        rows = self._arrays.counts[child][found_in(self._arrays.value_hashes[child], sample)]
        by_value = np.bincount(groups)
        by_rows = np.bincount(groups, np.repeat(rows, ends - starts))
        return np.flatnonzero((2 * by_value >= len(sample)) | (2 * by_rows >= rows.sum()))

    def counted(self, child: Ints, parent: Ints) -> Candidates:
        """Those of some pairs whose parent holds enough of the child's rows, with exact counts."""
        groups = len(self._groups)
        outer = self._groups.group_of[parent]
        pairs, back = np.unique(child * groups + outer, return_inverse=True)
        inner, outer = pairs // groups, pairs % groups
        shared, rows = count_shared(self._arrays, inner, self._groups.value_hashes, outer)
        found = Candidates(child, parent, shared[back], rows[back])
        return found.take(found.rows >= self._arrays.thresholds.rows * self._arrays.filled[child])
