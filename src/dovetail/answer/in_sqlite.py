"""Runs a guarded query in SQLite itself, over SQLite files: what it does with types is its own.

Files are attached read-only; an authorizer then lets nothing through but the reading of the set's
tables and the functions on the list.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Collection, Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import Any

import pyarrow as pa

from dovetail.answer.relations import fold
from dovetail.answer.results import Limits, Ran, collect, out_of_memory
from dovetail.errors import DovetailError, QueryError, SourceError
from dovetail.ports import Json
from dovetail.sources import duck
from dovetail.sources.database_files import ReadOnlyFile

_BATCH_ROWS = 1 << 10
_LENGTH = 10 << 20
_MIXED = {int: pa.int64(), float: pa.float64(), str: pa.string(), bytes: pa.binary()}
# SQLite's numbers for what it asks to be let do; sqlite3 has names for few of them.
_READ, _SELECT, _FUNCTION, _RECURSIVE = 20, 21, 31, 33


def run(sql: str, relations: list[Json], limits: Limits, *, private: Collection[str] = ()) -> Ran:
    """Run a query whose tables stand in databases named `s0`, `s1`, ...

    `private` are the names of its WITH clauses.
    """
    began = time.perf_counter()
    with (
        _files(relations) as files,
        closing(sqlite3.connect("file::memory:", uri=True, isolation_level=None)) as connection,
    ):
        try:
            _attach(connection, files)
            _lock(connection, relations, private)
        except sqlite3.Error as error:
            raise QueryError(f"the tables cannot be read: {error}; index again") from None
        ready = time.perf_counter()
        try:
            cursor = connection.execute(sql)
            names = [str(column[0]) for column in cursor.description or ()]
            values, truncated = _fetch(cursor, len(names), limits)
        except sqlite3.Error as error:
            raise _failure(error) from None
        except MemoryError:
            raise out_of_memory() from None
        if not all(file.consistent() for file in files.values()):
            raise QueryError("the tables were written while they were read; run the query again")
    rows = pa.Table.from_arrays([_column(cells) for cells in values], names=names)
    table, cut = collect(rows.to_batches(_BATCH_ROWS), rows.schema, limits)
    seconds = {"open": ready - began, "run": time.perf_counter() - ready}
    return Ran(table, truncated or cut, seconds)


@contextmanager
def _files(relations: list[Json]) -> Iterator[dict[str, ReadOnlyFile]]:
    """The files of a query, by the names they are attached under."""
    with ExitStack() as opened:
        files: dict[str, ReadOnlyFile] = {}
        for relation in relations:
            name, path = relation["engine_name"][0], relation["spec"]["location"]
            if name in files:
                continue
            try:
                files[name] = ReadOnlyFile(path)
            except OSError as error:
                label = relation["spec"]["label"]
                raise SourceError(f"{label}: {error.strerror or error}") from None
            opened.callback(files[name].close)
        yield files


def _attach(connection: sqlite3.Connection, files: dict[str, ReadOnlyFile]) -> None:
    for name, file in files.items():
        connection.execute(f"ATTACH {duck.literal(file.uri)} AS {duck.identifier(name)}")


def _lock(connection: sqlite3.Connection, relations: list[Json], private: Collection[str]) -> None:
    from dovetail.answer.guard import SQLITE_FUNCTIONS  # which the process has loaded by then

    allowed = {
        (relation["engine_name"][0], fold(relation["engine_name"][1])) for relation in relations
    }
    beneath = _beneath(connection, allowed)
    defined = frozenset(private)
    uncounted = {table for _, _, table in beneath}

    def authorize(
        action: int, first: str | None, second: str | None, database: str | None, inside: str | None
    ) -> int:
        if action in (_SELECT, _RECURSIVE):
            return sqlite3.SQLITE_OK
        if action == _FUNCTION and fold(second or "") in SQLITE_FUNCTIONS:
            return sqlite3.SQLITE_OK
        if action != _READ:
            return sqlite3.SQLITE_DENY
        table = fold(first or "")
        # A name of which no column is read: SQLite says the database only where the text does,
        # and of a table beneath a view that became part of the query, not even the view.
        if database is None and second == "" and (first in defined or table in uncounted):
            return sqlite3.SQLITE_OK
        # `inside` is the name of the view, or of the WITH clause, that the table is read by.
        if (database or "", table) in allowed or (fold(inside or ""), database, table) in beneath:
            return sqlite3.SQLITE_OK
        return sqlite3.SQLITE_DENY

    connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LENGTH)
    connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA temp_store = MEMORY")
    connection.execute("PRAGMA query_only = ON")
    connection.set_authorizer(authorize)


def _beneath(
    connection: sqlite3.Connection, allowed: set[tuple[str, str]]
) -> set[tuple[str, str | None, str]]:
    """What the views of the set are made of, as SQLite says when it prepares to read them.

    Each is a view's name, and the database and the table that are read from inside of it.
    """
    underlying: set[tuple[str, str | None, str]] = set()

    def note(
        action: int, first: str | None, _: str | None, database: str | None, inside: str | None
    ) -> int:
        if action == _READ and inside is not None:
            underlying.add((fold(inside), database, fold(first or "")))
        return sqlite3.SQLITE_OK

    connection.set_authorizer(note)
    for schema, table in allowed:
        source = f"{duck.identifier(schema)}.{duck.identifier(table)}"
        connection.execute(f"EXPLAIN SELECT * FROM {source}").fetchall()
        if underlying:
            connection.execute(f"EXPLAIN SELECT count(*) FROM {source}").fetchall()
    connection.set_authorizer(None)
    return underlying


def _fetch(cursor: sqlite3.Cursor, width: int, limits: Limits) -> tuple[list[list[Any]], bool]:
    columns: list[list[Any]] = [[] for _ in range(width)]
    size = 0
    for number, row in enumerate(cursor):
        if number == limits.rows or size > limits.bytes:
            return columns, True
        for cells, cell in zip(columns, row, strict=True):
            cells.append(cell)
            size += len(cell) if isinstance(cell, (str, bytes)) else 8
    return columns, False


def _column(cells: list[Any]) -> pa.Array:
    """Values as an array: of one type, or a union of types where SQLite holds several."""
    kinds = {type(cell) for cell in cells if cell is not None}
    if kinds <= {int}:
        return pa.array(cells, pa.int64())
    if kinds <= {int, float}:
        return pa.array([None if cell is None else float(cell) for cell in cells])
    if len(kinds) == 1:
        return pa.array(cells)
    parts: list[list[Any]] = [[] for _ in _MIXED]
    which, where = [], []
    for cell in cells:
        at = next((at for at, kind in enumerate(_MIXED) if isinstance(cell, kind)), 0)
        which.append(at)
        where.append(len(parts[at]))
        parts[at].append(cell)
    return pa.UnionArray.from_dense(
        pa.array(which, pa.int8()),
        pa.array(where, pa.int32()),
        [pa.array(part, kind) for part, kind in zip(parts, _MIXED.values(), strict=True)],
        [kind.__name__ for kind in _MIXED],
    )


def _failure(error: sqlite3.Error) -> DovetailError:
    text = str(error)
    if "out of memory" in text or "too big" in text:
        return out_of_memory()
    return QueryError(f"the query failed: {duck.one_line(text)}")
