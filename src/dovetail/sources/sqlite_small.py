"""Small SQLite tables, read on one connection that stays open.

DuckDB opens SQLite anew for every scan, which parses the schema of all tables: with thousands of
them that takes longer than reading. So a table of few cells is read by Python's SQLite and given
out with the types that DuckDB has for its declared ones. Values that DuckDB's reader converts
(times, real numbers as text) it still converts: they are copied into a file of that one table.
Whatever cannot be read here in exactly the same way is left to DuckDB.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from functools import cached_property
from itertools import count
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote

import duckdb
import pyarrow as pa

from dovetail.errors import SourceError
from dovetail.ports import Scan, ScannedColumn
from dovetail.sources import duck

# A table with more cells or bytes than this is left to DuckDB, whose cost per cell is lower.
_MOST_CELLS, _MOST_BYTES = 1 << 15, 1 << 22
_ROWS_AT_ONCE = 256
# Names of the row's number, unless a column bears them.
_ROW_NUMBER = {"rowid", "_rowid_", "oid"}
_NOTHING = type(None)
# By DuckDB's type: the Arrow type it streams as, and what Python's SQLite may give for its values.
# Text comes as a bytearray, which tells it from a blob, and need not be valid UTF-8.
_PLAIN: dict[str, tuple[pa.DataType, set[type]]] = {
    "BIGINT": (pa.int64(), {int, _NOTHING}),
    "DOUBLE": (pa.float64(), {int, float, _NOTHING}),
    "VARCHAR": (pa.large_string(), {bytearray, _NOTHING}),
    "BLOB": (pa.large_binary(), {bytes, bytearray, _NOTHING}),
    "DATE": (pa.date32(), {_NOTHING}),
    "TIMESTAMP": (pa.timestamp("us"), {_NOTHING}),
}
# Types whose reader takes no value of another: a table that holds one is read as text.
_STRICT = {"BIGINT", "DOUBLE", "VARCHAR"}
_AS_TEXT = {int, bytes, bytearray, _NOTHING}

_BYTES = {bytes, bytearray}

# What DuckDB says of a value that does not fit, and Python of a message that quotes its bytes: the
# table is then read as text.
NOT_AS_DECLARED = (
    duckdb.TypeMismatchException,
    duckdb.ConversionException,
    duckdb.InvalidInputException,
    duckdb.NotImplementedException,
    UnicodeDecodeError,
)

Values = Sequence[Any]
# DuckDB's types by declared ones, as far as they were asked for.
_types: dict[str, str] = {}
# Names and declared types.
Columns = list[tuple[str, str]]


class SmallTables:
    """The small tables of the SQLite file that `uri` opens."""

    def __init__(self, uri: str) -> None:
        self._uri = uri
        self._connection = sqlite3.connect(uri, uri=True, check_same_thread=False)
        self._connection.isolation_level = None
        self._copies: _Copies | None = None

    def ask(self, sql: str, *values: str) -> list[tuple[Any, ...]]:
        """Rows of a query about the file; raises sqlite3.Error."""
        return self._connection.execute(sql, values).fetchall()

    def scan(self, table: str, *, as_text: bool) -> Scan | None:
        """The whole table; None if it is not small, or not to be read here.

        It is read as text if that is asked for, or if a type or a value calls for it.
        """
        try:
            if table not in self._stored:
                return None
            listed = self.ask("SELECT name, type, hidden FROM pragma_table_xinfo(?)", table)
            if not listed or any(name.lower() in _ROW_NUMBER for name, *_ in listed):
                return None
            columns = [(name, declared) for name, declared, hidden in listed if not hidden]
            rows = self._rows(table, [name for name, _ in columns])
            if rows is None:
                return None
            as_text = as_text or any(not declared for _, declared, _ in listed)
            return self._scanned(table, columns, rows, as_text=as_text)
        except (sqlite3.Error, OSError, UnicodeError, SourceError, *duck.ENGINE_ERRORS):
            return None

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()
        if self._copies is not None:
            self._copies.close()

    @cached_property
    def _stored(self) -> set[str]:
        """The tables that are stored in the file: no views, and nothing that a module provides."""
        rows = self.ask("SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0")
        return {name for (name,) in rows}

    def _rows(self, table: str, names: list[str]) -> list[Values] | None:
        """All rows by their number, which is how DuckDB reads them; None if they are many."""
        columns = ", ".join(map(duck.identifier, names))
        sql = f"SELECT {columns} FROM {duck.identifier(table)} ORDER BY rowid"
        rows: list[Values] = []
        size = 0
        self._connection.text_factory = bytearray
        try:
            with closing(self._connection.execute(sql)) as cursor:
                while piece := cursor.fetchmany(_ROWS_AT_ONCE):
                    rows += piece
                    size += sum(len(cell) for row in piece for cell in row if type(cell) in _BYTES)
                    if len(rows) * len(names) > _MOST_CELLS or size > _MOST_BYTES:
                        return None
        finally:
            self._connection.text_factory = str
        return rows

    def _scanned(
        self, table: str, columns: Columns, rows: list[Values], *, as_text: bool
    ) -> Scan | None:
        copies = self._copies = self._copies or _Copies(self._uri)
        types = copies.types([declared for _, declared in columns])
        values: list[Values] = list(zip(*rows, strict=True)) if rows else [()] * len(columns)
        kinds = [set(map(type, column)) for column in values]
        if not as_text:
            as_text = any(
                kind in _STRICT and not types_held <= _PLAIN[kind][1]
                for kind, types_held in zip(types, kinds, strict=True)
            )
        if as_text:
            types = ["VARCHAR"] * len(columns)
        batch = _batch(types, values, kinds, as_text=as_text)
        if batch is None:
            try:
                batch = copies.read(table, columns, as_text=as_text)
            except NOT_AS_DECLARED:
                return None if as_text else self._scanned(table, columns, rows, as_text=True)
        if batch is None:
            return None
        named = zip(columns, types, strict=True)
        scanned = tuple(ScannedColumn(name, kind, as_text) for (name, _), kind in named)
        return Scan(scanned, iter([batch] if batch.num_rows else []))


class _Copies:
    """A SQLite file of ours, with one table at a time, for DuckDB to read."""

    def __init__(self, uri: str) -> None:
        self._uri = uri
        self._folder = TemporaryDirectory(prefix="dovetail-")
        self._path = os.path.join(self._folder.name, "copy.db")
        self._connection = sqlite3.connect(f"file:{quote(self._path)}", uri=True)
        self._connection.isolation_level = None
        self._connection.execute("PRAGMA journal_mode = OFF")
        self._connection.execute("PRAGMA synchronous = OFF")
        self._numbers = count(1)
        self._alias = ""
        self._sees_source = False

    def types(self, declared: Sequence[str]) -> list[str]:
        """DuckDB's types for declared ones, which it is asked for once."""
        unknown = sorted({kind for kind in declared if kind not in _types})
        if unknown:
            columns = [(f"c{place}", kind) for place, kind in enumerate(unknown)]
            duck.set_option("sqlite_all_varchar", value=False)
            with self._table(columns) as (_, relation):
                described = duck.describe(relation)
            _types.update(zip(unknown, (kind for _, kind in described), strict=True))
        return [_types[kind] for kind in declared]

    def read(self, table: str, columns: Columns, *, as_text: bool) -> pa.RecordBatch | None:
        """What DuckDB makes of a copy of the table; None where a copy may differ from it."""
        # A strict table keeps values of this type as they are; any other would convert some.
        if any(declared.upper() == "ANY" for _, declared in columns):
            return None
        if not self._sees_source:
            self._connection.execute("ATTACH ? AS source", (self._uri,))
            self._sees_source = True
        names = ", ".join(duck.identifier(name) for name, _ in columns)
        rows = f"SELECT {names} FROM source.{duck.identifier(table)} ORDER BY rowid"
        duck.set_option("sqlite_all_varchar", value=as_text)
        with self._table(columns) as (copy, relation):
            self._connection.execute(f"INSERT INTO main.{copy} {rows}")
            batches = list(duck.scan(relation, nullcontext).batches)
        (batch,) = pa.Table.from_batches(batches).combine_chunks().to_batches()
        return batch

    def close(self) -> None:
        """Remove the file."""
        if self._alias:
            duck.detach(self._alias)
        self._connection.close()
        self._folder.cleanup()

    @contextmanager
    def _table(self, columns: Columns) -> Iterator[tuple[str, str]]:
        """An empty table with such columns: its name for SQLite, and for DuckDB."""
        name = f"copy_{next(self._numbers)}"
        declared = ", ".join(f"{duck.identifier(column)} {kind}" for column, kind in columns)
        self._connection.execute(f"CREATE TABLE main.{name} ({declared})")
        try:
            made = self._connection.execute(f"PRAGMA main.table_info({name})").fetchall()
            if [(column, kind) for _, column, kind, *_ in made] != list(columns):
                raise SourceError("has types that cannot be declared again")
            if not self._alias:
                self._alias = duck.attach(self._path, "TYPE sqlite")
            yield name, f"{self._alias}.main.{name}"
        finally:
            self._connection.execute(f"DROP TABLE main.{name}")


def _batch(
    types: list[str], values: list[Values], kinds: list[set[type]], *, as_text: bool
) -> pa.RecordBatch | None:
    """The columns as DuckDB streams them; None if it converts some of their values."""
    arrays = []
    for kind, column, types_held in zip(types, values, kinds, strict=True):
        if kind not in _PLAIN or not types_held <= (_AS_TEXT if as_text else _PLAIN[kind][1]):
            return None
        if as_text:
            column = [str(cell).encode() if type(cell) is int else cell for cell in column]
        if kind == "VARCHAR":
            arrays.append(pa.array(column, pa.large_binary()).view(pa.large_string()))
        else:
            arrays.append(pa.array(column, _PLAIN[kind][0]))
    return pa.RecordBatch.from_arrays(arrays, [str(place) for place in range(len(arrays))])
