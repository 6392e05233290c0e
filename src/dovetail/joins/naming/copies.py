"""Copies by name: backups, staging tables and versions, which nobody refers to.

A staging table holds the same ids as the table it feeds, so values cannot tell which of the two a
column refers to. Their names can.
"""

from __future__ import annotations

import re
from functools import cache

import numpy as np

from dovetail.joins.column_arrays import ColumnArrays, Floats, Ints
from dovetail.joins.encoding import Encoded, once
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


class Copies:
    """Tells for many pairs of tables whether one is a copy and the other is not of its kind."""

    def __init__(self, arrays: ColumnArrays) -> None:
        self._marks = Encoded.of([copy_marks(table.name) for table in arrays.ids])
        marked = np.array([bool(marks) for marks in self._marks.dictionary], dtype=np.bool_)
        self._marked = marked[self._marks.codes]

    def among(self, child: Ints, parent: Ints) -> Floats:
        """1 where the parent's table is marked as a copy and the child's has not the same marks.

        The tables of one staging area refer to each other, and so do those of one backup.
        """
        found = np.zeros(len(child))
        copies = np.flatnonzero(self._marked[parent])
        codes, count = self._marks.codes, len(self._marks.dictionary)
        pairs = (codes[child[copies]], count), (codes[parent[copies]], count)
        found[copies] = once(self._apart, *pairs)
        return found

    def _apart(self, mine: Ints, theirs: Ints) -> Floats:
        marks = self._marks.dictionary
        pairs = zip(mine.tolist(), theirs.tolist(), strict=True)
        return np.array([not marks[b] <= marks[a] for a, b in pairs], dtype=np.float64)
