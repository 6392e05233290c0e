"""One table of the sample, before it is written to a file."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

Row = tuple[Any, ...]


class Kind(StrEnum):
    """What a column holds; each file format has its own type for it."""

    TEXT = "text"
    INT = "int"
    REAL = "real"
    MONEY = "money"
    BOOL = "bool"
    DATE = "date"
    TIME = "time"
    BLOB = "blob"
    JSON = "json"


@dataclass(frozen=True, slots=True)
class SampleTable:
    """A named table: column names with their kinds, and the rows in order."""

    name: str
    columns: dict[str, Kind]
    rows: tuple[Row, ...]

    def column(self, name: str) -> list[Any]:
        """The values of one column, in row order."""
        position = list(self.columns).index(name)
        return [row[position] for row in self.rows]

    def mapping(self, key: str, value: str) -> dict[Any, Any]:
        """Column `key` to column `value`; of equal keys the last row counts."""
        return dict(zip(self.column(key), self.column(value), strict=True))


Tables = dict[str, SampleTable]


def table(name: str, columns: str, rows: Iterable[Row] = ()) -> SampleTable:
    """A table whose columns are written `name kind | name kind`; a name may hold blanks."""
    split = (column.rsplit(" ", 1) for column in columns.split(" | "))
    return SampleTable(name, {column: Kind(kind) for column, kind in split}, tuple(rows))


def by_name(*tables: SampleTable) -> Tables:
    """The tables of one domain, found by their names."""
    return {each.name: each for each in tables}
