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

MAGIC = b"SQLite format 3\x00"
_REMEDY = "is it a complete SQLite database?"


class SqliteSource:
    """One SQLite file. A table with values that do not fit their column is read as text."""

    def __init__(self, spec: SourceSpec) -> None:
        self._path = spec.location
        self._as_text: set[str] = set()
        duck.load_extension("sqlite_scanner")
        with duck.explained(remedy=_REMEDY):
            alias = duck.attach(spec.location, "TYPE sqlite")
        self._attached = Attached(alias, home="main", views=spec.views)

    def tables(self) -> Sequence[Listing]:
        with duck.explained(remedy=_REMEDY):
            tables = self._attached.tables()
        weight = os.stat(self._path).st_size // max(len(tables), 1)
        return [listing(*table, weight) for table in tables]

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
        address = f"file:{quote(self._path)}?mode=ro"
        try:
            with closing(sqlite3.connect(address, uri=True)) as connection:
                rows = connection.execute("SELECT type FROM pragma_table_xinfo(?)", [table])
                return any(not declared for (declared,) in rows)
        except sqlite3.Error as error:
            raise SourceError(str(error)) from None

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
