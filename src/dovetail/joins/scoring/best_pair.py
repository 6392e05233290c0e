"""The best pair of columns of every two tables, kept while pairs of columns stream by."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dovetail.arrays import Floats, Ints, firsts
from dovetail.joins.column_arrays import ColumnArrays

# Pairs of tables up to which each has a place in an array, of 16 bytes.
_DENSE = 1 << 25

Packed = npt.NDArray[np.uint64]


class BestPairs:
    """Keeps the best pair of columns of every two tables; ties go to the first columns."""

    def __init__(self, arrays: ColumnArrays) -> None:
        self._arrays = arrays
        self._tables = len(arrays.ids)
        self._dense = _Slots(self._tables**2) if self._tables**2 <= _DENSE else None
        self._blocks: list[tuple[Ints, Floats, Packed]] = []

    def add(self, left: Ints, right: Ints, score: Floats) -> None:
        """Take note of some pairs of columns."""
        one, other = self._arrays.table[left], self._arrays.table[right]
        pair = np.minimum(one, other) * self._tables + np.maximum(one, other)
        if self._dense is not None:
            self._dense.add(pair, left, right, score)
            return
        pairs, slot = np.unique(pair, return_inverse=True)
        mine = _Slots(len(pairs))
        mine.add(slot, left, right, score)
        self._blocks.append((pairs, mine.score, mine.columns))

    def found(self) -> tuple[Ints, Ints, Floats]:
        """The best pairs and their scores, in the order of their tables.

        Of equal sets either may be the inner one: a column that is not unique beside one that is,
        else the first.
        """
        if self._dense is not None:
            there = np.flatnonzero(self._dense.score > -np.inf)
            score, columns = self._dense.score[there], self._dense.columns[there]
        else:
            nothing = (np.empty(0, np.int64), np.empty(0, np.float64), np.empty(0, np.uint64))
            parts = zip(nothing, *self._blocks, strict=True)
            pair, score, columns = (np.concatenate(part) for part in parts)
            order = np.lexsort((columns, -score, pair))
            order = order[firsts(pair[order])]
            score, columns = score[order], columns[order]
        low = (columns >> np.uint64(32)).astype(np.int64)
        high = (columns & np.uint64(0xFFFFFFFF)).astype(np.int64)
        distinct, unique = self._arrays.distinct, self._arrays.unique
        larger = distinct[low] > distinct[high]
        same = distinct[low] == distinct[high]
        turned = larger | (same & unique[low] & ~unique[high])
        return np.where(turned, high, low), np.where(turned, low, high), score


class _Slots:
    """For each slot the best score so far, and the first pair of columns that has it."""

    def __init__(self, size: int) -> None:
        self.score = np.full(size, -np.inf)
        self.columns = np.zeros(size, dtype=np.uint64)

    def add(self, slot: Ints, left: Ints, right: Ints, score: Floats) -> None:
        before = self.score[slot]
        able = np.flatnonzero(score >= before)
        slot, score, before = slot[able], score[able], before[able]
        np.maximum.at(self.score, slot, score)
        best = self.score[slot]
        self.columns[slot[best > before]] = np.iinfo(np.uint64).max
        tied = np.flatnonzero(score == best)
        one, other = left[able[tied]], right[able[tied]]
        packed = (np.minimum(one, other) << 32 | np.maximum(one, other)).astype(np.uint64)
        np.minimum.at(self.columns, slot[tied], packed)
