"""One DuckDB per process reads every kind of source; this is the only place that talks to it.

It runs in memory with one thread (the offline work is parallel over tables), finds its
extensions in installed wheels, and never reaches for the network to get one.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from dovetail.errors import SourceError
from dovetail.ports import Scan, ScannedColumn

# A batch holds about this many cells, so that wide tables come in short batches.
_CELLS_PER_BATCH = 1 << 21
_MAX_ROWS_PER_BATCH = 1 << 17
_VECTOR_ROWS = 2048

# DuckDB types that Arrow arrays of the same values come out of, as they are.
_PLAIN = {
    "BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER",
    "UBIGINT", "DOUBLE", "VARCHAR", "BLOB", "DATE", "TIMESTAMP",
}  # fmt: skip
# Types whose text is a number.
_WRITTEN_NUMBERS = {"HUGEINT", "UHUGEINT", "BIGNUM"}
# Decimals of so many digits are exact as doubles.
_DOUBLE_DIGITS = 15

ENGINE_ERRORS = (duckdb.Error, pa.ArrowInvalid, UnicodeDecodeError)
# What a caller wraps around the engine's work, so that its errors speak of the caller's object.
Explain = Callable[[], AbstractContextManager[None]]

_aliases = count(1)


@cache
def _database() -> duckdb.DuckDBPyConnection:
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
    connection.execute("SET enable_progress_bar = false")
    return connection


def cursor() -> duckdb.DuckDBPyConnection:
    """A connection of its own to the process's DuckDB."""
    return _database().cursor()


@cache
def load_extension(name: str) -> None:
    """Load an extension from its wheel."""
    package = importlib.import_module(f"duckdb_extension_{name}")
    folder = Path(str(package.__file__)).parent / "extensions" / f"v{duckdb.__version__}"
    _database().execute(f"LOAD {literal(str(folder / f'{name}.duckdb_extension'))}")


def identifier(name: str) -> str:
    """Quote a name.

    >>> identifier('say "when"')
    '"say ""when\"""'
    """
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Quote a string.

    >>> literal("it's")
    "'it''s'"
    """
    return "'" + text.replace("'", "''") + "'"


def attach(target: str, options: str) -> str:
    """Attach a database read-only and return the name it got."""
    alias = f"source_{next(_aliases)}"
    _database().execute(f"ATTACH {literal(target)} AS {alias} (READ_ONLY, {options})")
    return alias


def detach(alias: str) -> None:
    """Detach what `attach` attached."""
    _database().execute(f"DETACH {alias}")


def set_option(name: str, *, value: bool) -> None:
    """Set an option of an extension for every connection of this process."""
    _database().execute(f"SET GLOBAL {name} = {str(value).lower()}")


def fetch(sql: str) -> list[tuple[Any, ...]]:
    """Run a query and return all its rows."""
    rows: list[tuple[Any, ...]] = cursor().execute(sql).fetchall()
    return rows


def scan(relation: str, explain: Explain, *, untyped: bool = False) -> Scan:
    """Stream a relation (a quoted table or a table function) in Arrow batches.

    Types that Arrow or a hash would spell differently from one source to the next are brought
    to one spelling on the way: decimals and floats to doubles, the rest to text.
    """
    reading = cursor()
    with explain():
        found = reading.execute(f"SELECT * FROM {relation}").description or []
        names = [str(row[0]) for row in found]
        types = [str(row[1]) for row in found]
        if not _PLAIN.issuperset(types):
            projection = ", ".join(map(_projected, names, types))
            reading.execute(f"SELECT {projection} FROM {relation}")
        rows = min(_MAX_ROWS_PER_BATCH, max(_VECTOR_ROWS, _CELLS_PER_BATCH // len(names)))
        reader = reading.to_arrow_reader(rows)
    columns = tuple(
        ScannedColumn(name, kind, untyped or _written_number(kind))
        for name, kind in zip(names, types, strict=True)
    )
    return Scan(columns, _batches(reader, reading, explain))


def _batches(
    reader: Any, owner: duckdb.DuckDBPyConnection, explain: Explain
) -> Iterator[pa.RecordBatch]:
    try:
        with explain():
            yield from reader
    finally:
        owner.close()


def _projected(name: str, kind: str) -> str:
    column = identifier(name)
    if kind in _PLAIN:
        return column
    if kind == "FLOAT":  # by way of its shortest text, so that 0.1 is the double 0.1
        return f"CAST(CAST({column} AS VARCHAR) AS DOUBLE)"
    if kind.startswith("DECIMAL") and not _written_number(kind):
        return f"CAST({column} AS DOUBLE)"
    if kind == "TIMESTAMP WITH TIME ZONE":
        return f"make_timestamp(epoch_us({column}))"
    if kind.startswith("TIMESTAMP_"):
        return f"CAST({column} AS TIMESTAMP)"
    return f"CAST({column} AS VARCHAR)"


def _written_number(kind: str) -> bool:
    digits = re.match(r"DECIMAL\((\d+)", kind)
    return kind in _WRITTEN_NUMBERS or (digits is not None and int(digits[1]) > _DOUBLE_DIGITS)


@contextmanager
def explained(*, remedy: str = "", secrets: tuple[str, ...] = ()) -> Iterator[None]:
    """Turn DuckDB's errors into a one-line SourceError; whoever catches it names the object."""
    try:
        yield
    except ENGINE_ERRORS as error:
        advice = f"; {remedy}" if remedy else ""
        raise SourceError(f"{one_line(str(error), secrets)}{advice}") from None


def one_line(message: str, secrets: tuple[str, ...] = ()) -> str:
    """The first line of an error, without its class, cut to a readable length and no secrets."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    text = re.sub(r"^([A-Z][A-Za-z-]+ )+Error: ", "", lines[0]) if lines else "unknown error"
    for secret in sorted(filter(None, secrets), key=len, reverse=True):
        text = text.replace(secret, "***")
    return text if len(text) <= 300 else text[:299] + "…"
