"""The process a query runs in: requests as JSON lines, answers as a JSON line and Arrow bytes.

It is killed from outside when a query takes too long, and ends when its parent does; should it hear
of neither, an alarm that nothing here catches ends it.
"""

from __future__ import annotations

import resource
import signal
import time
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from dovetail.answer import check, in_duckdb, in_sqlite
from dovetail.answer.results import Limits, Ran, collect, out_of_memory
from dovetail.errors import (
    DovetailError,
    GuardError,
    LimitError,
    QueryError,
    RescanError,
    SourceError,
)
from dovetail.plugins import needs_driver
from dovetail.ports import Json, SourceSpec
from dovetail.process import Absent, Caller
from dovetail.sources import duck

# Room for libraries, stacks and what reading the sources takes, beside the query's own memory.
_ROOM = 1 << 30
# A process that has grown beyond this is not kept for the next query.
_GROWN = 1 << 29
_GRACE = 5.0
# The sizes of this process in pages: all that is mapped, then what is in memory.
_STATM = Path("/proc/self/statm")


def main() -> None:
    """Answer requests until there are no more."""
    caller, absent = Caller(), Absent()
    in_duckdb.prepare()
    # Arrow's allocator reserves 1 GiB of addresses when it is first used. It does so here, before
    # the first limit is set, so that the reserve is not taken from what a query may use.
    pa.allocate_buffer(1)
    for request in caller.requests():
        limits = Limits(**request["limits"])
        signal.setitimer(signal.ITIMER_REAL, limits.seconds + _GRACE)
        relations = request["relations"] if request["task"] == "run" else ()
        kinds = {relation["spec"]["kind"] for relation in relations}
        absent.names = () if any(map(needs_driver, kinds)) else ("pandas",)
        header, body = _answer(request, limits)
        header |= {"bytes": len(body), "last": _resident() > _GROWN}
        caller.send(header, body)
        signal.setitimer(signal.ITIMER_REAL, 0)
        in_duckdb.prepare()


def _answer(request: Json, limits: Limits) -> tuple[Json, bytes]:
    # Drivers of warehouses reserve addresses as they please; `collect` bounds what they bring.
    drives = request["task"] == "run" and request["engine"] == "warehouse"
    _bound(None if drives else limits.memory)
    try:
        if request["task"] == "check":
            return check.answer(request), b""
        if request["task"] == "names":
            return check.answer_names(request), b""
        body = _arrow(ran := _run(request, limits))
    except (MemoryError, pa.ArrowMemoryError):
        return {"error": str(out_of_memory()), "class": LimitError.__name__}, b""
    except DovetailError as error:
        kinds = (LimitError, QueryError, SourceError, GuardError)
        kind = next((kind for kind in kinds if isinstance(error, kind)), QueryError)
        return {"error": str(error), "class": kind.__name__}, b""
    except Exception as error:  # noqa: BLE001 - told to the caller, who decides
        why = f"the query failed: {duck.one_line(str(error))}"
        return {"error": why, "class": QueryError.__name__}, b""
    seconds = {stage: round(taken, 6) for stage, taken in ran.seconds.items()}
    return {"truncated": ran.truncated, "seconds": seconds, "warnings": list(ran.warnings)}, body


def _run(request: Json, limits: Limits) -> Ran:
    sql, relations = request["sql"], request["relations"]
    if request["engine"] == "sqlite":
        return in_sqlite.run(sql, relations, limits, private=request["private"])
    if request["engine"] == "warehouse":
        return run_in_warehouse(sql, relations, limits)
    return in_duckdb.run(sql, relations, limits)


def run_in_warehouse(sql: str, relations: list[Json], limits: Limits) -> Ran:
    """Run a query in the warehouse that holds all of its tables: only its rows travel.

    The warehouse ends it with the limit of time where it can be told one.
    """
    from dovetail.sources.warehouse import WarehouseSource

    began = time.perf_counter()
    spec = replace(SourceSpec.from_json(relations[0]["spec"]), seconds=limits.seconds)
    try:
        source = WarehouseSource(spec)
    except SourceError as error:
        raise SourceError(f"{spec.label}: {error}") from None
    with closing(source):
        ready = time.perf_counter()
        for as_text in (False, True):
            try:
                schema, batches = source.query(sql, as_text=as_text)
                rows, truncated = collect(batches, schema, limits)
            except RescanError:
                continue
            except SourceError as error:
                raise QueryError(f"the query failed: {error}") from None
            seconds = {"open": ready - began, "run": time.perf_counter() - ready}
            return Ran(rows, truncated, seconds)
    raise QueryError("the query failed: its rows cannot be read, not even as text")


def _bound(memory: int | None) -> None:
    """Bound the memory of this process, or lift the bound."""
    with suppress(OSError, ValueError):  # macOS has no such limit; DuckDB keeps its own
        limit = resource.RLIM_INFINITY if memory is None else _pages(0) + memory + _ROOM
        resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))


def _arrow(ran: Ran) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, ran.rows.schema) as writer:
        writer.write_table(ran.rows)
    return bytes(sink.getvalue())


def _pages(at: int) -> int:
    return int(_STATM.read_text("ascii").split()[at]) * resource.getpagesize()


def _resident() -> int:
    return _pages(1) if _STATM.exists() else 0


if __name__ == "__main__":
    main()
