"""MCP with a real client: every tool over standard input and output, and over HTTP."""

from __future__ import annotations

import asyncio
import json
import os
import queue
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.server.mcpserver import MCPServer
from starlette.testclient import TestClient

import dovetail
from dovetail.api.catalog import Catalog
from dovetail.domain import TableSet
from dovetail.errors import DovetailError
from dovetail.serve.live_catalog import LiveCatalog
from dovetail.serve.mcp import mcp_server, serve_mcp
from dovetail.serve.views import set_json
from dovetail.text import confidence_word
from tests.support.command_line import run
from tests.support.served import NO_MODELS, QUESTION, add_table, shop_catalog

TOOLS = {
    "describe_tables", "find_tables", "join_path", "run_sql", "sample_rows", "search_tables",
}  # fmt: skip
DESCRIBING = {"save_descriptions", "save_note", "tables_to_describe"}


@contextmanager
def over_http(folder: Path) -> Iterator[str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen(
        [*COMMAND, "--http", f"127.0.0.1:{port}", "-C", "catalog"], cwd=folder, env=_environment()
    )
    try:
        while process.poll() is None:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.terminate()
        process.wait()


COMMAND = [sys.executable, "-m", "dovetail", "mcp"]


def _environment() -> dict[str, str]:
    return {**os.environ, "DOVETAIL_EMBEDDER": "none"}


def stdio(folder: Path, *more: str) -> StdioServerParameters:
    return StdioServerParameters(
        command=COMMAND[0],
        args=[*COMMAND[1:], "-C", "catalog", *more],
        cwd=str(folder),
        env=_environment(),
    )


Use = Callable[[Client], Coroutine[Any, Any, None]]


def using(server: Any, use: Use) -> None:
    async def conversation() -> None:
        async with Client(server) as client:
            await use(client)

    asyncio.run(conversation())


async def call(client: Client, tool: str, **arguments: object) -> dict[str, Any]:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    assert isinstance(result.structured_content, dict)
    return result.structured_content


async def complaint(client: Client, tool: str, **arguments: object) -> str:
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    return str(getattr(result.content[0], "text", ""))


async def _every_tool(client: Client) -> None:
    tools = (await client.list_tools()).tools
    assert {tool.name for tool in tools} == TOOLS
    assert all(tool.output_schema for tool in tools)
    assert all(tool.annotations and tool.annotations.read_only_hint for tool in tools)
    found = await call(client, "find_tables", question=QUESTION)
    ids = {table["id"] for table in found["tables"]}
    assert ids >= {"shop::customers", "shop::orders", "shop::order_items", "shop::products"}
    assert not found.keys() & {"nothing_fits", "truncated"}
    assert "CREATE TABLE customers" in found["ddl"]
    assert "orders.customer_no = customers.customer_no (n:1, sure 1.00)" in found["joins"]
    ranked = await call(client, "search_tables", question="weather of orders", limit=2)
    assert len(ranked["tables"]) == 2
    assert all(0 < one["relevance"] <= 1 for one in ranked["tables"])
    described = await call(client, "describe_tables", tables=["orders", "shop::weather"])
    orders, weather = described["tables"]
    assert (orders["rows"], orders["columns"][0]["unique"]) == (120, True)
    assert [column["name"] for column in weather["columns"]] == ["station", "rainfall"]
    path = await call(client, "join_path", start="customers", end="products")
    assert (path["found"], len(path["joins"])) == (True, 3)
    assert "columns" not in path
    apart = await call(client, "join_path", start="weather", end="products")
    assert not apart.get("found")
    assert apart["columns"]["shop::weather"] == ["station", "rainfall"]
    rows = await call(client, "sample_rows", table="suppliers", limit=2)
    assert rows["columns"] == ["supplier_no", "company", "country"]
    assert (len(rows["rows"]), rows["truncated"]) == (2, True)
    sql = "SELECT count(*) AS n FROM orders o JOIN customers c USING (customer_no)"
    counted = await call(client, "run_sql", sql=sql)
    assert counted["rows"] == [[120]]


def test_every_tool(live: LiveCatalog) -> None:
    using(mcp_server(live), _every_tool)


@pytest.mark.slow
def test_every_tool_over_standard_input_and_output(folder: Path) -> None:
    using(stdio(folder), _every_tool)


@pytest.mark.slow
def test_every_tool_over_http(folder: Path) -> None:
    with over_http(folder) as url:
        using(url, _every_tool)


def test_errors_say_what_to_do(live: LiveCatalog) -> None:
    async def use(client: Client) -> None:
        told = await complaint(client, "describe_tables", tables=["custmers"])
        assert "there is no table 'custmers' in the catalog; did you mean customers?" in told
        told = await complaint(client, "run_sql", sql="DROP TABLE orders")
        assert "only SELECT" in told or "may" in told
        assert "orders" in [
            row[0] for row in (await call(client, "run_sql", sql="SELECT 'orders'"))["rows"]
        ]
        told = await complaint(client, "run_sql", sql="SELECT * FROM orders", tables=["products"])
        assert "orders" in told
        told = await complaint(client, "find_tables", question="   ")
        assert "the question is empty" in told
        told = await complaint(client, "search_tables", question="x", limit=10_000)
        assert "50" in told

    using(mcp_server(live), use)


def test_rows_and_cells_are_capped_and_say_so(live: LiveCatalog) -> None:
    async def use(client: Client) -> None:
        rows = await call(client, "run_sql", sql="SELECT * FROM order_items", limit=3)
        assert (len(rows["rows"]), rows["truncated"]) == (3, True)
        wide = await call(client, "run_sql", sql=f"SELECT '{'x' * 5000}' AS x, NULL AS n")
        assert len(wide["rows"][0][0]) == 200
        assert wide["rows"][0][1] is None

    using(mcp_server(live), use)


def test_a_query_that_an_agent_calls_off_ends(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    began, ended = threading.Event(), queue.SimpleQueue[str]()

    asking = Catalog.sql

    def told(catalog: Catalog, *asked: Any) -> Any:
        began.set()
        try:
            return asking(catalog, *asked)
        except DovetailError as error:
            ended.put(str(error))
            raise

    async def use(client: Client) -> None:
        endless = (
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i FROM n) SELECT count(*) FROM n"
        )
        asked = asyncio.create_task(client.call_tool("run_sql", {"sql": endless}))
        await asyncio.to_thread(began.wait)
        asked.cancel()
        assert "called off" in await asyncio.to_thread(ended.get)
        assert (await call(client, "run_sql", sql="SELECT 1"))["rows"] == [[1]]

    monkeypatch.setattr(Catalog, "sql", told)
    patient = NO_MODELS.but(query_seconds=80_000)
    using(mcp_server(LiveCatalog(folder / "catalog", patient)), use)


def test_phrases_say_which_tables_an_agent_expects(live: LiveCatalog) -> None:
    async def use(client: Client) -> None:
        (tool,) = [one for one in (await client.list_tools()).tools if one.name == "find_tables"]
        assert "looking_for" in (tool.description or "")
        assert "One phrase for each table" in json.dumps(tool.input_schema)
        plain = await call(client, "search_tables", question="customers", limit=2)
        sought = ["rainfall at a weather station"]
        wider = await call(
            client, "search_tables", question="customers", looking_for=sought, limit=2
        )
        assert "shop::weather" not in [one["id"] for one in plain["tables"]]
        assert [one["id"] for one in wider["tables"]] == ["shop::customers", "shop::weather"]
        found = await call(
            client, "find_tables", question="names of customers", looking_for=sought, breadth=0.2
        )
        others = {one["id"]: one for one in found["candidates"]}
        assert not others.keys() & {one["id"] for one in found["tables"]}
        assert "rainfall" in others["shop::weather"]["columns"]
        assert next(iter(others)) == "shop::weather", "what was looked for comes first"
        many = ["orders"] * 21
        assert "looking_for" in await complaint(
            client, "find_tables", question=QUESTION, looking_for=many
        )

    using(mcp_server(live), use)


def test_a_reply_has_its_schema_written_once(
    live: LiveCatalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    written, wrote = TableSet.ddl, list[str]()

    def counted(self: TableSet) -> str:
        wrote.append(written(self))
        return wrote[-1]

    monkeypatch.setattr(TableSet, "ddl", counted)
    catalog = live.current()
    found = catalog.ask(QUESTION)
    reply = set_json(catalog, found)
    assert wrote == [reply.ddl]
    assert reply.ddl.strip() in reply.prompt
    assert reply.prompt == catalog.prompt(found)


def test_a_set_takes_half_the_characters_that_rest_gives(live: LiveCatalog) -> None:
    async def use(client: Client) -> None:
        result = await client.call_tool("find_tables", {"question": QUESTION})
        (text,) = [getattr(block, "text", "") for block in result.content]
        assert json.loads(text) == result.structured_content
        catalog = live.current()
        assert 2 * len(text) < len(set_json(catalog, catalog.ask(QUESTION)).model_dump_json())

    using(mcp_server(live), use)


def test_candidates_are_told_with_their_joins(live: LiveCatalog) -> None:
    async def use(client: Client) -> None:
        found = await call(client, "find_tables", question="company of suppliers", breadth=0)
        assert [one["id"] for one in found["tables"]] == ["shop::suppliers"]
        (products,) = [one for one in found["candidates"] if one["id"] == "shop::products"]
        assert products.keys() == {"id", "columns"}
        joined = "products.supplier_no = suppliers.supplier_no ("
        assert found["candidate_joins"][0].startswith(joined), "of the likeliest first"
        assert found["sureness"] == confidence_word(found["confidence"])
        several = await call(client, "find_tables", question=QUESTION)
        told = [re.fullmatch(r".+ \(\S+, (\w+) ([\d.]+)\)", one) for one in several["joins"]]
        assert all(one and one[1] == confidence_word(float(one[2])) for one in told)

    using(mcp_server(live), use)


async def _describing(client: Client) -> None:
    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert tools.keys() == TOOLS | DESCRIBING
    writes = tools["save_descriptions"].annotations
    assert writes is not None
    assert (writes.read_only_hint, writes.destructive_hint) == (False, False)
    batch = await call(client, "tables_to_describe", limit=2)
    assert (len(batch["tables"]), batch["missing"]) == (2, 7)
    assert batch["text"].startswith("```") and "weather" in batch["text"]
    words = {
        "shop::weather": {
            "description": "Precipitation by gauge.",
            "columns": {"rainfall": "millimetres a day", "wind": "no such column"},
        },
        "nowhere": {"description": "Nothing."},
        "orders": {},
    }
    saved = await call(client, "save_descriptions", descriptions=words)
    refused = ["shop::weather.wind", "nowhere", "shop::orders"]
    assert saved == {"saved": 1, "refused": refused, "missing": 6}
    found = await call(client, "search_tables", question="precipitation", limit=1)
    assert found["tables"][0]["id"] == "shop::weather"
    asked = await call(client, "find_tables", question="customers and precipitation")
    told = [*asked.get("candidates", []), *asked["tables"]]
    assert "shop::weather" in [one["id"] for one in told]
    pinned = {"section": "joins", "key": "weather.order_no = orders.order_no", "value": "pin"}
    assert "no column" in await complaint(client, "save_note", **pinned)
    kept = await call(client, "save_note", section="tables", key="weather", value="ignore")
    assert kept == {"doubts": []}
    plain = await call(client, "search_tables", question="precipitation", limit=1)
    assert "shop::weather" not in [one["id"] for one in plain["tables"]]
    wrong = await complaint(client, "save_note", section="tables", key="weather", value="love")
    assert "a table is canonical, copy, copy of TABLE, or ignore, not 'love'" in wrong
    too_many = {f"t{number}": {"description": "x"} for number in range(51)}
    assert "50" in await complaint(client, "save_descriptions", descriptions=too_many)


def test_an_agent_describes_tables_where_that_is_allowed(own_folder: Path) -> None:
    using(mcp_server(LiveCatalog(own_folder / "catalog", NO_MODELS), notes=True), _describing)
    written = dovetail.open(own_folder / "catalog", NO_MODELS).description("weather")
    assert written is not None
    assert (written.author, written.glosses) == ("agent", {"rainfall": "millimetres a day"})


@pytest.mark.slow
def test_an_agent_describes_tables_over_standard_input_and_output(own_folder: Path) -> None:
    using(stdio(own_folder, "--notes"), _describing)


def test_a_part_of_a_catalog_is_not_described(folder: Path) -> None:
    async def use(client: Client) -> None:
        assert {tool.name for tool in (await client.list_tools()).tools} == TOOLS

    using(mcp_server(LiveCatalog(folder / "catalog", NO_MODELS, ["orders"]), notes=True), use)
    done = run("mcp", "--notes", "--tables", "orders", "-C", str(folder / "catalog"))
    assert done.returncode == 2
    assert "--notes lets all tables be described" in done.stderr


ALLOWED: list[tuple[str, dict[str, object]]] = [
    ("find_tables", {"question": QUESTION, "looking_for": ["weather", "customers"]}),
    ("search_tables", {"question": "customers suppliers weather", "limit": 50}),
    ("describe_tables", {"tables": ["orders", "order_items", "products"]}),
    ("join_path", {"start": "orders", "end": "products"}),
    ("sample_rows", {"table": "orders"}),
]
HIDDEN: list[tuple[str, dict[str, object]]] = [
    ("describe_tables", {"tables": ["customers"]}),
    ("join_path", {"start": "customers", "end": "orders"}),
    ("sample_rows", {"table": "customers"}),
    ("run_sql", {"sql": "SELECT * FROM customers"}),
    ("run_sql", {"sql": 'SELECT * FROM "shop::customers"'}),
    ("run_sql", {"sql": "SELECT * FROM orders", "tables": ["customers"]}),
]


def test_a_table_outside_the_list_is_invisible_on_every_path(folder: Path) -> None:
    live = LiveCatalog(folder / "catalog", NO_MODELS, ["orders", "order_*", "shop::products"])

    async def use(client: Client) -> None:
        said = []
        for tool, arguments in ALLOWED:
            said.append(json.dumps(await call(client, tool, **arguments)))
        for hidden in ("shop::customers", "shop::suppliers", "shop::weather"):
            assert not [text for text in said if hidden in text]
        for tool, arguments in HIDDEN:
            told = await complaint(client, tool, **arguments)
            assert "customer 1" not in told
            assert "shop::customers" not in told or "there is no table" in told

    using(mcp_server(live), use)


def test_a_pattern_that_fits_nothing_is_an_error(folder: Path) -> None:
    whole = dovetail.open(folder / "catalog", NO_MODELS)
    assert whole.narrowed([]) is whole
    with pytest.raises(dovetail.DovetailError, match=r"no table of .* fits 'sales\.\*'"):
        whole.narrowed(["orders", "sales.*"])
    some = whole.narrowed(["order*"])
    assert [table.name for table in some.ids] == ["order_items", "orders"]
    assert [table.name for table in some.ask(QUESTION)] != []
    assert {edge.right.name for edge in some.joins()} == {"orders"}


def test_an_update_is_seen_without_a_restart(tmp_path: Path) -> None:
    live = LiveCatalog(shop_catalog(tmp_path).folder, NO_MODELS)

    async def use(client: Client) -> None:
        before = await call(client, "search_tables", question="lighthouse", limit=50)
        assert "shop::lighthouses" not in [one["id"] for one in before["tables"]]
        add_table(tmp_path, "CREATE TABLE lighthouses AS SELECT 'Skerry' AS name, 31.5 AS height")
        after = await call(client, "search_tables", question="lighthouse", limit=50)
        assert after["tables"][0]["id"] == "shop::lighthouses"

    using(mcp_server(live), use)


def test_sessions_over_http_are_counted(live: LiveCatalog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dovetail.serve.mcp.MOST_SESSIONS", 2)
    seen: list[Any] = []

    def served(server: MCPServer, transport: str, *, host: str, port: int, **more: Any) -> None:
        assert (transport, port) == ("streamable-http", 8765)
        seen.append(server.streamable_http_app(host=host, **more))

    monkeypatch.setattr(MCPServer, "run", served)
    serve_mcp(live, "127.0.0.1:8765")
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}}}  # fmt: skip
    with TestClient(seen[0], base_url="http://127.0.0.1:8765") as client:
        kinds = {"accept": "application/json, text/event-stream"}
        statuses = [client.post("/mcp", json=hello, headers=kinds).status_code for _ in range(3)]
    assert statuses == [200, 200, 503]


def test_an_address_that_is_none_is_refused(folder: Path) -> None:
    done = run("mcp", "--http", "8765", "-C", str(folder / "catalog"))
    assert done.returncode == 2
    assert "--http 8765: give an address such as 127.0.0.1:8765" in done.stderr
