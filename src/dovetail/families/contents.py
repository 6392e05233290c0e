"""Tables as the search for families sees them, and what two of them share.

A table is its name taken apart, its columns by plain name, its rows and its ranges of dates. Two
tables of like columns are compared by exact counts of the distinct values that they have in common.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from dovetail.arrays import found_in
from dovetail.catalog.reader import CatalogReader
from dovetail.catalog.records import numbers
from dovetail.domain import Kind, TableId
from dovetail.domain.tables import TIMES
from dovetail.names.table_name import TableName
from dovetail.names.words import plain

# How files and SQLite write dates.
_DATE = re.compile(r"(?:19|20|21)\d\d-[01]\d-[0-3]\d")
# Dates from here on are placeholders: "valid until further notice".
_NEVER = "2100"
# A column says something if it has so many distinct values in both tables; so many are compared.
_DISTINCT, _COMPARED = 12, 5
# Shares of the smaller table's values, on average over the columns: nearly all, and enough to tell.
_NEARLY_ALL, _ENOUGH = 0.8, 0.2
# Integers that fill at least this share of their range are counted through.
_DENSE = 0.5
# Values that are looked up at a time: memory does not grow with the columns.
_BLOCK = 1 << 18
# Columns in common: of all of two tables, and of those of the narrower one.
_SIMILAR, _WITHIN = 0.7, 0.9


@dataclass(frozen=True, slots=True)
class FamilyTable:
    """A table that may be in a family.

    `index` is its number in the catalog and `first` that of its first column, numbered through all
    tables; `columns` gives the position of each column by its plain name; `times` the first and
    last value of the columns that hold dates.
    """

    id: TableId
    index: int
    first: int
    parts: TableName
    rows: int
    columns: dict[str, int]
    times: dict[str, tuple[str, str]]

    @property
    def schema(self) -> tuple[object, ...]:
        """The schema or folder that the table is in, with its source."""
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
    listed = []
    for index, table in enumerate(catalog.ids):
        start, end = bounds[index], bounds[index + 1]
        positions: dict[str, int] = {}
        for at in range(start, end):
            positions.setdefault(names[at], at - start)
        times = {
            names[at]: (low[at], high[at])
            for at in range(start, end)
            if low[at] and high[at] and _is_time(kinds[at], low[at], high[at])
        }
        parts = _with_source_marks(TableName.parse(table.name), table.source)
        listed.append(FamilyTable(table, index, start, parts, rows[index], positions, times))
    return listed


def _is_time(kind: str, low: str, high: str) -> bool:
    """Whether a column holds dates: by its kind, or as text from one date to another."""
    return kind in TIMES or (
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


def alike(one: frozenset[str], other: frozenset[str]) -> bool:
    """Whether two sets of columns are nearly equal, or one is the other with columns added.

    >>> alike(frozenset("abcd"), frozenset("abcde")), alike(frozenset("ab"), frozenset("abcde"))
    (True, False)
    """
    shared, smaller = len(one & other), min(len(one), len(other))
    return shared >= _SIMILAR * len(one | other) or (smaller > 2 and shared >= _WITHIN * smaller)


class Verdict(StrEnum):
    """What the contents of two tables say of each other."""

    SAME = "same"  # nearly all values of the smaller one are in the larger one
    OVERLAP = "overlap"
    APART = "apart"  # hardly any value is shared, or their dates do not meet
    UNKNOWN = "unknown"  # too few rows to tell


@dataclass(frozen=True, slots=True)
class Compared:
    """The verdict, and what it rests on: a column and how many of its values are shared.

    `times` is a column of dates whose ranges do not meet. `proven` says that more than numbers
    counted through were compared: those of two strangers are equal too.
    """

    verdict: Verdict
    column: str = ""
    shared: int = 0
    total: int = 0
    times: str = ""
    proven: bool = False
    share: float = 0.0


class Contents:
    """Compares the tables of a catalog by the hashes of their values."""

    def __init__(self, catalog: CatalogReader) -> None:
        columns = catalog.records.columns
        self._names: list[str] = columns["name"].to_pylist()
        self._kind: list[str] = columns["kind"].to_pylist()
        self._low: list[str] = columns["minimum"].to_pylist()
        self._high: list[str] = columns["maximum"].to_pylist()
        self._distinct: list[int] = numbers(columns["distinct"]).tolist()
        self._values = catalog.values

    def compare(self, one: FamilyTable, other: FamilyTable) -> Compared:
        """Compare two tables by the columns that have the same name in both."""
        small, large = sorted((one, other), key=lambda table: (table.rows, table.id))
        parted = next(_parted(small, large), "")
        parted = self._written(small, parted) if parted else ""
        shares: list[tuple[bool, float, int, int, str]] = []
        for name in self._worth_comparing(small, large):
            total = self._distinct[_at(small, name)]
            shared = self._shared(small, large, name)
            serial, written = self._counted_through(small, name), self._written(small, name)
            shares.append((serial, shared / total, shared, total, written))
        if not shares:
            return Compared(Verdict.APART if parted else Verdict.UNKNOWN, times=parted)
        proven = [share for share in shares if not share[0]]
        counted = proven or shares
        mean = sum(share for _, share, *_ in counted) / len(counted)
        verdict = _verdict(mean)
        key = max(counted, key=lambda share: (share[3], share[1]))
        apart = parted or self._other_keys(small, large, shares)
        if apart and verdict is not Verdict.SAME:
            verdict = Verdict.APART
        return Compared(verdict, key[4], key[2], key[3], parted, bool(proven), mean)

    def _other_keys(
        self, one: FamilyTable, other: FamilyTable, shares: list[tuple[bool, float, int, int, str]]
    ) -> bool:
        """Whether a column that is unique in both tables has no value in common.

        Then no row of one is in the other, however alike amounts and names are.
        """
        for _, _, shared, total, written in shares:
            name = plain(written)
            unique = total == one.rows and self._distinct[_at(other, name)] == other.rows
            if unique and not shared:
                return True
        return False

    def equal(self, one: FamilyTable, other: FamilyTable) -> Compared | None:
        """The comparison of two tables whose columns hold equal sets of values; else None."""
        names = self._worth_comparing(one, other)
        for name in names:
            count = self._distinct[_at(one, name)]
            if count != self._distinct[_at(other, name)] or self._shared(one, other, name) != count:
                return None
        if not names or all(self._counted_through(one, name) for name in names):
            return None
        count, name = self._distinct[_at(one, names[0])], self._written(one, names[0])
        return Compared(Verdict.SAME, name, count, count, proven=True, share=1.0)

    def distinct(self, table: FamilyTable) -> tuple[int, ...]:
        """The number of distinct values of each column, by the columns' plain names."""
        return tuple(self._distinct[_at(table, name)] for name in sorted(table.columns))

    def _shared(self, one: FamilyTable, other: FamilyTable, name: str) -> int:
        """How many distinct values a column has in common in two tables; of sketches, about."""
        columns = _at(one, name), _at(other, name)
        sets = zip(self._values.compared(*columns), columns, strict=True)
        (few, column), (many, _) = sorted(sets, key=lambda each: len(each[0]))
        blocks = (few[at : at + _BLOCK] for at in range(0, len(few), _BLOCK))
        shared = sum(int(np.count_nonzero(found_in(block, many))) for block in blocks)
        return round(shared * self._distinct[column] / max(len(few), 1))

    def _worth_comparing(self, one: FamilyTable, other: FamilyTable) -> list[str]:
        """The columns that are worth comparing, those of most distinct values first."""
        distinct = self._distinct
        sized = [
            (min(distinct[_at(one, name)], distinct[_at(other, name)]), name)
            for name in one.columns.keys() & other.columns.keys()
        ]
        enough = sorted((-size, name) for size, name in sized if size >= _DISTINCT)
        return [name for _, name in enough[:_COMPARED]]

    def _counted_through(self, table: FamilyTable, name: str) -> bool:
        at = _at(table, name)
        if self._kind[at] != Kind.INTEGER or self._low[at] is None or self._high[at] is None:
            return False
        low, high = float(self._low[at]), float(self._high[at])
        return self._distinct[at] >= _DENSE * (high - low + 1)

    def _written(self, table: FamilyTable, name: str) -> str:
        """A column's name as its table has it."""
        return self._names[_at(table, name)]


def _at(table: FamilyTable, name: str) -> int:
    """The number of a column among those of all tables."""
    return table.first + table.columns[name]


def _verdict(mean: float) -> Verdict:
    if mean >= _NEARLY_ALL:
        return Verdict.SAME
    return Verdict.OVERLAP if mean >= _ENOUGH else Verdict.APART


def _parted(one: FamilyTable, other: FamilyTable) -> Iterator[str]:
    """The columns of dates whose ranges do not meet in the two tables."""
    for name in sorted(one.times.keys() & other.times.keys()):
        (low, high), (first, last) = one.times[name], other.times[name]
        if high < first or last < low:
            yield name
