"""Runs a guarded query in a DuckDB that holds the tables of the set and can reach nothing else."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace

import duckdb
import pyarrow as pa

from dovetail.answer.identifiers import private_name
from dovetail.answer.results import Limits, Ran, collect
from dovetail.answer.streams import ListedSource, TableStream, type_for
from dovetail.errors import DovetailError, LimitError, QueryError, RescanError, SourceError
from dovetail.plugins import open_source
from dovetail.ports import Json, SourceSpec
from dovetail.sources import duck

# Tables of so many cells are copied into memory, where DuckDB knows their size when it plans;
# larger ones are streamed, as often as the query reads them.
_COPIED = 1 << 22
_ATTEMPTS = 4
_BATCH_ROWS = 1 << 14
_UNSTEADY = "a table reads differently every time; index again"

_spare: list[duckdb.DuckDBPyConnection] = []


def run(sql: str, relations: list[Json], limits: Limits) -> Ran:
    """Run a query; a source that must be read another way is read again."""
    began = time.perf_counter()
    with ExitStack() as sources:
        opened = _open(relations, limits, sources)
        for _ in range(_ATTEMPTS):
            try:
                ran, ready = _run(sql, relations, opened, limits)
                seconds = {"open": ready - began, "run": time.perf_counter() - ready}
                return replace(ran, rows=_narrowed(ran.rows), seconds=seconds)
            except RescanError:
                continue
    raise SourceError(_UNSTEADY)


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
    return [f"{table} is read without its part {part}{more}: {reason}"]


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
    types = [type_for(column) for column in relation["columns"]]
    copied = relation["rows"] * len(types) <= _COPIED
    name = duck.identifier(relation["place"][-1])
    kind = "TABLE" if copied else "VIEW"
    for _ in range(_ATTEMPTS):
        try:
            stream = source.stream(relation["table"])
            if len(types) != len(stream.columns):
                raise SourceError("has other columns than the catalog knows; index again")
            connection.register(raw, stream)
            wanted = stream.projection(types)
            connection.execute(f"CREATE {kind} {name} AS SELECT {wanted} FROM {raw}")
        except RescanError:
            continue
        except (duckdb.Error, pa.ArrowException) as error:
            if isinstance(stream.trouble, RescanError):
                continue
            raise stream.trouble or _failure(error) from None
        if copied:
            connection.unregister(raw)
        return stream
    raise SourceError(_UNSTEADY)


def _lock(connection: duckdb.DuckDBPyConnection) -> None:
    """From here on nothing outside can be reached, and none of this can be undone."""
    connection.execute("SET enable_progress_bar = false")
    connection.execute("SET disabled_filesystems = 'LocalFileSystem'")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


def _narrowed(rows: pa.Table) -> pa.Table:
    """Sums of whole numbers come as decimals of 38 digits: as integers again, where they fit."""
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
        return LimitError("the query needs more memory than it was given; ask for less at a time")
    return QueryError(f"the query failed: {text}")


@contextmanager
def _named(place: str) -> Iterator[None]:
    """Errors of a source with the place they are about."""
    try:
        yield
    except RescanError:
        raise
    except SourceError as error:
        raise SourceError(f"{place}: {error}") from None
    except OSError as error:
        raise SourceError(f"{place}: {error.strerror or error}") from None
