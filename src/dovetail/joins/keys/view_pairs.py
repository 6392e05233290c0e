"""Pairs of columns that may join through a transform, kept from one time to the next.

Whether names and values may speak for a pair, however rare the values be, depends on its two
columns alone. So only the pairs of fresh columns are looked for: the others are known.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from dovetail.arrays import Flags, Floats, Ints, found_in, sorted_distinct, spans
from dovetail.hashing import Hashes
from dovetail.joins.keys.view_holders import ViewHolders
from dovetail.joins.keys.views import FAMILIES, FamilyViews, Views
from dovetail.joins.scoring.value_information import value_sparsity
from dovetail.joins.scoring.weights import Weights
from dovetail.joins.value_index.postings import Postings
from dovetail.joins.value_index.row_sample import sample_places

# Twice what values of numbers must say by their sparsity: less is a plain sequence of numbers.
LEAST_SPARSE = 0.25

_NOTHING = np.empty(0, dtype=np.int64)
_STORED = ("family", "child", "parent", "looked", "complete")


@dataclass(frozen=True, slots=True)
class ViewPairs:
    """Likely pairs of columns by the number of their family, sorted.

    `looked` flags, in a row for each family, the columns whose keys were looked for; `complete`
    flags families all of whose pairs are here.
    """

    family: Ints
    child: Ints
    parent: Ints
    looked: Flags
    complete: Flags

    @classmethod
    def none(cls, columns: int) -> ViewPairs:
        """No pairs of so many columns; there are none as long as there are no views."""
        looked = np.ones((len(FAMILIES), columns), dtype=np.bool_)
        return cls(_NOTHING, _NOTHING, _NOTHING, looked, np.ones(len(FAMILIES), dtype=np.bool_))

    def of_family(self, family: int) -> tuple[Ints, Ints]:
        """The pairs of one family."""
        mine = self.family == family
        return self.child[mine], self.parent[mine]

    def replaced(self, family: int, pairs: tuple[Ints, Ints] | None, looked: Flags) -> ViewPairs:
        """With other pairs of one family; None if there are too many to be kept."""
        child, parent = pairs or (_NOTHING, _NOTHING)
        rest = self.family != family
        flags, complete = self.looked.copy(), self.complete.copy()
        flags[family], complete[family] = looked, pairs is not None
        return ViewPairs(
            np.append(self.family[rest], np.full(len(child), family)),
            np.append(self.child[rest], child),
            np.append(self.parent[rest], parent),
            flags,
            complete,
        )

    def renumbered(self, number: Ints, size: int) -> ViewPairs:
        """The pairs of columns that are still there, given each one's number now, or -1."""
        there = number >= 0
        left = there[self.child] & there[self.parent]
        looked = np.zeros((len(FAMILIES), size), dtype=np.bool_)
        looked[:, number[there]] = self.looked[:, there]
        child, parent = number[self.child[left]], number[self.parent[left]]
        return ViewPairs(self.family[left], child, parent, looked, self.complete)

    def arrays(self) -> dict[str, Any]:
        """What is to be stored, by name."""
        return {f"view_{name}": getattr(self, name) for name in _STORED}

    @classmethod
    def stored(cls, arrays: Any) -> ViewPairs:
        """The pairs in stored arrays; KeyError where there are none."""
        return cls(*(arrays[f"view_{name}"] for name in _STORED))


def may_be_parents(views: Views, weights: Weights) -> Flags:
    """Keys, but for plain sequences of numbers.

    Numbers 1..n behind a prefix, or padded, are in every other sequence of numbers; values say at
    most twice what their sparsity says.
    """
    arrays = views.arrays
    return arrays.key & not_dense(2 * value_sparsity(arrays, weights), arrays.number)


def not_dense(value: Floats, number: Flags) -> Flags:
    """Whether values are no plain sequence of numbers, by what they say."""
    found: Flags = (value >= LEAST_SPARSE) | ~number
    return found


class FreshPairs:
    """Finds the likely pairs of fresh columns with all others, under one family."""

    def __init__(
        self, family: FamilyViews, holders: ViewHolders, postings: Postings, weights: Weights
    ) -> None:
        self._family, self._holders, self._postings = family, holders, postings
        columns = np.flatnonzero((family.own >= 0) | family.as_is)
        views = family.of(columns, lazy=True)
        self._arrays = family.arrays
        size = len(family.arrays)
        self._child, self._parent = np.zeros((2, size), dtype=np.bool_)
        self._child[columns] = views.arrays.filled > 0
        self._parent[columns] = may_be_parents(views, weights) & (views.arrays.distinct > 0)
        self._changed: Flags = family.own >= 0
        self._sets = family.sets
        self._samples: dict[int, tuple[Hashes, Ints]] = {}

    def find(self, fresh: Flags, seeking: Flags, children: Flags) -> tuple[Ints, Ints]:
        """Columns with the keys that likely hold them, under the transforms, both in order.

        `fresh` flags columns all of whose pairs are looked for, `seeking` those that look for any
        key, and `children` the others for which fresh keys are looked at.
        """
        seekers = np.flatnonzero(seeking & self._child).tolist()
        keys = np.flatnonzero(fresh & self._parent).tolist()
        held = [self._sample(column)[0] for column in seekers] + [self._values(k) for k in keys]
        wanted = sorted_distinct(np.concatenate([np.empty(0, dtype=np.uint64), *held]))
        matches = _Matches(wanted, *self._holders.holding(wanted))
        pairs = [(_NOTHING, _NOTHING)]
        pairs += [self._keys_of(column, matches) for column in seekers]
        for key in keys:
            pairs += self._children_of(key, matches, children & ~seeking & self._child)
        child, parent = (np.concatenate(part) for part in zip(*pairs, strict=True))
        apart = self._arrays.table[child] != self._arrays.table[parent]
        apart &= self._changed[child] | self._changed[parent]
        return child[apart], parent[apart]

    def _keys_of(self, column: int, matches: _Matches) -> tuple[Ints, Ints]:
        """A column with the keys that hold half of its sampled values, or of their rows."""
        values, rows = self._sample(column)
        likely = self._changed & _half(*matches.tally(values, rows, len(self._arrays)), rows)
        if self._changed[column]:  # one of two must have a view
            likely |= self._family.as_is & _half(*self._postings.tally(values, rows), rows)
        keys = np.flatnonzero(likely & self._parent)
        return np.full(len(keys), column), keys

    def _children_of(
        self, key: int, matches: _Matches, children: Flags
    ) -> Iterator[tuple[Ints, Ints]]:
        """Columns of which a key holds half of the sampled values, or of their rows."""
        values = self._values(key)
        near = matches.columns(values)
        found = [
            column for column in near[children[near]].tolist() if self._mostly_in(column, values)
        ]
        yield np.array(found, dtype=np.int64), np.full(len(found), key)
        if self._changed[key]:
            by_value, by_rows = self._postings.sampled_among(values)
            size, rows = self._postings.sample_sizes
            likely = (2 * by_value >= size) | (2 * by_rows >= rows)
            more = np.flatnonzero(likely & self._family.as_is & children)
            yield more, np.full(len(more), key)

    def _mostly_in(self, column: int, values: Hashes) -> bool:
        mine, rows = self._sample(column)
        held = found_in(mine, values)
        return bool(2 * np.count_nonzero(held) >= len(mine) or 2 * rows[held].sum() >= rows.sum())

    def _values(self, column: int) -> Hashes:
        return self._family.viewed.value_hashes[int(self._sets[column])]

    def _sample(self, column: int) -> tuple[Hashes, Ints]:
        """The sampled values of a column, sorted, and the rows that hold each."""
        if column not in self._samples:
            hashes = self._values(column)
            counts = self._family.viewed.counts[int(self._sets[column])]
            places = sample_places(hashes, counts)
            self._samples[column] = hashes[places], counts[places].astype(np.int64)
        return self._samples[column]


@dataclass(frozen=True, slots=True)
class _Matches:
    """Sorted `values`, and the columns whose views hold them: places in order, beside columns."""

    values: Hashes
    place: Ints
    column: Ints

    def _spans(self, some: Hashes) -> tuple[Ints, Ints]:
        at = np.searchsorted(self.values, some)
        starts, ends = (np.searchsorted(self.place, at, side) for side in ("left", "right"))
        return starts, ends

    def tally(self, some: Hashes, rows: Ints, size: int) -> tuple[Ints, Ints]:
        """Per column, how many of some of the values its view holds, and the rows beside those."""
        starts, ends = self._spans(some)
        columns = self.column[spans(starts, ends)]
        by_rows = np.bincount(columns, np.repeat(rows, ends - starts), minlength=size)
        return np.bincount(columns, minlength=size), by_rows.astype(np.int64)

    def columns(self, some: Hashes) -> Ints:
        """The columns whose views hold any of some of the values, in order."""
        return sorted_distinct(self.column[spans(*self._spans(some))])


def _half(by_value: Ints, by_rows: Ints, rows: Ints) -> Flags:
    """Where half of some sampled values are held, or half of the rows beside them."""
    found: Flags = (2 * by_value >= len(rows)) | (2 * by_rows >= rows.sum())
    return found & (by_value > 0)
