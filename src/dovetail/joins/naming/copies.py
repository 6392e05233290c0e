"""Copies by name: backups, staging tables and versions, which nobody refers to.

A staging table holds the same ids as the table it feeds, so values cannot tell which of the two a
column refers to. Their names can.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

import numpy as np

from dovetail.arrays import Encoded, Floats, Ints, once
from dovetail.joins.column_arrays import ColumnArrays
from dovetail.joins.naming.markers import COPY_WORDS
from dovetail.joins.naming.name_words import unqualified

_PART = re.compile(r"[^\W\d_]+|\d+")
_VERSION = re.compile(r"(?<![^\W_])v\d+(?![^\W_])")
# Digits that make a year or a date: events_2023, orders_20240101.
_DATED = 4


@cache
def copy_marks(table: str) -> frozenset[str]:
    """What in a table's name says that it is a copy, a version or a part of another.

    >>> [sorted(copy_marks(name)) for name in ("orders", "crm.stg_orders", "orders_v2", "log_2024")]
    [[], ['stg'], ['v2'], ['2024']]
    """
    name = unqualified(table).casefold()
    parts = _PART.findall(name)
    found = {part for part in parts if part in COPY_WORDS}
    found |= {part for part in parts if part.isdigit() and len(part) >= _DATED}
    found |= set(_VERSION.findall(name))
    # A table whose name says nothing else is no copy: there is nothing that it is one of.
    return frozenset(found) if len(found) < len(parts) else frozenset()


@dataclass(frozen=True, slots=True)
class Copies:
    """Tells for many pairs of tables whether one is a copy and the other is not of its kind.

    `codes` numbers the marks of each table's name together; each row of `marks` lists those of one
    such number, filled up with -1.
    """

    codes: Ints
    marks: Ints

    @classmethod
    def of(cls, arrays: ColumnArrays) -> Copies:
        """The marks in the names of all tables."""
        every = Encoded.of([copy_marks(table.name) for table in arrays.ids])
        number = {mark: at for at, mark in enumerate(sorted(set().union(*every.dictionary)))}
        marks = np.full((len(every.dictionary), max(map(len, every.dictionary), default=0)), -1)
        for row, some in enumerate(every.dictionary):
            marks[row, : len(some)] = [number[mark] for mark in some]
        return cls(every.codes, marks)

    def among(self, child: Ints, parent: Ints) -> Floats:
        """1 where the parent's table is marked as a copy and the child's has not the same marks.

        The tables of one staging area refer to each other, and so do those of one backup.
        """
        found = np.zeros(len(child))
        marked = np.any(self.marks >= 0, axis=1)
        copies = np.flatnonzero(marked[self.codes[parent]])
        codes, count = self.codes, len(self.marks)
        pairs = (codes[child[copies]], count), (codes[parent[copies]], count)
        found[copies] = once(self._apart, *pairs)
        return found

    def _apart(self, mine: Ints, theirs: Ints) -> Floats:
        """1 where some mark of the second is none of the first's."""
        found = np.zeros(len(mine), dtype=np.bool_)
        for mark in self.marks.T:
            wanted = mark[theirs]
            found |= (wanted >= 0) & (self.marks[mine] != wanted[:, None]).all(axis=1)
        return found.astype(np.float64)
