"""Databases in files: SQLite, read so that nothing beside the file changes, and DuckDB.

The columns of SQLite may hold values of any type, whatever they are declared as.

A database in WAL mode has a log of what was written last (`-wal`) and an index of that log which
those who have it open share (`-shm`). SQLite makes both where they are missing, even to read. So:

- both are there: `readonly_shm`, which heeds the locks of whoever writes, and writes none;
- no log, or an empty one nobody shares: the file is all there is, and `immutable` says so. SQLite
  then takes no lock, so whoever reads asks afterwards whether somebody wrote meanwhile;
- a log without its index, as a copied or crashed one: a copy of both is read, elsewhere.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import cache, cached_property, partial
from tempfile import TemporaryDirectory
from urllib.parse import quote

import duckdb
import pyarrow as pa

from dovetail.atomic import require_regular
from dovetail.errors import RescanError, SourceError
from dovetail.ports import Declaration, Fingerprint, Listing, Scan, SourceSpec
from dovetail.sources import duck
from dovetail.sources.declarations import (
    DUCKDB_DECLARED,
    Row,
    declarations,
    listings,
    qualified_name,
)
from dovetail.sources.walk import DATABASE_SUFFIXES, fingerprint_files, first_bytes

_SQLITE_MAGIC = b"SQLite format 3\x00"
_SQLITE_REMEDY = "is it a complete SQLite database?"
_DUCKDB_MAGIC, _MAGIC_AT = b"DUCK", 8
_DUCKDB_REMEDY = "is it a complete DuckDB database, and is no other process writing it?"
_ALIAS = "file"
# Keys as `declarations.Row` has them; nothing that a module provides, for it may be missing. A part
# of an index that is an expression has no name.
_DECLARED = """
SELECT 'main', t.name, 'p', '', c.pk, c.name, NULL, NULL, NULL, NULL
FROM sqlite_master t, pragma_table_info(t.name) c
WHERE t.type = 'table' AND t.rootpage > 0 AND c.pk > 0
UNION ALL
SELECT 'main', t.name, 'u', i.name, c.seqno, c.name, NULL, NULL, NULL, NULL
FROM sqlite_master t, pragma_index_list(t.name) i, pragma_index_info(i.name) c
WHERE t.type = 'table' AND t.rootpage > 0 AND i."unique" AND NOT i.partial AND i.origin <> 'pk'
UNION ALL
SELECT 'main', t.name, 'f', k.id, k.seq, k."from", NULL, k."table", k."to", NULL
FROM sqlite_master t, pragma_foreign_key_list(t.name) k WHERE t.type = 'table' AND t.rootpage > 0
"""
# Whether a column of a stored table has no declared type.
_UNDECLARED = """
SELECT t.name, max(c.type = '') FROM sqlite_master t, pragma_table_xinfo(t.name) c
WHERE t.type = 'table' AND t.rootpage > 0 GROUP BY t.name
"""
# What each engine opens by itself beside a file, if it is there.
_BESIDE_SQLITE = ("-journal", "-wal", "-shm")
_BESIDE_DUCKDB = (".wal", ".wal.checkpoint", ".wal.recovery")
# How many tables are read in one transaction.
_TABLES_AT_ONCE = 64
# What DuckDB says of a value that does not fit, and Python of a message that quotes its bytes: the
# table is then read as text.
_NOT_AS_DECLARED = (
    duckdb.TypeMismatchException,
    duckdb.ConversionException,
    duckdb.InvalidInputException,
    duckdb.NotImplementedException,
    UnicodeDecodeError,
)
# SQLite's number for the setting that file names may be URIs.
_CONFIG_URI = 17
# Where a SQLite file says how it is written, and the word for a write-ahead log.
_VERSION_AT, _LOGGED = 18, b"\x02"
_ATTEMPTS = 3

# Size and time of change of the database and of its log.
_State = tuple[tuple[int, int] | None, ...]


def database_kind(path: str) -> str:
    """Which kind a file is, told by its first bytes.

    By the name only where those say nothing, so that opening fails.
    """
    named = path.lower().endswith(DATABASE_SUFFIXES)
    try:
        head = first_bytes(path, 16)
    except (OSError, SourceError):
        if not named:
            raise
        head = b""
    if head == _SQLITE_MAGIC:
        return "sqlite"
    if head[_MAGIC_AT:].startswith(_DUCKDB_MAGIC):
        return "duckdb"
    if not named:
        raise SourceError("is neither a SQLite nor a DuckDB database, nor a known table file")
    return "duckdb" if path.lower().endswith((".duckdb", ".ddb")) else "sqlite"


class SqliteSource:
    """One SQLite file. A table with values that do not fit their column is read as text.

    DuckDB opens SQLite anew for every transaction, which parses the definitions of all tables:
    with thousands of them that takes longer than reading one. So tables that are to be read one
    after the other share a transaction; as it locks writers out, it is ended every few tables.
    """

    def __init__(self, spec: SourceSpec) -> None:
        self._path = spec.location
        self._views = spec.views
        self._as_text: set[str] = set()
        self._expected: set[str] = set()
        self._transaction: duckdb.DuckDBPyConnection | None = None
        self._read = 0
        _refuse_damaged(spec.location)
        self._attached: list[tuple[ReadOnlyFile, str]] = []
        self._attach()

    def _attach(self) -> None:
        """Once more, where the file was written since and was not to be."""
        self._end_transaction()
        file = ReadOnlyFile(self._path)
        if file.logged and not _load():
            raise SourceError(
                "is in WAL mode, and another part of this process uses DuckDB's SQLite already: "
                "open dovetail's sources first"
            )
        with duck.explained(remedy=_SQLITE_REMEDY):
            alias = duck.attach(file.uri if _load() else self._path, "TYPE sqlite")
        self._attached.append((file, alias))

    def tables(self) -> Sequence[Listing]:
        """List tables by asking SQLite itself: in DuckDB one broken view hides all other tables."""
        kinds = "('table', 'view')" if self._views else "('table')"
        names = self._ask(
            f"SELECT name FROM sqlite_master WHERE type IN {kinds} "
            "AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name",
            remedy=_SQLITE_REMEDY,
        )
        weight = os.stat(self._path).st_size // max(len(names), 1)
        return listings([(("main", name), weight) for (name,) in names], "main")

    def expect(self, tables: Sequence[Listing], tokens: Mapping[str, str], *, rows: bool) -> None:
        """Prepare to be asked for tables: those whose rows are read next share a transaction.

        Where others have the log open, each table is read by itself.
        """
        del tokens
        shared = self._attached[-1][0].shared
        self._expected = {table.name for table in tables} if rows and not shared else set()

    def fingerprint(self, table: Listing, previous: str | None) -> Fingerprint:
        """SQLite cannot say which table changed, so every table carries the file's state."""
        del table
        return fingerprint_files([self._path, self._path + "-wal"], previous)

    def scan(self, table: Listing) -> Scan:
        if not self._attached[-1][0].consistent():
            self._attach()
        file, alias = self._attached[-1]
        name = qualified_name(table)[1]
        as_text = table.name in self._as_text or self._undeclared(name)
        duck.set_option("sqlite_all_varchar", value=as_text)
        scan = duck.scan(
            f"{alias}.main.{duck.identifier(name)}",
            partial(self._explained, table.name),
            untyped=as_text,
            connection=self._begun() if table.name in self._expected else None,
        )
        return replace(scan, batches=self._of_one_moment(scan.batches, file, table.name))

    def declarations(self, tables: Sequence[Listing]) -> Mapping[str, Declaration]:
        rows = self._ask(_DECLARED, remedy=_SQLITE_REMEDY)
        return declarations(tables, _as_named(tables, map(Row.of, rows)))

    def close(self) -> None:
        self._end_transaction()
        for file, alias in self._attached:
            duck.detach(alias)
            file.close()

    def _begun(self) -> duckdb.DuckDBPyConnection:
        """The connection of the transaction that tables share."""
        if self._transaction is None:
            self._transaction = duck.cursor()
            duck.run("BEGIN", self._transaction)
        return self._transaction

    def _end_transaction(self) -> None:
        """Let others write."""
        if self._transaction is not None:
            self._transaction.close()
            self._transaction = None

    def _of_one_moment(
        self, batches: Iterator[pa.RecordBatch], file: ReadOnlyFile, table: str
    ) -> Iterator[pa.RecordBatch]:
        yield from batches
        self._expected.discard(table)
        self._read += 1
        if not self._expected or self._read % _TABLES_AT_ONCE == 0:
            self._end_transaction()
        if not file.consistent():
            raise RescanError("was written while it was read")

    def _undeclared(self, table: str) -> bool:
        """Whether a column has no declared type, so that its values may be anything."""
        if table in self._stored:
            return self._stored[table]
        rows = self._ask("SELECT type FROM pragma_table_xinfo(?)", table)
        return any(not declared for (declared,) in rows)

    @cached_property
    def _stored(self) -> dict[str, bool]:
        """Of the tables that are stored in the file, whether a column has no declared type."""
        return {name: bool(undeclared) for name, undeclared in self._ask(_UNDECLARED)}

    def _ask(self, sql: str, *values: str, remedy: str = "") -> list[tuple[str, ...]]:
        """The rows of a query about the file.

        The connection is closed at once: one process maps the index of a log once, and as long as
        we only read it, nobody in this process can write.
        """
        try:
            with closing(sqlite3.connect(self._attached[-1][0].uri, uri=True)) as connection:
                return connection.execute(sql, values).fetchall()
        except sqlite3.Error as error:
            raise SourceError(f"{error}; {remedy}" if remedy else str(error)) from None

    @contextmanager
    def _explained(self, table: str) -> Iterator[None]:
        try:
            yield
        except duck.ENGINE_ERRORS as error:
            self._end_transaction()
            reason = duck.one_line(str(error))
            # Where it was read as text already, it is not about the types.
            if table in self._as_text or not isinstance(error, _NOT_AS_DECLARED):
                raise SourceError(reason) from None
            self._as_text.add(table)
            raise RescanError(reason) from None


def _as_named(tables: Sequence[Listing], rows: Iterable[Row]) -> Iterator[Row]:
    """The rows with tables referred to by their own names: SQLite takes any case for them."""
    names = {qualified_name(table)[1].casefold(): qualified_name(table) for table in tables}
    for row in rows:
        target = row.key_table
        yield replace(row, key_table=names.get(target[1].casefold(), target)) if target else row


@cache
def _load() -> bool:
    """Load DuckDB's SQLite, and have it take names of files that say how they are to be opened.

    DuckDB has no option for that; SQLite can be told until its first use.
    """
    library = ctypes.CDLL(str(duck.extension_file("sqlite_scanner")))
    library.sqlite3_config.argtypes = [ctypes.c_int]  # what follows varies
    status = library.sqlite3_config(_CONFIG_URI, 1)
    duck.load_extension("sqlite_scanner")
    return bool(status == 0)


def _require_plain(path: str, beside: Sequence[str]) -> None:
    """Refuse a database that is no plain file, or has something else for a file beside it.

    Where its path is a link, an engine may look beside what it leads to.
    """
    for named in {path, os.path.realpath(path)}:
        require_regular(named, *(named + suffix for suffix in beside))


def _refuse_damaged(path: str) -> None:
    """Raise an error about what SQLite would take for a new database, or fill up with nulls."""
    head = first_bytes(path, len(_SQLITE_MAGIC) + 2)
    if not head.startswith(_SQLITE_MAGIC):
        raise SourceError("is not a SQLite database" if head else "is empty, so no database")
    page = int.from_bytes(head[len(_SQLITE_MAGIC) :], "big")
    if os.stat(path).st_size % (1 << 16 if page == 1 else max(page, 1)):
        raise SourceError("is cut off in the middle of a page; copy it again")


class ReadOnlyFile:
    """A SQLite file to be opened by `uri`, which leaves the files beside it as they are."""

    def __init__(self, path: str) -> None:
        _require_plain(path, _BESIDE_SQLITE)
        self._path = path
        self._copy: TemporaryDirectory[str] | None = None
        self._state = _state(path)
        log = self._state[1]
        self.logged = first_bytes(path, _VERSION_AT + 1)[_VERSION_AT:] == _LOGGED
        # Whether somebody else has the log open, or had when it crashed.
        self.shared = self.logged and log is not None and os.path.exists(f"{path}-shm")
        # Whether SQLite's own locks keep others from changing what is being read.
        self._locked = not self.logged or self.shared
        if not self.logged:
            self.uri = _uri(path, "mode=ro")
        elif self.shared:
            self.uri = _uri(path, "mode=ro&readonly_shm=1")
        elif log is None or log[0] == 0:
            self.uri = _uri(path, "mode=ro&immutable=1")
        else:
            self.uri = _uri(self._copied(), "mode=ro")

    def consistent(self) -> bool:
        """Whether all that was read is of one state: nobody wrote, or SQLite's locks kept it so."""
        return self._locked or _state(self._path) == self._state

    def close(self) -> None:
        """Remove the copy, if there is one."""
        if self._copy is not None:
            self._copy.cleanup()

    def _copied(self) -> str:
        self._copy = TemporaryDirectory(prefix="dovetail-")
        there = os.path.join(self._copy.name, "copy.db")
        for _ in range(_ATTEMPTS):
            self._state = _state(self._path)
            shutil.copyfile(self._path, there)
            shutil.copyfile(f"{self._path}-wal", f"{there}-wal")
            if _state(self._path) == self._state:
                return there
        self.close()
        raise SourceError("is being written all the time; try again later")


def _uri(path: str, how: str) -> str:
    try:
        return f"file:{quote(path)}?{how}"
    except UnicodeEncodeError:
        raise SourceError("its name is not valid UTF-8; rename it") from None


def _state(path: str) -> _State:
    return _seen(path), _seen(f"{path}-wal")


def _seen(path: str) -> tuple[int, int] | None:
    try:
        state = os.stat(path)
    except FileNotFoundError:
        return None
    return state.st_size, state.st_mtime_ns


class DuckdbSource:
    """One DuckDB file; tables outside `main` are named `schema.table`."""

    def __init__(self, spec: SourceSpec) -> None:
        _require_plain(spec.location, _BESIDE_DUCKDB)
        self._path = spec.location
        self._kinds = "('BASE TABLE', 'VIEW')" if spec.views else "('BASE TABLE')"
        with duck.explained(remedy=_DUCKDB_REMEDY):
            self._database = duck.closed_database(spec.location, _ALIAS)

    def tables(self) -> Sequence[Listing]:
        with duck.explained(remedy=_DUCKDB_REMEDY):
            rows = duck.fetch(
                "SELECT table_schema, table_name FROM information_schema.tables "
                f"WHERE table_catalog = {duck.literal(_ALIAS)} AND table_type IN {self._kinds} "
                "ORDER BY table_schema, table_name",
                self._database,
            )
        weight = os.stat(self._path).st_size // max(len(rows), 1)
        return listings([(row, weight) for row in rows], "main", apart=True)

    def fingerprint(self, table: Listing, previous: str | None) -> Fingerprint:
        """As with SQLite, only the file as a whole can be vouched for."""
        del table
        return fingerprint_files([self._path, self._path + ".wal"], previous)

    def scan(self, table: Listing) -> Scan:
        relation = ".".join(duck.identifier(part) for part in (_ALIAS, *qualified_name(table)))
        return duck.scan(relation, duck.explained, connection=duck.cursor(self._database))

    def declarations(self, tables: Sequence[Listing]) -> Mapping[str, Declaration]:
        with duck.explained(remedy=_DUCKDB_REMEDY):
            statement = DUCKDB_DECLARED.format(database=duck.literal(_ALIAS))
            return declarations(tables, map(Row.of, duck.fetch(statement, self._database)))

    def close(self) -> None:
        self._database.close()
