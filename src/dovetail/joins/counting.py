"""Counts for many pairs of value sets: distinct values in common, and rows matched. They are
exact, unless the child is known by a sketch.

Pairs of a few values each are compared all at once. Of the others, children with many pairs are
counted together, as a product of matrices, and the rest pair by pair.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dovetail.arrays import Counts, Ints, found_in, sorted_distinct
from dovetail.engines.passes import Arrays
from dovetail.hashing import Hashes
from dovetail.joins.columns import ColumnValues, ValueSets
from dovetail.joins.sketches import ranges_of
from dovetail.memory import within

# What a pair costs besides its values, in values.
_EACH_PAIR = 1 << 6
# Pairs from which on a child's are counted together with those of others, and the multiplications
# that take as long as counting one pair by itself.
_BUSY, _WORTH = 32, 200_000
# Children that are counted together at most, and the numbers that their matrices may have.
_TOGETHER, _ROOM = 1024, 1 << 27
# Values up to which a set is compared value by value with another, and pairs compared at a time.
_FEW, _AT_ONCE = 8, 1 << 16


def count_shared(
    children: ValueSets, child: Ints, parents: ValueSets, parent: Ints
) -> tuple[Ints, Ints]:
    """Per pair of sets: distinct values in common, and the child's rows that hold one of those.

    Pairs come in the order of their children.
    """
    if not len(child):
        return child, child
    shared = {"child": children.numbers[child], "parent": parents.numbers[parent]}
    ranges = ranges_of(children.sizes[child], _EACH_PAIR)
    counted = children.passes.joined(count_pairs, ranges, shared)
    return counted["shared"], counted["rows"]


def count_pairs(values: ColumnValues, first: int, last: int, shared: Mapping[str, Any]) -> Arrays:
    """A pass over pairs of sets: values in common, and the child's rows that hold one of those."""
    child, parent = (shared[name][first:last].astype(np.int64) for name in ("child", "parent"))
    pairs = _Pairs(values, child, parent)
    pairs.count_small()
    pairs.count_busy()
    pairs.count_rest()
    pairs.scale(values.distinct[child], values.filled[child])
    return {"shared": pairs.shared, "rows": pairs.rows}


class _Pairs:
    """Pairs of sets, and their counts as far as they are known; `open` flags those that are not."""

    def __init__(self, values: ColumnValues, child: Ints, parent: Ints) -> None:
        children, self.child = np.unique(child, return_inverse=True)
        parents, self.parent = np.unique(parent, return_inverse=True)
        self.filled: Ints = values.filled[children]
        self.hashes: list[Hashes] = [values.hashes(number) for number in children.tolist()]
        self.counts: list[Counts] = [values.counts(number) for number in children.tolist()]
        self.sets: list[Hashes] = [values.hashes(number) for number in parents.tolist()]
        self.shared, self.rows = np.zeros((2, len(child)), dtype=np.int64)
        self.open = np.ones(len(child), dtype=np.bool_)

    def count_small(self) -> None:
        """Count the pairs of a few values each."""
        size, sizes = _lengths(self.hashes), _lengths(self.sets)
        few = (size <= _FEW)[self.child] & ((sizes <= _FEW) & (sizes > 0))[self.parent]
        children, row = np.unique(self.child[few], return_inverse=True)
        parents, column = np.unique(self.parent[few], return_inverse=True)
        # A parent is filled up with a value of its own; a child with values that no row holds.
        left, right = (np.zeros((len(each), _FEW), np.uint64) for each in (children, parents))
        times = np.zeros((len(children), _FEW), dtype=np.int64)
        for at, number in enumerate(children.tolist()):
            hashes = self.hashes[number]
            left[at, : len(hashes)], times[at, : len(hashes)] = hashes, self.counts[number]
        for at, number in enumerate(parents.tolist()):
            hashes = self.sets[number]
            right[at] = hashes[np.minimum(np.arange(_FEW), len(hashes) - 1)]
        pairs = np.flatnonzero(few)
        for at in range(0, len(pairs), _AT_ONCE):
            part = slice(at, at + _AT_ONCE)
            weight = times[row[part]]
            equal = left[row[part]][:, :, None] == right[column[part]][:, None, :]
            present = equal.any(axis=2) & (weight > 0)
            self.shared[pairs[part]] = present.sum(axis=1)
            self.rows[pairs[part]] = (weight * present).sum(axis=1)
        self.open[few] = False

    def count_busy(self) -> None:
        """Count the pairs of children that have many, where a product of matrices is worth it."""
        many = np.bincount(self.child[self.open], minlength=len(self.hashes)) >= _BUSY
        busy = np.flatnonzero(self.open & many[self.child])
        starts = np.unique(self.child[busy], return_index=True)[1]
        for batch in np.split(busy, starts[_TOGETHER::_TOGETHER]):
            if len(batch):
                self._count_by_product(batch)

    def _count_by_product(self, batch: Ints) -> None:
        """Count some pairs as a product of matrices (children x values) and (values x parents).

        Worth it where few values make many pairs: ids 1..n. Nothing is done where it is not.
        """
        children, row = np.unique(self.child[batch], return_inverse=True)
        parents, column = np.unique(self.parent[batch], return_inverse=True)
        hashes = [self.hashes[number] for number in children.tolist()]
        values = sorted_distinct(np.concatenate(hashes))
        room = (len(children) + len(parents)) * len(values)
        products = len(children) * len(parents) * len(values)
        if products > _WORTH * len(batch) or room > within(_ROOM):
            return
        inner = _incidence(hashes, values)
        holds = _incidence([self.sets[number] for number in parents.tolist()], values).T
        shared = inner @ holds
        rows = shared.astype(np.float64)
        # Where no value repeats, its rows are the values; elsewhere each weighs its rows.
        repeats = np.flatnonzero(self.filled[children] > _lengths(hashes))
        if len(repeats):
            # Counts up to 2^24 are exact in single precision, up to 2^53 in double.
            exact = np.float32 if self.filled[children].max() < 2**24 else np.float64
            weights = inner[repeats].astype(exact)
            weights[inner[repeats] > 0] = np.concatenate(
                [self.counts[number] for number in children[repeats].tolist()]
            )
            rows[repeats] = weights @ holds.astype(exact, copy=False)
        self.shared[batch], self.rows[batch] = shared[row, column], rows[row, column]
        self.open[batch] = False

    def count_rest(self) -> None:
        """Count the pairs that are left one by one."""
        for at in np.flatnonzero(self.open).tolist():
            child = int(self.child[at])
            present = found_in(self.hashes[child], self.sets[int(self.parent[at])])
            self.shared[at] = np.count_nonzero(present)
            self.rows[at] = self.counts[child][present].sum()

    def scale(self, distinct: Ints, filled: Ints) -> None:
        """Where a child is known by a sketch, scale its counts up to all of its values and rows."""
        for at in np.flatnonzero(_lengths(self.hashes)[self.child] < distinct).tolist():
            child = int(self.child[at])
            values, rows = len(self.hashes[child]), int(self.counts[child].sum())
            self.shared[at] = round(int(self.shared[at]) * int(distinct[at]) / values)
            self.rows[at] = round(int(self.rows[at]) * int(filled[at]) / rows)


def _lengths(sets: Sequence[Hashes]) -> Ints:
    return np.array([len(hashes) for hashes in sets], dtype=np.int64)


def _incidence(sets: Sequence[Hashes], values: Hashes) -> npt.NDArray[np.float32]:
    """The incidence matrix: which set (row) holds which value (column)."""
    matrix = np.zeros((len(sets), len(values)), dtype=np.float32)
    for row, hashes in enumerate(sets):
        matrix[row] = found_in(values, hashes)
    return matrix
