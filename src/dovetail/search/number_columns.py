"""Which columns a number in a question can be meant of: dates, years, codes, and small counts.

A number that is a cell of a key counted through, or of a measured amount, is there by chance: of
ten thousand orders one has the number 2022 in any case.
"""

from __future__ import annotations

from itertools import compress

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dovetail.catalog.reader import CatalogReader
from dovetail.catalog.records import numbers
from dovetail.names.words import words

# Names of columns that hold numbers which people say.
_SAID = frozenset(
    """year yr season edition code zip postcode postal version grade class level age model number
    no nr phone floor room""".split()  # noqa: SIM905 - words read best as text
)
# Whole numbers that fill this share of their range, and are so many, are counted through.
_DENSE, _MANY = 0.5, 50


class NumberColumns:
    """Tells of the columns of a catalog, numbered through its tables, what a number means there."""

    def __init__(self, catalog: CatalogReader) -> None:
        self._columns = catalog.records.columns

    def meant(self, column: int) -> bool:
        """Whether a number that stands in a column can be what a question means by it."""
        kind = self._columns["kind"][column].as_py()
        if kind in ("text", "date", "timestamp"):
            return True
        if _SAID & set(words(self._columns["name"][column].as_py())):
            return not self.counted_through(column)
        return bool(kind == "integer" and self._columns["distinct"][column].as_py() < _MANY)

    def counted_through(self, column: int) -> bool:
        """Whether a column holds a key that counts rows, whatever the numbers are."""
        if self._columns["kind"][column].as_py() != "integer":
            return False
        distinct = self._columns["distinct"][column].as_py()
        low, high = (float(self._columns[name][column].as_py()) for name in ("minimum", "maximum"))
        return bool(distinct >= max(_MANY, _DENSE * (high - low + 1)) and self._unique(column))

    def not_counted_through(self, columns: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Those of some columns that hold no such key."""
        held = numbers(self._columns["distinct"])[columns]
        many = np.flatnonzero(held >= _MANY)
        if not len(many):
            return columns
        names = ["kind", "unique", "minimum", "maximum"]
        found = self._columns.select(names).take(_arrow(columns[many]))
        kinds, *facts = (found[name].to_pylist() for name in names)
        whole = [kind == "integer" and unique for kind, unique in zip(kinds, facts[0], strict=True)]
        many = many[np.flatnonzero(np.array(whole, dtype=np.bool_))]
        low, high = (np.array(list(compress(each, whole)), np.float64) for each in facts[1:])
        counted = many[held[many] >= _DENSE * (high - low + 1)]
        return np.delete(columns, counted)

    def _unique(self, column: int) -> bool:
        return bool(self._columns["unique"][column].as_py())


def _arrow(places: npt.NDArray[np.int64]) -> pa.Array:
    """Places as Arrow takes them; its own conversion loads pandas where that is installed."""
    return pa.Array.from_buffers(pa.int64(), len(places), [None, pa.py_buffer(places)])
