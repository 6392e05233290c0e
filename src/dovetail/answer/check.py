"""The guard in a process of its own, under the limits that the query itself runs under.

Parsing, checking and writing out a hostile text may take any time and memory. So the caller sends
the text with the names of the tables, waits no longer than the limit, and gets back what the guard
decided. `ask` is the caller's side, `answer` the side of the process.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache

from dovetail.answer.pool import Cancelled, Pool, never
from dovetail.answer.relations import Joined, Relation
from dovetail.answer.results import Limits
from dovetail.domain import Column, ColumnProfile, Kind, Table, TableId
from dovetail.ports import Json

_MOST_WORKERS = 4
_MOST_BYTES = 64 << 20
# The guard needs to know no more of a column than its name and type.
_NO_PROFILE = ColumnProfile(Kind.EMPTY, 0, 0, False, None, None, None, None, ())


@dataclass(frozen=True, slots=True)
class Checked:
    """What the guard made of a query that may run.

    `sql` is the text to run, `shown` the same with the names as they were written, `private` the
    names drawn for its WITH clauses. `tables` are read by it, `joins` are the columns it joins
    them by, and `complaints` say which of its columns no table has, where that was asked for.
    `seconds` is how long that took.
    """

    sql: str
    shown: str
    private: Mapping[str, str]
    tables: tuple[TableId, ...]
    joins: tuple[Joined, ...]
    complaints: tuple[str, ...]
    seconds: float


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
) -> Checked:
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
    ids = [relation.table.id for relation in relations]
    joins = (
        Joined(ids[left], ids[right], tuple((a, b) for a, b in columns))
        for left, right, columns in reply["joins"]
    )
    return Checked(
        reply["sql"],
        reply["shown"],
        reply["private"],
        tuple(ids[at] for at in reply["tables"]),
        tuple(joins),
        tuple(reply["complaints"]),
        reply["seconds"],
    )


def ask_names(pool: Pool, sql: str, *, dialect: str, limits: Limits) -> tuple[str, ...]:
    """The names of the tables that a query would read; one that may not run is a `GuardError`."""
    request = {"task": "names", "sql": sql, "dialect": dialect, "limits": asdict(limits)}
    reply, _ = pool.ask(request, seconds=limits.seconds, most=_MOST_BYTES, cancelled=never)
    return tuple(reply["names"])


def answer_names(request: Json) -> Json:
    """Find the names of a query's tables, in the process."""
    from dovetail.answer.guard import table_names

    return {"names": table_names(request["sql"], request["dialect"])}


def answer(request: Json) -> Json:
    """Check a query, in the process; errors are for the caller."""
    # Only here: the caller need not load the parser at all.
    from dovetail.answer.guard import understand, write_out
    from dovetail.answer.scopes import complaints, joins, without_quoted_texts

    began = time.perf_counter()
    relations = [_received(each) for each in request["relations"]]
    dialect, engine = request["dialect"], request["engine"]
    tree, tables = understand(request["sql"], relations, dialect)
    joined = joins(tree, relations)
    complained = []
    if request["complain"]:
        complained = complaints(
            without_quoted_texts(tree) if dialect == "sqlite" else tree, relations
        )
    guarded = write_out(tree, relations, tables, engine=engine)
    number = {relation.table.id: at for at, relation in enumerate(relations)}
    return {
        "sql": guarded.sql,
        "shown": guarded.shown,
        "private": dict(guarded.private),
        "tables": [number[table] for table in tables],
        "joins": [[number[each.left], number[each.right], each.columns] for each in joined],
        "complaints": complained,
        "seconds": time.perf_counter() - began,
    }


def _sent(relation: Relation) -> Json:
    table = relation.table
    return {
        "id": [table.id.source, table.id.name],
        "name": relation.name,
        "engine_name": relation.engine_name,
        "columns": [[column.name, column.type] for column in table.columns],
    }


def _received(data: Json) -> Relation:
    columns = tuple(Column(name, kind, _NO_PROFILE) for name, kind in data["columns"])
    table = Table(TableId(*data["id"]), columns, 0, (), "")
    return Relation(table, data["name"], tuple(data["engine_name"]))
