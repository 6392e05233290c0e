"""The guard in a process of its own, under the limits that the query itself runs under.

Parsing, checking and writing out a hostile text may take any time and memory. So the caller sends
the text with the names of the tables, waits no longer than the limit, and gets back what the guard
decided. `ask` is the caller's side, `answer` the side of the process.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import cache

from dovetail.answer.pool import Pool
from dovetail.answer.relations import Guarded, Joined, Relation
from dovetail.answer.results import Limits
from dovetail.called_off import CALLED_OFF, Cancelled, never
from dovetail.domain import Column, ColumnProfile, Kind, Table, TableId
from dovetail.ports import Json

_MOST_WORKERS = 4
_MOST_BYTES = 64 << 20
# The guard needs to know no more of a column than its name and type.
_NO_PROFILE = ColumnProfile(Kind.EMPTY, 0, 0, False, None, None, None, None, ())


@cache
def shared_pool() -> Pool:
    """The processes for queries that are only checked."""
    return Pool(min(os.cpu_count() or 1, _MOST_WORKERS))


def ask(
    pool: Pool,
    sql: str,
    relations: Sequence[Relation],
    *,
    dialect: str,
    engine: str,
    limits: Limits,
    complain: bool = False,
    cancelled: Cancelled = never,
) -> Guarded:
    """Have a query checked. What may not run is a `GuardError`, what takes too long a `LimitError`.

    `complaints` are looked for where they are asked for.
    """
    request = {
        "task": "check",
        "sql": sql,
        "dialect": dialect,
        "engine": engine,
        "complain": complain,
        "relations": [_sent(relation) for relation in relations],
        "limits": asdict(limits),
    }
    reply, _ = pool.ask(request, seconds=limits.seconds, most=_MOST_BYTES, cancelled=cancelled)
    return Guarded(
        reply["sql"],
        reply["shown"],
        tuple(TableId(**table) for table in reply["tables"]),
        reply["private"],
        tuple(map(_joined, reply["joins"])),
        tuple(reply["complaints"]),
        reply["seconds"],
    )


def _joined(data: Json) -> Joined:
    columns = tuple((a, b) for a, b in data["columns"])
    return Joined(TableId(**data["left"]), TableId(**data["right"]), columns)


def ask_names(pool: Pool, sql: str, *, dialect: str, limits: Limits) -> tuple[str, ...]:
    """The names of the tables that a query would read; one that may not run is a `GuardError`."""
    request = {"task": "names", "sql": sql, "dialect": dialect, "limits": asdict(limits)}
    called_off = CALLED_OFF.get()
    reply, _ = pool.ask(request, seconds=limits.seconds, most=_MOST_BYTES, cancelled=called_off)
    return tuple(reply["names"])


def answer_names(request: Json) -> Json:
    """Find the names of a query's tables, in the process."""
    from dovetail.answer.guard import table_names

    return {"names": table_names(request["sql"], request["dialect"])}


def answer(request: Json) -> Json:
    """Check a query, in the process; errors are for the caller."""
    # Only here: the caller need not load the parser at all.
    from dovetail.answer.guard import guard

    began = time.perf_counter()
    guarded = guard(
        request["sql"],
        [_received(each) for each in request["relations"]],
        dialect=request["dialect"],
        engine=request["engine"],
        complain=request["complain"],
    )
    return asdict(replace(guarded, seconds=time.perf_counter() - began))


def _sent(relation: Relation) -> Json:
    table = relation.table
    return {
        "id": asdict(table.id),
        "name": relation.name,
        "engine_name": relation.engine_name,
        "columns": [[column.name, column.type] for column in table.columns],
    }


def _received(data: Json) -> Relation:
    columns = tuple(Column(name, kind, _NO_PROFILE) for name, kind in data["columns"])
    table = Table(TableId(**data["id"]), columns, 0, (), "")
    return Relation(table, data["name"], tuple(data["engine_name"]))
