"""What a server is sent: bodies and addresses of REST, calls of MCP tools, files of tokens.

Requests go to the application itself: no socket is opened.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

from mcp.server.mcpserver.exceptions import ToolError

import dovetail
from dovetail.serve.guarded import Access, RequestLimits, read_access
from dovetail.serve.live_catalog import LiveCatalog
from dovetail.serve.mcp import mcp_server
from dovetail.serve.rest import rest_app
from dovetail.settings import Settings
from tests.support.parsers import Parser, in_a_file
from tests.support.scripted import write_shop

_QUESTION = "Which customers in Oslo ordered more than 3 products in 2024, 'company 905'?"
_JOIN = {"left": "orders", "right": "customers", "columns": [["customer_no", "customer_no"]]}
_TABLES = ["orders", "customers"]
_WORDS = {"orders": {"description": "An order.", "columns": {"ordered_on": "day of the order"}}}
_PARTS = {
    "select": [{"table": "customers", "column": "city"}, {"table": "orders", "function": "count"}],
    "where": [
        {"table": "customers", "column": "city", "operator": "in", "values": ["Oslo", "Porto"]},
        {"table": "orders", "column": "order_no", "operator": "between", "values": ["1", "9"],
         "either": True},
    ],
    "group": [{"table": "customers", "column": "city"}],
    "having": [{"operator": ">", "number": "2"}],
    "order": [{"table": "orders", "function": "count", "down": True}],
    "limit": 5,
}  # fmt: skip
# Good bodies by their paths, and how many times a case of one counts.
_BODIES: dict[str, tuple[int, tuple[Any, ...]]] = {
    "ask": (1, ({"question": _QUESTION, "breadth": 0.5, "looking_for": ["x"]},)),
    "set": (2, ({"question": "q", "tables": _TABLES},)),
    "query": (6, ({"question": "q", "tables": _TABLES, "parts": _PARTS},)),
    "answer": (1, ({"sql": "SELECT count(*) FROM orders", "tables": ["orders"], "limit": 5},)),
    "joins/check": (1, (_JOIN,)),
    "notes": (
        2,
        (
            {"section": "terms", "key": "agent", "value": "seller : orders.customer_no"},
            {"section": "joins", "key": "orders.customer_no = customers.customer_no",
             "value": "pin"},
            {"section": "about", "key": "orders", "value": "x"},
            {"section": "tables", "key": "orders", "value": "copy of customers"},
            {"section": "questions", "key": "who?", "value": "orders, customers"},
            {"section": "domains", "key": "customer", "value": "customers.customer_no"},
        ),
    ),
    "descriptions": (1, (_WORDS,)),
}  # fmt: skip
_ADDRESSES = (
    "tables/orders", "tables?limit=5&offset=1&like=or", "joins?table=orders&least=0.2&limit=3",
    "domains?table=customers&limit=3", "path?start=orders&end=products", "search?q=city&limit=3",
    "find?q=city", "families?limit=3", "listing", "pile", "about", "stats", "notes",
    "tables-to-describe?limit=2", "ask/stages?question=who&k=3&breadth=0.2&looking_for=a",
)  # fmt: skip
_CALLS: tuple[dict[str, Any], ...] = (
    {"name": "find_tables", "given": {"question": _QUESTION, "looking_for": ["a", "b"]}},
    {"name": "search_tables", "given": {"question": "city", "limit": 3}},
    {"name": "join_path", "given": {"start": "orders", "end": "products"}},
    {"name": "describe_tables", "given": {"tables": ["orders"]}},
    {"name": "sample_rows", "given": {"table": "orders", "limit": 2}},
    {"name": "tables_to_describe", "given": {"limit": 2}},
    {"name": "save_descriptions", "given": {"descriptions": _WORDS}},
    {"name": "save_note", "given": {"section": "about", "key": "orders", "value": "x"}},
)


def server_parsers(folder: Path) -> dict[str, Parser]:
    """Every way into a server that lets its callers write, over a small catalog in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    shop = write_shop(folder / "shop.sqlite")
    settings = Settings(embedder="none", notes=str(folder / "dovetail.notes.toml"))
    dovetail.build(f"shop={shop}", into=folder / "catalog", settings=settings)
    live = LiveCatalog(folder / "catalog", settings)
    limits = RequestLimits(per_minute=1 << 62, at_once=1 << 20)
    app = rest_app(live, Access({}), limits, notes=True, log=False)
    tools = mcp_server(live, notes=True)

    def body(path: str) -> Callable[[str], object]:
        return lambda text: asyncio.run(_sent(app, "POST", path, text))

    def tool(text: str) -> None:
        try:
            call = json.loads(text)
        except (ValueError, RecursionError):
            return
        if isinstance(call, dict) and isinstance(call.get("given"), dict):
            try:
                asyncio.run(tools.call_tool(str(call.get("name")), call["given"]))
            except ToolError as error:  # which the protocol tells the agent in a line
                if "Traceback" in str(error):
                    raise

    token = f'[[tokens]]\nname = "a"\nsha256 = "{"a" * 64}"\ntables = ["orders"]\n'
    return {
        **{
            f"REST {path}": Parser(body(path), tuple(map(json.dumps, good)), weight)
            for path, (weight, good) in _BODIES.items()
        },
        "REST address": Parser(
            lambda text: asyncio.run(_sent(app, "GET", text, "")), _ADDRESSES, 6
        ),
        "MCP tool": Parser(tool, tuple(map(json.dumps, _CALLS)), 6),
        "tokens": Parser(
            in_a_file(folder / "tokens" / "t.toml", lambda file: read_access(file, {})), (token,), 4
        ),
    }


async def _sent(app: Any, method: str, target: str, text: str) -> None:
    """Send a request; a reply that blames the server is an error."""
    content = text.encode("utf-8", "surrogatepass")
    path, _, asked = target.partition("?")
    given = {"type": "http.request", "body": content, "more_body": False}
    parts = [given]
    status, told = 0, b""

    async def receive() -> dict[str, Any]:
        if not parts:
            await asyncio.Event().wait()
        return parts.pop()

    async def send(message: Any) -> None:
        nonlocal status, told
        status = message.get("status", status)
        told += message.get("body", b"")

    await app(
        {
            "type": "http", "http_version": "1.1", "method": method, "root_path": "",
            "path": f"/api/v1/{path}", "raw_path": quote(path, errors="replace").encode(),
            "query_string": quote(asked, safe="=&%+", errors="replace").encode(),
            "scheme": "http", "headers": [(b"host", b"127.0.0.1"),
                                          (b"content-type", b"application/json"),
                                          (b"content-length", str(len(content)).encode())],
            "client": ("127.0.0.1", 5), "server": ("127.0.0.1", 80),
        },
        receive, send,
    )  # fmt: skip
    if not 200 <= status < 500 or b"Traceback" in told:
        raise AssertionError(f"{status}: {told[:200]!r}")
