"""Composite keys of tables of few rows, for all combinations of columns at once.

Nearly any two columns tell five rows apart, and hardly any other table holds the same pairs: of the
hundreds of combinations between two tables few are left to be looked at one by one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dovetail.arrays import Flags, Ints
from dovetail.hashing import Hashes
from dovetail.joins.row_hashes import RowHashes, mixed_in

# Rows up to which combinations are compared together, row by row.
FEW_ROWS = 16
# By how much a share may be off.
_ROUNDING = 1e-9
# Stands for a row that is not complete.
_INCOMPLETE = np.uint64(2**64 - 1)


@dataclass(frozen=True, slots=True)
class Combined:
    """A hash per row (across) for each combination of columns (down), and which are complete."""

    hashes: RowHashes
    complete: Flags

    @classmethod
    def of(cls, rows: RowHashes, combinations: Ints) -> Combined:
        """Combine columns, which are the rows of a matrix, by their places there."""
        hashes = np.zeros((len(combinations), rows.shape[1]), dtype=np.uint64)
        complete = np.ones(hashes.shape, dtype=np.bool_)
        for places in combinations.T:
            column = rows[places]
            mixed_in(hashes, column)
            complete &= column != 0
        return cls(hashes, complete)

    def take(self, chosen: Flags) -> Combined:
        """Some of the combinations."""
        return Combined(self.hashes[chosen], self.complete[chosen])

    def may_be_keys(self) -> Flags:
        """Which combinations have a complete row, and no two of them alike."""
        ordered = np.where(self.complete, self.hashes, _INCOMPLETE)
        ordered.sort(axis=1)
        twice = (ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] != _INCOMPLETE)
        found: Flags = self.complete.any(axis=1) & ~twice.any(axis=1)
        return found

    def found_in(self, keys: Combined, least: float) -> Flags:
        """Which combinations have at least a share of their complete rows among those of a key."""
        held = np.zeros(self.hashes.shape, dtype=np.bool_)
        for row in _columns(keys):
            held |= self.hashes == row[:, None]
        whole = np.count_nonzero(self.complete, axis=1)
        rows = np.count_nonzero(held & self.complete, axis=1)
        found: Flags = (whole > 0) & (rows >= (least - _ROUNDING) * whole)
        return found


def _columns(keys: Combined) -> Iterator[Hashes]:
    """The rows of each key in turn; what is not complete equals no other."""
    for row, complete in zip(keys.hashes.T, keys.complete.T, strict=True):
        yield np.where(complete, row, _INCOMPLETE)
