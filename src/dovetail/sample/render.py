"""Tables of the sample, and how they are written in the formats that sources read."""

import csv
import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import StrEnum
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec

from dovetail.domain.sql import identifier

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped,unused-ignore]

Row = tuple[Any, ...]
Arguments = ParamSpec("Arguments")


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


def rows_of(
    name: str, columns: str
) -> Callable[[Callable[Arguments, Iterable[Row]]], Callable[Arguments, SampleTable]]:
    """Make a function that draws rows one that draws the table with these columns."""

    def drawing(
        draw_rows: Callable[Arguments, Iterable[Row]],
    ) -> Callable[Arguments, SampleTable]:
        @wraps(draw_rows)
        def draw(*args: Arguments.args, **options: Arguments.kwargs) -> SampleTable:
            return table(name, columns, draw_rows(*args, **options))

        return draw

    return drawing


def by_name(*tables: SampleTable) -> Tables:
    """The tables of one domain, found by their names."""
    return {each.name: each for each in tables}


_SQL_TYPES = {
    Kind.TEXT: "VARCHAR",
    Kind.INT: "BIGINT",
    Kind.REAL: "DOUBLE",
    Kind.MONEY: "DECIMAL(12,2)",
    Kind.BOOL: "BOOLEAN",
    Kind.DATE: "DATE",
    Kind.TIME: "TIMESTAMP",
    Kind.BLOB: "BLOB",
    Kind.JSON: "JSON",
}
# SQLite names types freely; JSON stays plain text there, as most applications declare it.
_SQLITE_TYPES = {**_SQL_TYPES, Kind.TEXT: "TEXT", Kind.INT: "INTEGER", Kind.JSON: "TEXT"}


def write_sqlite(path: Path, tables: Iterable[SampleTable]) -> None:
    """A SQLite file with one table each and no declared keys."""
    path.unlink(missing_ok=True)
    with _as_os_error(path), closing(sqlite3.connect(path)) as connection, connection:
        for each in tables:
            connection.execute(_create(each, _SQLITE_TYPES))
            marks = ", ".join("?" * len(each.columns))
            connection.executemany(
                f"INSERT INTO {identifier(each.name)} VALUES ({marks})",
                ([_sqlite_value(value) for value in row] for row in each.rows),
            )


def write_duckdb(path: Path, tables: Iterable[SampleTable]) -> None:
    """A DuckDB file with one typed table each and no declared keys."""
    import duckdb

    path.unlink(missing_ok=True)
    with _as_os_error(path), duckdb.connect(path) as connection:
        for each in tables:
            connection.execute(_create(each, _SQL_TYPES))
            connection.register("drawn_rows", _arrow(each))
            connection.execute(f"INSERT INTO {identifier(each.name)} SELECT * FROM drawn_rows")
            connection.unregister("drawn_rows")


def write_csv(path: Path, table: SampleTable) -> None:
    """A delimited file with a header; tabs where the suffix says so, a null is an empty field."""
    delimiter = "\t" if path.suffix == ".tsv" else ","
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
        writer.writerow(table.columns)
        writer.writerows([_csv_value(value) for value in row] for row in table.rows)


def write_parquet(path: Path, table: SampleTable) -> None:
    """A Parquet file with the table's own types."""
    import pyarrow.parquet as pq  # type: ignore[import-untyped,unused-ignore]

    pq.write_table(_arrow(table), path)


def write_json_lines(path: Path, table: SampleTable) -> None:
    """One JSON object a line, nested values kept nested."""
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for row in table.rows:
            record = dict(zip(table.columns, row, strict=True))
            file.write(json.dumps(record, ensure_ascii=False, default=str) + "\n")


@contextmanager
def _as_os_error(path: Path) -> Iterator[None]:
    """A database that cannot be written, over a full disk above all, is an OSError like any file.

    DuckDB's error is known by its module: nothing here loads it.
    """
    try:
        yield
    except Exception as error:
        if type(error).__module__.partition(".")[0] not in ("sqlite3", "duckdb", "_duckdb"):
            raise
        raise OSError(0, str(error).splitlines()[0], str(path)) from None


def _create(table: SampleTable, types: dict[Kind, str]) -> str:
    columns = ", ".join(f"{identifier(name)} {types[kind]}" for name, kind in table.columns.items())
    return f"CREATE TABLE {identifier(table.name)} ({columns})"


def _sqlite_value(value: Any) -> Any:
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, dict | list):
        return json.dumps(value)
    return str(value) if isinstance(value, date) else value


def _csv_value(value: Any) -> Any:
    if isinstance(value, dict | list):
        return json.dumps(value)
    return str(value).lower() if isinstance(value, bool) else value


def _arrow(table: SampleTable) -> "pa.Table":
    import pyarrow as pa

    types = {
        Kind.TEXT: pa.string(),
        Kind.INT: pa.int64(),
        Kind.REAL: pa.float64(),
        Kind.MONEY: pa.decimal128(12, 2),
        Kind.BOOL: pa.bool_(),
        Kind.DATE: pa.date32(),
        Kind.TIME: pa.timestamp("us"),
        Kind.BLOB: pa.binary(),
        Kind.JSON: pa.string(),
    }
    arrays = []
    for name, kind in table.columns.items():
        values = table.column(name)
        if kind is Kind.JSON:
            values = [None if value is None else json.dumps(value) for value in values]
        arrays.append(pa.array(values, types[kind]))
    return pa.table(arrays, names=list(table.columns))
