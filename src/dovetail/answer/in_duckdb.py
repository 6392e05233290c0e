"""Runs a guarded query in a DuckDB that holds the tables of the set and can reach nothing else.

Tables of any source come as streams. The DuckDB that opens files and servers (`sources/duck.py`)
never sees the query; the one that runs the query has no extension, no attached database and no file
system, only these streams.
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import cached_property
from typing import Any

import duckdb
import pyarrow as pa

from dovetail.answer.relations import private_name
from dovetail.answer.results import Limits, Ran, collect, distinct_names, out_of_memory
from dovetail.errors import DovetailError, QueryError, RescanError, SourceError
from dovetail.plugins import open_source
from dovetail.ports import Json, Listing, Scan, Source, SourceSpec
from dovetail.sources import duck

# What DuckDB says that a column may have meant, and how many of these are told.
_CANDIDATES, _NAMED = re.compile(r"Candidate bindings:[: ]*(.+)"), 3
_DECIMAL = re.compile(r"DECIMAL\((\d+),\d+\)")
# Types that a source hands over as text or numbers, and that a query should find as they were.
_RESTORED = {
    "BIGINT", "INTEGER", "SMALLINT", "TINYINT", "HUGEINT", "UHUGEINT", "UBIGINT", "DOUBLE", "FLOAT",
    "DATE", "TIMESTAMP", "TIME", "INTERVAL", "UUID", "BOOLEAN",
}  # fmt: skip
# Some sources read in a way that is set for the whole process while they begin.
_beginning = threading.Lock()
# Tables of so many cells are copied into memory, where DuckDB knows their size when it plans;
# larger ones are streamed, as often as the query reads them.
_COPIED = 1 << 22
_ATTEMPTS = 4
_BATCH_ROWS = 1 << 14

_spare: list[duckdb.DuckDBPyConnection] = []


def run(sql: str, relations: list[Json], limits: Limits) -> Ran:
    """Run a query; a source that must be read another way is read again."""
    began = time.perf_counter()
    with ExitStack() as sources:
        opened = _open(relations, limits, sources)
        for _ in range(_ATTEMPTS + len(relations)):
            try:
                ran, ready = _run(sql, relations, opened, limits)
                seconds = {"open": ready - began, "run": time.perf_counter() - ready}
                return replace(ran, rows=_narrowed(ran.rows), seconds=seconds)
            except RescanError:
                continue
    raise SourceError("a table reads differently every time; index again")


def _open(relations: list[Json], limits: Limits, sources: ExitStack) -> dict[str, ListedSource]:
    opened: dict[str, ListedSource] = {}
    for relation in relations:
        spec = replace(SourceSpec.from_json(relation["spec"]), seconds=limits.seconds)
        if spec.label not in opened:
            with _named(spec.label):
                opened[spec.label] = ListedSource(open_source(spec))
            sources.callback(opened[spec.label].close)
    return opened


def _run(
    sql: str, relations: list[Json], opened: dict[str, ListedSource], limits: Limits
) -> tuple[Ran, float]:
    """What the query gave, and when it began itself."""
    connection = _spare.pop() if _spare else _connect()
    streams: list[TableStream] = []
    warnings: list[str] = []
    try:
        connection.execute(f"SET memory_limit = '{limits.memory}B'")
        for relation in relations:
            label = relation["spec"]["label"]
            with _named(f"{label}::{relation['table']}"):
                source = opened[label]
                streams.append(_provide(connection, source, relation))
            warnings += _left_out(relation["table"], streams[-1])
        _lock(connection)
        ready = time.perf_counter()
        reader = connection.execute(sql).to_arrow_reader(_BATCH_ROWS)
        rows, truncated = collect(reader, reader.schema, limits)
        return Ran(rows, truncated, warnings=tuple(warnings)), ready
    except (duckdb.Error, pa.ArrowException, OSError, RuntimeError) as error:
        for stream in streams:
            if stream.trouble is not None:
                raise stream.trouble from None
        raise _failure(error) from None
    finally:
        connection.close()


def _left_out(table: str, stream: TableStream) -> list[str]:
    """A warning for a table of which some parts cannot be read."""
    if not stream.left_out:
        return []
    part, reason = min(stream.left_out.items())
    more = f" (and {len(stream.left_out) - 1} more)" if len(stream.left_out) > 1 else ""
    return [f"{table} is read without {part}{more}: {reason}"]


def prepare() -> None:
    """Open the DuckDB that the next query will run in, so that the query need not wait for it."""
    if not _spare:
        _spare.append(_connect())


def _connect() -> duckdb.DuckDBPyConnection:
    return duckdb.connect(
        ":memory:",
        config={
            "threads": min(len(os.sched_getaffinity(0)), 4) if hasattr(os, "sched_getaffinity")
            else 2,
            "temp_directory": "",
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "allow_community_extensions": False,
            "python_enable_replacements": False,
            "arrow_large_buffer_size": True,
        },
    )  # fmt: skip


def _provide(
    connection: duckdb.DuckDBPyConnection, source: ListedSource, relation: Json
) -> TableStream:
    """Give the engine a table: a copy if it is small, else a stream.

    The stream goes by a name that no query can know.
    """
    raw = private_name()
    types = relation["types"]
    copied = relation["rows"] * len(types) <= _COPIED
    name = duck.identifier(relation["engine_name"][-1])
    kind = "TABLE" if copied else "VIEW"
    stream = source.stream(relation["table"])
    if len(types) != len(stream.columns):
        raise SourceError("has other columns than the catalog knows; index again")
    try:
        connection.register(raw, stream)
        wanted = stream.projection(types)
        connection.execute(f"CREATE {kind} {name} AS SELECT {wanted} FROM {raw}")
    except (duckdb.Error, pa.ArrowException) as error:
        raise stream.trouble or _failure(error) from None
    if copied:
        connection.unregister(raw)
    return stream


def _lock(connection: duckdb.DuckDBPyConnection) -> None:
    """From here on nothing outside can be reached, and none of this can be undone."""
    connection.execute("SET enable_progress_bar = false")
    connection.execute("SET disabled_filesystems = 'LocalFileSystem'")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


def _narrowed(rows: pa.Table) -> pa.Table:
    """Sums of whole numbers come as decimals of 38 digits: as integers again, where they fit; a
    count without a name as the query has it, and not in DuckDB's own words."""
    names = ["count(*)" if name == "count_star()" else name for name in rows.column_names]
    rows = rows.rename_columns(names)
    for at, field in enumerate(rows.schema):
        if pa.types.is_decimal(field.type) and field.type.scale == 0:
            try:
                rows = rows.set_column(at, field.name, rows.column(at).cast(pa.int64()))
            except pa.ArrowInvalid:
                continue
    return rows


def _failure(error: Exception) -> DovetailError:
    text = duck.one_line(str(error))
    if isinstance(error, duckdb.OutOfMemoryException) or "Out of Memory" in str(error):
        return out_of_memory()
    if candidates := _CANDIDATES.search(str(error)):
        names = re.findall(r'"([^"]+)"', candidates[1])[:_NAMED]
        text = f"{text.rstrip('!')}; did you mean {' or '.join(names)}?"
    return QueryError(f"the query failed: {text}")


@contextmanager
def _named(about: str) -> Iterator[None]:
    """Errors of a source, with what they are about."""
    try:
        yield
    except RescanError:
        raise
    except SourceError as error:
        raise SourceError(f"{about}: {error}") from None
    except OSError as error:
        raise SourceError(f"{about}: {error.strerror or error}") from None


class TableStream:
    """A table that can be read again and again; it is opened when the first row is asked for.

    `trouble` keeps what went wrong, which DuckDB passes on only as a text.
    """

    def __init__(self, source: Source, listing: Listing) -> None:
        self._source = source
        self._listing = listing
        self._begun: tuple[Scan, pa.RecordBatch | None] | None = self._begin()
        self.trouble: Exception | None = None
        scan, first = self._begun
        self.columns = scan.columns
        self.left_out = scan.left_out
        fields = [(f"c{at}", pa.string()) for at in range(len(scan.columns))]
        self.schema = pa.schema(fields) if first is None else first.schema

    def __arrow_c_stream__(self, requested: object = None) -> Any:
        reader = pa.RecordBatchReader.from_batches(self.schema, self._batches())
        return reader.__arrow_c_stream__(requested)

    def projection(self, types: list[str]) -> str:
        """The columns by name, in the types that the catalog knows them by."""
        names = distinct_names((column.name for column in self.columns), str.casefold)
        return ", ".join(
            f"{self._restored(at, type_name)} AS {duck.identifier(name)}"
            for at, (name, type_name) in enumerate(zip(names, types, strict=True))
        )

    def _restored(self, at: int, type_name: str) -> str:
        kind = self.schema.field(at).type
        decimal = _DECIMAL.fullmatch(type_name)
        text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
        restorable = (type_name in _RESTORED and text) or (
            decimal and int(decimal[1]) <= 38 and (text or pa.types.is_floating(kind))
        )
        return f"TRY_CAST(c{at} AS {type_name})" if restorable else f"c{at}"

    def _begin(self) -> tuple[Scan, pa.RecordBatch | None]:
        with _beginning:
            scan = self._source.scan(self._listing)
        first = next(scan.batches, None)
        return scan, None if first is None else _numbered(first)

    def _batches(self) -> Iterator[pa.RecordBatch]:
        try:
            begun, self._begun = self._begun, None
            scan, first = begun or self._begin()
            if first is not None:
                yield first
            for batch in scan.batches:
                yield _numbered(batch)
        except (DovetailError, OSError) as error:
            self.trouble = error
            raise


class ListedSource:
    """An open source, whose tables are listed once however many of them a query reads."""

    def __init__(self, source: Source) -> None:
        self._source = source

    @cached_property
    def _listings(self) -> dict[str, Listing]:
        return {listing.name: listing for listing in self._source.tables()}

    def stream(self, name: str) -> TableStream:
        """The stream of the table that the source holds under a name."""
        if name not in self._listings:
            raise SourceError(f"{name} is no longer there; index again")
        return TableStream(self._source, self._listings[name])

    def close(self) -> None:
        self._source.close()


def _numbered(batch: pa.RecordBatch) -> pa.RecordBatch:
    """A batch with columns named by number: names may repeat but for case."""
    names = [f"c{at}" for at in range(batch.num_columns)]
    return pa.RecordBatch.from_arrays(batch.columns, names=names)
