"""Tables as the search for families sees them: name parts, columns by plain name, rows."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from dovetail.catalog.reader import CatalogReader
from dovetail.catalog.records import numbers
from dovetail.domain import Kind, TableId
from dovetail.names.table_name import TableName

_TIMES = (Kind.DATE, Kind.TIMESTAMP)
# How files and SQLite write dates.
_DATE = re.compile(r"(?:19|20|21)\d\d-[01]\d-[0-3]\d")
# Dates from here on are placeholders: "valid until further notice".
_NEVER = "2100"


@dataclass(frozen=True, slots=True)
class FamilyTable:
    """A table that may be in a family.

    `place` is its number in the catalog and `first` that of its first column, numbered through all
    tables; `columns` gives the place of each column in it by its plain name; `times` the first and
    last value of the columns that hold dates.
    """

    id: TableId
    place: int
    first: int
    parts: TableName
    rows: int
    columns: dict[str, int]
    times: dict[str, tuple[str, str]]

    @property
    def home(self) -> tuple[object, ...]:
        """Where the table stands: its source, and the schema or folder in it."""
        return self.id.source, self.parts.schema

    @property
    def names(self) -> frozenset[str]:
        """The plain names of the columns."""
        return frozenset(self.columns)

    @property
    def last(self) -> str:
        """The latest date that the table holds, nothing where it holds none."""
        return max((high for _, high in self.times.values() if high < _NEVER), default="")


def family_tables(catalog: CatalogReader) -> list[FamilyTable]:
    """All tables of a catalog, in the order of their ids."""
    columns = catalog.records.columns
    names = [plain(name) for name in columns["name"].to_pylist()]
    kinds = columns["kind"].to_pylist()
    low, high = columns["minimum"].to_pylist(), columns["maximum"].to_pylist()
    rows = numbers(catalog.records.tables["rows"]).tolist()
    bounds = np.asarray(catalog.records.bounds).tolist()
    found = []
    for place, table in enumerate(catalog.ids):
        start, end = bounds[place], bounds[place + 1]
        placed: dict[str, int] = {}
        for at in range(start, end):
            placed.setdefault(names[at], at - start)
        times = {
            names[at]: (low[at], high[at])
            for at in range(start, end)
            if low[at] and high[at] and _is_time(kinds[at], low[at], high[at])
        }
        parts = _with_source_marks(TableName.parse(table.name), table.source)
        found.append(FamilyTable(table, place, start, parts, rows[place], placed, times))
    return found


def _is_time(kind: str, low: str, high: str) -> bool:
    """Whether a column holds dates: by its kind, or as text from one date to another."""
    return kind in _TIMES or (
        kind == Kind.TEXT and _DATE.match(low) is not None and _DATE.match(high) is not None
    )


def _with_source_marks(parts: TableName, source: str) -> TableName:
    """The parts of a name, marked as its source is: all of `crm_backup.sqlite` is a backup.

    Folders above it say nothing: where somebody keeps a pile is not what it is.
    """
    outer = TableName.parse(re.split(r"[/\\]", source.rstrip("/\\"))[-1])
    if not outer.marks:
        return parts
    marks = (*outer.marks, *parts.marks)
    return replace(parts, marks=marks, markers=parts.markers | outer.markers)


@lru_cache(maxsize=1 << 17)
def plain(name: str) -> str:
    """The name of a column without regard to case and signs.

    >>> plain("Customer ID "), plain("customer_id")
    ('customerid', 'customerid')
    """
    return re.sub(r"[\W_]+", "", name.casefold()) or name


def alike(one: frozenset[str], other: frozenset[str]) -> bool:
    """Whether two sets of columns are nearly equal, or one is the other with columns added.

    >>> alike(frozenset("abcd"), frozenset("abcde")), alike(frozenset("ab"), frozenset("abcde"))
    (True, False)
    """
    shared, smaller = len(one & other), min(len(one), len(other))
    return shared >= _SIMILAR * len(one | other) or (smaller > 2 and shared >= _WITHIN * smaller)


_SIMILAR, _WITHIN = 0.7, 0.9
