"""Whether what is given back runs as it is: dovetail bench run pasted sample FOLDER=CATALOG …

Of every question of each pile (`asked_piles.py`) the names, DDL, join conditions, FROM clause and
skeleton that `ask` gives are run by `sql`, and those that an agent is given over MCP by `run_sql`,
without a word on which tables are meant. Counted is, for each kind, how many there are
and how many ran; `--show` prints those that did not. The same text is run once for a catalog.
DDL runs in a database of its own, in which the schemas that it names are there.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

import duckdb
from mcp.client.client import Client
from sqlglot import exp, parse, parse_one

import dovetail
from dovetail.domain import TableSet
from dovetail.errors import DovetailError
from dovetail.serve.live_catalog import LiveCatalog
from dovetail.serve.mcp import mcp_server
from dovetail_bench.programs.asked_piles import Pile, pile

Statement = tuple[str, str]


def given_by_ask(found: TableSet) -> Iterator[Statement]:
    """What `ask` gives back, as queries, each with its kind; DDL is told by `ddl_error`."""
    document = found.to_dict()
    called = {table["id"]: table["sql"] for table in document["tables"]}
    for name in called.values():
        yield "name", f"SELECT * FROM {name} LIMIT 1"
    for created in _created(found.ddl()):
        yield "ddl column", _columns(created)
    for join in document["joins"]:
        left, right = called[join["left"]], called[join["right"]]
        yield "condition", f"SELECT 1 FROM {left} JOIN {right} ON {join['condition']} LIMIT 1"
    yield "from clause", f"SELECT 1 {found.join_sql()} LIMIT 1"
    yield "skeleton", document["skeleton"]


async def given_over_mcp(client: Client, question: str) -> AsyncIterator[Statement]:
    """What the tools give back for a question, as queries, each with its kind."""
    found = await _called(client, "find_tables", question=question)
    if not found.get("tables"):
        return
    yield "mcp skeleton", found["skeleton"]
    for created in _created(found["ddl"]):
        yield "mcp ddl column", _columns(created)
    for condition in (*found.get("joins", ()), *found.get("candidate_joins", ())):
        yield "mcp join", _joined(condition.rpartition(" (")[0])
    ids = [table["id"] for table in (*found["tables"], *found.get("candidates", ()))]
    described = await _called(client, "describe_tables", tables=ids[:_DESCRIBED])
    for table in described["tables"]:
        yield "mcp name", f"SELECT * FROM {table['sql']} LIMIT 1"
    path = await _called(client, "join_path", start=ids[0], end=ids[-1])
    for join in path.get("joins", ()):
        yield "mcp path", _joined(join["condition"])


_DESCRIBED = 20  # tables that one call may describe


def ddl_error(ddl: str) -> str:
    """Why DDL does not run where there are no tables yet; empty if it does."""
    with duckdb.connect() as database:
        try:
            for created in _created(ddl):
                for part in (created.this.this.catalog, created.this.this.db):
                    _provide(database, part, created.this.this)
            database.execute(ddl)
        except (duckdb.Error, ValueError) as error:
            return str(error).splitlines()[0]
    return ""


def _provide(database: duckdb.DuckDBPyConnection, part: str, table: exp.Table) -> None:
    """Make the database and the schema that a table is said to be in."""
    if part and part == table.catalog:
        database.execute(f"ATTACH IF NOT EXISTS ':memory:' AS {_quoted(part)}")
    elif part:
        within = f"{_quoted(table.catalog)}." if table.catalog else ""
        database.execute(f"CREATE SCHEMA IF NOT EXISTS {within}{_quoted(part)}")


def _quoted(name: str) -> str:
    return exp.to_identifier(name, quoted=True).sql("duckdb")


def _created(ddl: str) -> list[exp.Create]:
    statements = parse(ddl, dialect="duckdb")
    return [one for one in statements if isinstance(one, exp.Create)]


def _columns(created: exp.Create) -> str:
    """The columns that a CREATE TABLE names, selected by these names."""
    listed = [one.this.sql("duckdb") for one in created.this.find_all(exp.ColumnDef)]
    return f"SELECT {', '.join(listed)} FROM {created.this.this.sql('duckdb')} LIMIT 1"


def _joined(condition: str) -> str:
    """A join of the tables that a condition names."""
    parsed = parse_one(f"SELECT 1 WHERE {condition}", dialect="duckdb")
    names = {
        ".".join(part.sql("duckdb") for part in column.parts[:-1]): None
        for column in parsed.find_all(exp.Column)
    }
    return f"SELECT 1 FROM {' JOIN '.join(names)} ON {condition} LIMIT 1"


async def _called(client: Client, tool: str, **arguments: object) -> dict[str, Any]:
    """What a tool gives back; an error of its own where it complains."""
    result = await client.call_tool(tool, arguments)
    if result.is_error:
        raise DovetailError(str(getattr(result.content[0], "text", result.content)))
    told: dict[str, Any] = result.structured_content or {}
    return told


class Tried:
    """Statements that were run over a catalog, each once, and what was counted."""

    def __init__(self, *, show: bool) -> None:
        self.given: Counter[str] = Counter()
        self.ran: Counter[str] = Counter()
        self._errors: dict[str, str] = {}
        self._show = show

    def seen(self, sql: str) -> bool:
        return sql in self._errors

    def add(self, kind: str, text: str, error: str | None = None) -> None:
        """Count a text; `error` is empty if it ran, None if it was run before."""
        if error is not None:
            self._errors[text] = error
        wrong = self._errors[text]
        self.given[kind] += 1
        self.ran[kind] += not wrong
        if wrong and self._show:
            print(f"{kind}: {' '.join(text.split())}\n  {wrong}")


async def tried(asked: Pile, counts: Counter[str], *, show: bool, once: bool = False) -> Tried:
    """Run all that is given back for the questions of a pile; with `once`, for each question one
    statement of each kind, the first that was not run for another."""
    result = Tried(show=show)
    with dovetail.open(asked.catalog) as catalog:
        live = LiveCatalog(catalog.folder, catalog.settings)
        async with Client(mcp_server(live)) as client:
            for question in asked.questions:
                found = catalog.ask(question.text)
                counts["questions"] += 1
                counts["refused"] += not found
                if not found:
                    continue
                result.add("ddl", found.ddl(), ddl_error(found.ddl()))
                kinds: set[str] = set()
                for kind, sql in given_by_ask(found):
                    known = result.seen(sql)
                    if not (once and (known or kind in kinds)):
                        result.add(kind, sql, None if known else _error(catalog, sql))
                        kinds.add(kind)
                async for kind, sql in given_over_mcp(client, question.text):
                    known = result.seen(sql)
                    if not (once and (known or kind in kinds)):
                        result.add(kind, sql, None if known else await _mcp_error(client, sql))
                        kinds.add(kind)
    return result


def _error(catalog: dovetail.Catalog, sql: str) -> str:
    try:
        catalog.sql(sql)
    except DovetailError as error:
        return str(error) or type(error).__name__
    return ""


async def _mcp_error(client: Client, sql: str) -> str:
    try:
        await _called(client, "run_sql", sql=sql)
    except DovetailError as error:
        return str(error)
    return ""


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="pasted", description=__doc__)
    parser.add_argument("piles", nargs="+", type=pile, help="sample, or FOLDER=CATALOG")
    parser.add_argument("--show", action="store_true", help="print what does not run")
    options = parser.parse_args(arguments)
    counts: Counter[str] = Counter()
    given: Counter[str] = Counter()
    ran: Counter[str] = Counter()
    for asked in options.piles:
        result = asyncio.run(tried(asked, counts, show=options.show))
        given += result.given
        ran += result.ran
    kinds = {kind: {"given": given[kind], "ran": ran[kind]} for kind in given}
    total = {"given": given.total(), "ran": ran.total()}
    print(json.dumps({**counts, "kinds": kinds, "all": total}, indent=1))


if __name__ == "__main__":
    main()
