"""SQLite files. Their columns may hold values of any type, whatever they are declared as."""

from __future__ import annotations

import ctypes
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from functools import cache, partial

import duckdb
import pyarrow as pa

from dovetail.errors import RescanError, SourceError
from dovetail.ports import Fingerprint, Listing, Scan, SourceSpec
from dovetail.sources import duck
from dovetail.sources.attached import Attached, listing, place_of
from dovetail.sources.file_fingerprint import fingerprint_files
from dovetail.sources.sqlite_readonly import Untouched
from dovetail.sources.walk import first_bytes

MAGIC = b"SQLite format 3\x00"
_REMEDY = "is it a complete SQLite database?"
# SQLite's number for the setting that file names may be URIs.
_CONFIG_URI = 17


class SqliteSource:
    """One SQLite file. A table with values that do not fit their column is read as text."""

    def __init__(self, spec: SourceSpec) -> None:
        self._path = spec.location
        self._views = spec.views
        self._as_text: set[str] = set()
        _refuse_damaged(spec.location)
        self._attached: list[tuple[Untouched, Attached]] = []
        self._attach()

    def _attach(self) -> None:
        """Once more, where the file was written since and was not to be."""
        file = Untouched(self._path)
        if file.logged and not _load():
            raise SourceError(
                "is in WAL mode, and another part of this process uses DuckDB's SQLite already: "
                "open dovetail's sources first"
            )
        with duck.explained(remedy=_REMEDY):
            alias = duck.attach(file.uri if _load() else self._path, "TYPE sqlite")
        self._attached.append((file, Attached(alias, home="main", views=self._views)))

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
        if not self._attached[-1][0].settled():
            self._attach()
        file, attached = self._attached[-1]
        found = attached.scan(table, partial(self._explained, table.name), untyped=as_text)
        return Scan(found.columns, _of_one_moment(found.batches, file))

    def close(self) -> None:
        for file, attached in self._attached:
            attached.detach()
            file.close()

    def _undeclared(self, table: str) -> bool:
        """Whether a column has no declared type, so that its values may be anything."""
        rows = self._ask("SELECT type FROM pragma_table_xinfo(?)", table)
        return any(not declared for (declared,) in rows)

    def _ask(self, sql: str, *values: str, remedy: str = "") -> list[tuple[str, ...]]:
        try:
            with closing(sqlite3.connect(self._attached[-1][0].uri, uri=True)) as connection:
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


@cache
def _load() -> bool:
    """Load DuckDB's SQLite, and have it take names of files that say how they are to be opened.

    DuckDB has no option for that; SQLite can be told until its first use.
    """
    library = ctypes.CDLL(str(duck.extension_file("sqlite_scanner")))
    library.sqlite3_config.argtypes = [ctypes.c_int]  # what follows varies
    told = library.sqlite3_config(_CONFIG_URI, 1)
    duck.load_extension("sqlite_scanner")
    return bool(told == 0)


def _of_one_moment(batches: Iterator[pa.RecordBatch], file: Untouched) -> Iterator[pa.RecordBatch]:
    yield from batches
    if not file.settled():
        raise RescanError("was written while it was read")


def _refuse_damaged(path: str) -> None:
    """Raise an error about what SQLite would take for a new database, or fill up with nulls."""
    head = first_bytes(path, len(MAGIC) + 2)
    if not head.startswith(MAGIC):
        raise SourceError("is not a SQLite database" if head else "is empty, so no database")
    page = int.from_bytes(head[len(MAGIC) :], "big")
    if os.stat(path).st_size % (1 << 16 if page == 1 else max(page, 1)):
        raise SourceError("is cut off in the middle of a page; copy it again")
