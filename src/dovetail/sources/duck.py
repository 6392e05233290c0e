"""One DuckDB per process reads every kind of source; only this module talks to it.

It runs in memory with one thread (the offline work is parallel over tables), finds its
extensions in installed wheels, and never reaches for the network to get one.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from dovetail.domain import sql
from dovetail.errors import MissingExtraError, SourceError
from dovetail.memory import uncounted
from dovetail.ports import Scan, ScannedColumn
from dovetail.sources.projection import PLAIN, Columns, Field, fields_of
from dovetail.text import cut, printable

# A batch holds about this many cells, so that wide tables come in short batches.
_CELLS_PER_BATCH = 1 << 21
_MAX_ROWS_PER_BATCH = 1 << 17
_VECTOR_ROWS = 2048

# Extensions that come with an extra, what they are for, and the extra.
_EXTRAS = {
    "azure": ("a container of Azure", "cloud"),
    "delta": ("a Delta Lake table", "lake"),
    "httpfs": ("a bucket or URL", "cloud"),
    "iceberg": ("an Iceberg table", "lake"),
}

ENGINE_ERRORS = (duckdb.Error, pa.ArrowInvalid, UnicodeDecodeError)
# Errors that a source may know what to do about, by the name they bear in a message.
_KINDS: dict[str, type[duckdb.Error]] = {
    "Invalid Input": duckdb.InvalidInputException,
    "Mismatch Type": duckdb.TypeMismatchException,
    "Conversion": duckdb.ConversionException,
    "Not implemented": duckdb.NotImplementedException,
}
_CLASS = re.compile(r"^([A-Z][A-Za-z-]+ (?:[A-Za-z-]+ )*)Error: ")
# What a caller wraps around the engine's work, so that its errors speak of the caller's object.
Explain = Callable[[], AbstractContextManager[None]]


identifier, literal = sql.identifier, sql.literal
file_pattern, file_list = sql.file_pattern, sql.file_list

_aliases = count(1)


@cache
def _database() -> duckdb.DuckDBPyConnection:
    return _connect()


def _connect() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(
        ":memory:",
        config={
            "threads": 1,
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "python_enable_replacements": False,
            "arrow_large_buffer_size": True,
            "temp_directory": "",
        },
    )
    # In a notebook without ipywidgets it is off, and to turn it off is an error.
    shown = connection.execute("SELECT current_setting('enable_progress_bar')").fetchone()
    if shown != (False,):
        connection.execute("SET enable_progress_bar = false")
    return connection


def cursor(database: duckdb.DuckDBPyConnection | None = None) -> duckdb.DuckDBPyConnection:
    """A new connection, to the DuckDB of this process unless another is given."""
    return (database or _database()).cursor()


def closed_database(file: str, alias: str) -> duckdb.DuckDBPyConnection:
    """A DuckDB of its own that has attached one file, and from then on reaches nothing else.

    What a file defines (a view over `read_csv`, over a table of another database) runs in the
    DuckDB that reads it: there is no file and no other source for it here.
    """
    database = _connect()
    try:
        run(f"ATTACH {literal(file)} AS {identifier(alias)} (READ_ONLY, TYPE duckdb)", database)
        for setting in (
            "enable_external_access = false",
            "lock_configuration = true",
        ):
            run(f"SET {setting}", database)
    except BaseException:
        database.close()
        raise
    return database


@cache
def load_extension(name: str) -> None:
    """Load an extension from its wheel."""
    with uncounted():
        run(f"LOAD {literal(str(extension_file(name)))}")


def extension_file(name: str) -> Path:
    """Where the wheel of an extension has it."""
    try:
        package = importlib.import_module(f"duckdb_extension_{name}")
    except ModuleNotFoundError:
        if name not in _EXTRAS:
            raise
        raise MissingExtraError(*_EXTRAS[name]) from None
    folder = Path(str(package.__file__)).parent / "extensions" / f"v{duckdb.__version__}"
    return folder / f"{name}.duckdb_extension"


def run(sql: str, connection: duckdb.DuckDBPyConnection | None = None) -> duckdb.DuckDBPyConnection:
    """Execute a statement, on a connection of its own unless told."""
    try:
        return (connection or cursor()).execute(sql)
    except RuntimeError as error:
        if "interrupted" in str(error):  # DuckDB noticed the Ctrl-C, and took it for its own
            raise KeyboardInterrupt from None
        raise


def attach(target: str, options: str, *, read_only: bool = True) -> str:
    """Attach a database and return the name it got."""
    alias = f"source_{next(_aliases)}"
    how = "READ_ONLY, " if read_only else ""
    run(f"ATTACH {literal(target)} AS {alias} ({how}{options})")
    return alias


def detach(alias: str) -> None:
    """Detach what `attach` attached."""
    run(f"DETACH {alias}")


def set_option(name: str, *, value: bool | str) -> None:
    """Set an option of an extension for every connection of this process."""
    run(f"SET GLOBAL {name} = {literal(str(value).lower())}")


def fetch(sql: str, database: duckdb.DuckDBPyConnection | None = None) -> list[tuple[Any, ...]]:
    """Run a query and return all its rows."""
    rows: list[tuple[Any, ...]] = run(sql, cursor(database)).fetchall()
    return rows


def describe(relation: str) -> Columns:
    """The names and types of a relation's columns, without running it."""
    return [(str(row[0]), str(row[1])) for row in fetch(f"DESCRIBE SELECT * FROM {relation}")]


def scan(
    relation: str,
    explain: Explain,
    *,
    untyped: bool = False,
    described: Columns = (),
    connection: duckdb.DuckDBPyConnection | None = None,
) -> Scan:
    """Stream a relation (a quoted table or a table function) in Arrow batches.

    Types that Arrow or a hash would spell differently from one source to the next are brought
    to one spelling on the way: decimals and floats to doubles, the rest to text; the parts of a
    record are columns. Where starting the relation is dear, `described` saves doing it once more
    to learn the types. A `connection` that is given stays open. A column without a name, which
    SQLite lets there be and no query could read, is left out.
    """
    reading = connection or cursor()
    with explain():
        typed = described
        if not typed:
            started = run(f"SELECT * FROM {relation}", reading).description or []
            typed = [(str(row[0]), str(row[1])) for row in started]
        named = [column for column in typed if column[0]]
        if not named:
            raise SourceError("none of its columns has a name")
        fields = fields_of(named)
        if described or named != typed or not PLAIN.issuperset(kind for _, kind in typed):
            run(f"SELECT {projection(fields)} FROM {relation}", reading)
        reader = reading.to_arrow_reader(_batch_rows(len(fields)))
    columns = tuple(
        ScannedColumn(field.name, field.type, untyped or field.written_number) for field in fields
    )
    nameless = [f"column {at}" for at, (name, _) in enumerate(typed, start=1) if not name]
    left_out = dict.fromkeys(nameless, "it has no name, so no query could read it")
    return Scan(columns, _batches(reader, None if connection else reading, explain), left_out)


def scan_arrow(schema: pa.Schema, batches: Iterator[pa.RecordBatch], explain: Explain) -> Scan:
    """Stream Arrow batches that somebody else reads, brought to the same types."""
    reading = cursor()
    names = [f"c{at}" for at in range(len(schema))]
    numbered = pa.schema([field.with_name(name) for name, field in zip(names, schema, strict=True)])
    given = (pa.RecordBatch.from_arrays(batch.columns, schema=numbered) for batch in batches)
    with explain():
        reading.register("shape", numbered.empty_table())
        described = run("DESCRIBE SELECT * FROM shape", reading).fetchall()
        fields = fields_of([(str(row[0]), str(row[1])) for row in described])
        reading.register("given", pa.RecordBatchReader.from_batches(numbered, given))
        run(f"SELECT {projection(fields)} FROM given", reading)
        reader = reading.to_arrow_reader(_batch_rows(len(fields)))
    columns = tuple(ScannedColumn(one.name, one.type, one.written_number) for one in fields)
    return Scan(columns, _batches(reader, reading, explain))


def stream(relation: str, fields: Sequence[Field], explain: Explain) -> Iterator[pa.RecordBatch]:
    """Stream chosen fields of a relation; it starts with the first batch that is asked for."""
    reading = cursor()
    with explain():
        run(f"SELECT {projection(fields)} FROM {relation}", reading)
        reader = reading.to_arrow_reader(_batch_rows(len(fields)))
    yield from _batches(reader, reading, explain)


def projection(fields: Sequence[Field]) -> str:
    """The fields of a relation as a list of expressions to select."""
    return ", ".join(field.expression for field in fields)


def _batch_rows(columns: int) -> int:
    return min(_MAX_ROWS_PER_BATCH, max(_VECTOR_ROWS, _CELLS_PER_BATCH // columns))


def _batches(
    reader: Any, owner: duckdb.DuckDBPyConnection | None, explain: Explain
) -> Iterator[pa.RecordBatch]:
    try:
        with explain():
            try:
                yield from reader
            except (OSError, pa.ArrowException) as error:
                raise _as_raised(str(error)) from None
    finally:
        if owner is not None:
            owner.close()


def _as_raised(message: str) -> duckdb.Error:
    """DuckDB's error again, of which Arrow passes on only the text once rows are streaming."""
    kind = _CLASS.match(_cause(message))
    return _KINDS.get(kind[1].strip() if kind else "", duckdb.Error)(message)


@contextmanager
def explained(complaint: Callable[[str], str] | None = None, *, remedy: str = "") -> Iterator[None]:
    """Turn DuckDB's errors into a one-line SourceError; whoever catches it names the object.

    `complaint` makes the line of an error, where it is not the first line of DuckDB's.
    """
    try:
        yield
    except ENGINE_ERRORS as error:
        advice = f"; {remedy}" if remedy else ""
        raise SourceError(f"{(complaint or one_line)(str(error))}{advice}") from None


def _cause(message: str) -> str:
    """What an error is about, when it is about another error."""
    return message.partition("\nError: ")[2] or message


def one_line(message: str) -> str:
    """The first line of an error, without its class, cut to a readable length."""
    lines = [line.strip() for line in _cause(message).splitlines() if line.strip()]
    text = _CLASS.sub("", lines[0]) if lines else "unknown error"
    text = re.sub(r'^Failed to prepare query ".*?": ', "", text)
    return cut(printable(text), 300)
