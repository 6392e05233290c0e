"""SQLite files. Their columns may hold values of any type, whatever they are declared as."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from urllib.parse import quote

import duckdb

from dovetail.errors import RescanError, SourceError
from dovetail.ports import Fingerprint, Listing, Scan, SourceSpec
from dovetail.sources import duck
from dovetail.sources.attached import Attached, listing, place_of
from dovetail.sources.stamp import fingerprint_files
from dovetail.sources.walk import first_bytes

MAGIC = b"SQLite format 3\x00"
_REMEDY = "is it a complete SQLite database?"


class SqliteSource:
    """One SQLite file. A table with values that do not fit their column is read as text."""

    def __init__(self, spec: SourceSpec) -> None:
        self._path = spec.location
        self._as_text: set[str] = set()
        _refuse_damaged(spec.location)
        duck.load_extension("sqlite_scanner")
        with duck.explained(remedy=_REMEDY):
            alias = duck.attach(spec.location, "TYPE sqlite")
        self._attached = Attached(alias, home="main", views=spec.views)
        self._views = spec.views

    def tables(self) -> Sequence[Listing]:
        """Asked of SQLite itself: in DuckDB one broken view hides all other tables."""
        kinds = "('table', 'view')" if self._views else "('table')"
        names = self._ask(
            f"SELECT name FROM sqlite_master WHERE type IN {kinds} "
            "AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name",
            remedy=_REMEDY,
        )
        weight = os.stat(self._path).st_size // max(len(names), 1)
        return [listing(name, "main", name, weight) for (name,) in names]

    def fingerprint(self, table: Listing, previous: str | None) -> Fingerprint:
        """SQLite cannot say which table changed, so every table carries the file's state."""
        del table
        return fingerprint_files([self._path, self._path + "-wal"], previous)

    def scan(self, table: Listing) -> Scan:
        as_text = table.name in self._as_text or self._undeclared(place_of(table)[1])
        duck.set_option("sqlite_all_varchar", value=as_text)
        explain = partial(self._explained, table.name)
        return self._attached.scan(table, explain, untyped=as_text)

    def close(self) -> None:
        self._attached.detach()

    def _undeclared(self, table: str) -> bool:
        """Whether a column has no declared type, so that its values may be anything."""
        rows = self._ask("SELECT type FROM pragma_table_xinfo(?)", table)
        return any(not declared for (declared,) in rows)

    def _ask(self, sql: str, *values: str, remedy: str = "") -> list[tuple[str, ...]]:
        address = f"file:{quote(self._path)}?mode=ro"
        try:
            with closing(sqlite3.connect(address, uri=True)) as connection:
                return connection.execute(sql, values).fetchall()
        except sqlite3.Error as error:
            raise SourceError(f"{error}; {remedy}" if remedy else str(error)) from None

    @contextmanager
    def _explained(self, table: str) -> Iterator[None]:
        try:
            yield
        except (duckdb.TypeMismatchException, duckdb.ConversionException) as error:
            reason = duck.one_line(str(error))
            if table in self._as_text:  # then it is not about the types
                raise SourceError(reason) from None
            self._as_text.add(table)
            raise RescanError(reason) from None
        except duck.ENGINE_ERRORS as error:
            raise SourceError(duck.one_line(str(error))) from None


def _refuse_damaged(path: str) -> None:
    """Raise an error about what SQLite would take for a new database, or fill up with nulls."""
    head = first_bytes(path, len(MAGIC) + 2)
    if not head.startswith(MAGIC):
        raise SourceError("is not a SQLite database" if head else "is empty, so no database")
    page = int.from_bytes(head[len(MAGIC) :], "big")
    if os.stat(path).st_size % (1 << 16 if page == 1 else max(page, 1)):
        raise SourceError("is cut off in the middle of a page; copy it again")
