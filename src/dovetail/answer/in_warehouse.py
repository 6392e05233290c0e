"""Runs a guarded query in the warehouse that holds all of its tables: only its rows travel."""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import replace

import pyarrow as pa

from dovetail.answer.results import Limits, Ran, collect
from dovetail.errors import QueryError, RescanError, SourceError
from dovetail.ports import Json, SourceSpec
from dovetail.sources.warehouse import WarehouseSource


def run(sql: str, relations: list[Json], limits: Limits) -> Ran:
    """Run a query. The warehouse ends it with the limit of time where it can be told one."""
    began = time.perf_counter()
    spec = replace(SourceSpec.from_json(relations[0]["spec"]), seconds=limits.seconds)
    try:
        source = WarehouseSource(spec)
    except SourceError as error:
        raise SourceError(f"{spec.label}: {error}") from None
    with closing(source):
        ready = time.perf_counter()
        try:
            rows, truncated = _collected(source, sql, limits)
        except SourceError as error:
            raise QueryError(f"the query failed: {error}") from None
    seconds = {"open": ready - began, "run": time.perf_counter() - ready}
    return Ran(rows, truncated, seconds)


def _collected(source: WarehouseSource, sql: str, limits: Limits) -> tuple[pa.Table, bool]:
    for as_text in (False, True):
        schema, batches = source.query(sql, as_text=as_text)
        try:
            return collect(batches, schema, limits)
        except RescanError:
            continue
    raise QueryError("the query failed: its rows cannot be read, not even as text")
