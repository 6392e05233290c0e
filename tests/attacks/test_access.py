"""Who may see what: access fails closed, and nothing tells of tables outside of a token's list."""

from __future__ import annotations

import asyncio
import hashlib
import json
import queue
import socket
import sqlite3
import threading
from contextlib import closing
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

import dovetail
from dovetail.errors import DovetailError, UsageError
from dovetail.serve.guarded import Access, Caller, RequestLimits, read_access
from dovetail.serve.live_catalog import LiveCatalog
from dovetail.serve.mcp import serve_mcp
from dovetail.serve.rest import rest_app
from dovetail.settings import Settings
from tests.support.kinds.sockets import (
    agents_served,
    request_bytes,
    session_of,
    tool_call,
)

NO_MODELS = Settings(embedder="none")
GOOD = hashlib.sha256(b"token").hexdigest()
EMPTY = hashlib.sha256(b"").hexdigest()
READER = {"Authorization": "Bearer token"}
# Stands in every name, value and note that the token must not see.
HIDDEN = "zebra"
QUESTIONS = ("orders of customers", f"{HIDDEN} payroll", "the bonus of an order", "gnu", "backup")


@pytest.mark.parametrize(
    "text",
    [
        f'[[tokens]]\nname = "a"\nsha256 = "{GOOD}"\ntables = []\n',
        f'[[tokens]]\nname = "a"\nsha256 = "{GOOD}"\ntables = [""]\n',
        f'[[tokens]]\nname = "a"\nsha256 = "{GOOD}"\ntabels = ["orders"]\n',
        f'[[tokens]]\nname = "a"\nsha256 = "{GOOD}"\nTables = ["orders"]\n',
        f'[[tokens]]\nname = "a"\nsha256 = "{GOOD}"\ntables = "orders"\n',
        f'[[tokens]]\nname = "a"\nsha256 = "{GOOD}"\nnotes = 0\n',
        f'tabels = ["orders"]\n[[tokens]]\nname = "a"\nsha256 = "{GOOD}"\n',
        f'[[tokens]]\nname = "a"\nsha256 = "{EMPTY}"\n',
        f'[[tokens]]\nname = "a"\nsha256 = "{EMPTY.upper()}"\n',
        f'[[tokens]]\nname = "a"\nsha256 = "{GOOD}"\ntables = ["x"]\n'
        f'[[tokens]]\nname = "b"\nsha256 = "{GOOD}"\n',
        f'[[token]]\nname = "a"\nsha256 = "{GOOD}"\n',
        "",
    ],
)
def test_a_file_of_tokens_that_says_less_than_it_seems_is_refused(
    tmp_path: Path, text: str
) -> None:
    file = tmp_path / "tokens.toml"
    file.write_text(text)
    with pytest.raises(UsageError, match="token"):
        read_access(file, {})


@pytest.mark.parametrize("text", [f"a={EMPTY}", f"a={GOOD},b={GOOD}", ",", "", " ", "a", "a="])
def test_a_variable_of_tokens_that_lets_anybody_in_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="DOVETAIL_TOKENS"):
        read_access(None, {"DOVETAIL_TOKENS": text})


def test_without_a_variable_there_are_no_tokens() -> None:
    assert read_access(None, {}).callers == {}


@pytest.mark.parametrize("address", ["0.0.0.0:8765", "192.168.1.7:8765", "[::]:8765", "box:8765"])
def test_agents_without_a_login_come_from_this_machine(pile: Path, address: str) -> None:
    with pytest.raises(UsageError, match=r"127\.0\.0\.1"):
        serve_mcp(LiveCatalog(pile / "catalog", NO_MODELS), address)


@pytest.fixture(scope="module")
def pile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two tables to be seen; a copy, a history and tables that join them, which are not."""
    place = tmp_path_factory.mktemp("access")
    rows = "SELECT value AS order_no, value % 7 + 1 AS customer_no, value * 3 AS amount"
    with closing(sqlite3.connect(place / "shop.sqlite")) as db, db:
        db.executescript(f"""
            CREATE TABLE customers (customer_no INTEGER PRIMARY KEY, city TEXT);
            INSERT INTO customers VALUES (1,'Oslo'),(2,'Turin'),(3,'Porto'),(4,'Lima'),(5,'Rome'),
              (6,'Bern'),(7,'{HIDDEN} town');
            CREATE TABLE orders (order_no INTEGER PRIMARY KEY, customer_no INTEGER, amount INTEGER);
            WITH RECURSIVE n(value) AS (SELECT 1 UNION ALL SELECT value+1 FROM n WHERE value<90)
              INSERT INTO orders {rows} FROM n;
            UPDATE customers SET city = 'Wien' WHERE customer_no = 7;
            CREATE TABLE orders_backup_{HIDDEN} AS SELECT * FROM orders;
            CREATE TABLE {HIDDEN}_orders AS SELECT * FROM orders WHERE order_no < 80;
            CREATE TABLE {HIDDEN}_payroll (customer_no INTEGER, bonus INTEGER, secret TEXT);
            INSERT INTO {HIDDEN}_payroll
              SELECT customer_no, amount, '{HIDDEN}' || amount FROM orders;
        """)
    (place / "dovetail.notes.toml").write_text(f"""
        [terms]
        bonus = "{HIDDEN} pay : {HIDDEN}_payroll"
        backup = "{HIDDEN} words"
        [about]
        {HIDDEN}_payroll = "what a {HIDDEN} earns"
        [tables]
        "orders" = "copy of {HIDDEN}_orders"
        [questions]
        "the {HIDDEN} bonus of an order" = "orders, {HIDDEN}_payroll"
        gnu = "orders, {HIDDEN}_payroll"
        [joins]
        "{HIDDEN}_payroll.bonus = orders.amount" = "pin"
        wrong = "{HIDDEN}"
    """)
    catalog = dovetail.build(
        f"shop={place / 'shop.sqlite'}", into=place / "catalog", settings=NO_MODELS
    )
    log = place / "log.sql"
    log.write_text(
        f"-- question: orders {HIDDEN} gnu\nSELECT * FROM orders o JOIN {HIDDEN}_payroll p "
        "ON o.customer_no = p.customer_no;"
    )
    catalog.learn(str(log))
    return place


def client_of(pile: Path, **more: Any) -> TestClient:
    access = Access({GOOD: Caller("a", ("orders", "customers"))})
    live = LiveCatalog(pile / "catalog", NO_MODELS)
    return TestClient(
        rest_app(live, access, notes=True, log=False, **more), headers=READER,
        raise_server_exceptions=False,
    )  # fmt: skip


def test_nothing_tells_of_tables_outside_of_a_list(pile: Path) -> None:
    client = client_of(pile)
    spec = client.get("/api/v1/openapi.json").json()
    names = ("orders", "customers", f"{HIDDEN}_payroll", "payroll", f"{HIDDEN}_order", "nothing")
    asked: list[tuple[str, str, dict[str, Any]]] = [
        ("GET", path, {}) for path, ways in spec["paths"].items() if "get" in ways
    ]
    for question in QUESTIONS:
        given = {"question": question}
        asked += [
            ("POST", "/api/v1/ask", {"json": {**given, "explain": True, "breadth": 1.0}}),
            ("POST", "/api/v1/ask", {"json": {**given, "looking_for": ["gnu", "bonus"]}}),
            ("GET", "/api/v1/ask/stages", {"params": given}),
            ("GET", "/api/v1/search", {"params": {"q": question}}),
            ("POST", "/api/v1/answer", {"json": given}),
        ]
    for name in names:
        asked += [
            ("GET", f"/api/v1/tables/{name}", {}),
            ("GET", "/api/v1/joins", {"params": {"table": name, "least": 0}}),
            ("GET", "/api/v1/domains", {"params": {"table": name}}),
            ("POST", "/api/v1/answer", {"json": {"sql": f"SELECT * FROM {name}"}}),
            ("POST", "/api/v1/answer", {"json": {"sql": f'SELECT * FROM "shop::{name}"'}}),
            ("POST", "/api/v1/answer", {"json": {"sql": "SELECT 1", "tables": [name]}}),
            ("POST", "/api/v1/query", {"json": {"tables": ["orders", name], "parts": {}}}),
            (
                "POST",
                "/api/v1/joins/check",
                {"json": {"left": "orders", "right": name, "columns": [["a", "b"]]}},
            ),
            ("POST", "/api/v1/ask", {"json": {"question": "orders", "sources": [name]}}),
            ("POST", "/api/v1/notes", {"json": {"section": "about", "key": name, "value": "x"}}),
            ("DELETE", "/api/v1/notes", {"params": {"section": "terms", "key": name}}),
        ]
    for start, end in product(names, names):
        asked.append(("GET", "/api/v1/path", {"params": {"start": start, "end": end}}))
        asked.append(("POST", "/api/v1/set", {"json": {"question": "q", "tables": [start, end]}}))
    replies = 0
    for method, path, more in asked:
        reply = client.request(method, path, **more)
        replies += reply.status_code == 200
        assert reply.status_code < 500, (method, path, more, reply.text)
        text = reply.text.casefold()
        for said in (str(more).casefold(), path.casefold(), "stages"):
            if HIDDEN in said:  # only what the caller said may come back
                text = text.replace(f"{HIDDEN}_payroll", "").replace(f"{HIDDEN}_order'", "")
                text = text.replace(f"{HIDDEN} payroll", "").replace(f"{HIDDEN}_order ", "")
                text = text.replace(f'"{HIDDEN}"', "").replace(f"'{HIDDEN}'", "")
        assert HIDDEN not in text, (method, path, more, reply.text)
        assert str(pile) not in reply.text, (method, path, more, reply.text)
    assert replies > len(QUESTIONS) * 4


@pytest.mark.parametrize("hosts", [frozenset(), frozenset({"testserver", "127.0.0.1"})])
@pytest.mark.parametrize(
    "host", ["[", "]", "[::1", "a]b[", "[gnu]", "a:b:c", "@", "a@b", "http://x", "\xff", "[v1.a]"]
)
def test_a_host_that_is_no_address_is_refused_in_a_line(
    pile: Path, host: str, hosts: frozenset[str]
) -> None:
    client = client_of(pile, hosts=hosts)
    reply = client.get("/api/v1/about", headers={b"host": host.encode("latin1")})
    if hosts or reply.status_code != 200:
        assert reply.status_code in (400, 421)
        assert reply.json()["detail"]


@pytest.mark.parametrize("length", ["9" * 5_000, "-1", "1e9", "٣", " "])
def test_a_length_that_is_none_is_refused_in_a_line(pile: Path, length: str) -> None:
    headers = {b"content-length": length.encode()}
    reply = client_of(pile).request("POST", "/api/v1/ask", content=b"{}", headers=headers)
    assert 400 <= reply.status_code < 500
    assert reply.json()["detail"]


@pytest.mark.timeout(120)
def test_bodies_that_never_end_give_their_places_back(pile: Path) -> None:
    access = Access({GOOD: Caller("a")})
    live = LiveCatalog(pile / "catalog", NO_MODELS)
    limits = RequestLimits(at_once=2, body_seconds=0.05)
    app = rest_app(live, access, limits, log=False)

    async def endless() -> dict[str, object]:
        await asyncio.sleep(0.01)
        return {"type": "http.request", "body": b" ", "more_body": True}

    async def silent() -> dict[str, object]:
        await asyncio.Event().wait()
        raise AssertionError("never comes here")

    async def status(receive: Any, path: str = "/api/v1/ask", method: str = "POST") -> int:
        sent: list[Any] = []

        async def send(message: Any) -> None:
            sent.append(message)

        scope = {
            "type": "http", "http_version": "1.1", "method": method, "path": path, "root_path": "",
            "raw_path": path.encode(), "query_string": b"", "scheme": "http",
            "headers": [(b"authorization", b"Bearer token"), (b"host", b"x")],
            "client": ("1.2.3.4", 5), "server": ("x", 80),
        }  # fmt: skip
        await app(scope, receive, send)
        return int(sent[0]["status"])

    async def attack() -> list[int]:
        slow = await asyncio.gather(*(status(way) for way in (endless, silent) * 1))
        then = [await status(endless, "/api/v1/about", "GET") for _ in range(3)]
        return [*slow, *then]

    assert asyncio.run(attack()) == [408, 408, 200, 200, 200]


@pytest.mark.parametrize(
    ("path", "asked"),
    [
        ("answer", {"sql": "SELECT count(*) FROM orders"}),
        ("answer", {"question": "How many orders per city of the customers?"}),
        ("joins/check", {"left": "orders", "right": "customers",
                         "columns": [["customer_no", "customer_no"]]}),
    ],
)  # fmt: skip
def test_queries_whose_caller_has_gone_end(pile: Path, path: str, asked: dict[str, Any]) -> None:
    app = rest_app(LiveCatalog(pile / "catalog", NO_MODELS), Access({}), log=False)
    body = json.dumps(asked).encode()
    heard = iter([{"type": "http.request", "body": body, "more_body": False}])
    said = b""

    async def receive() -> dict[str, Any]:
        return next(heard, {"type": "http.disconnect"})

    async def send(message: Any) -> None:
        nonlocal said
        said += message.get("body", b"")

    scope = {
        "type": "http", "http_version": "1.1", "method": "POST", "path": f"/api/v1/{path}",
        "raw_path": b"", "query_string": b"", "scheme": "http", "root_path": "",
        "headers": [(b"content-type", b"application/json")], "client": ("127.0.0.1", 5),
        "server": ("127.0.0.1", 80),
    }  # fmt: skip
    asyncio.run(app(scope, receive, send))
    assert b"called off" in said


def test_agents_over_http_who_hang_up_end_their_queries(
    pile: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    began, ended = threading.Event(), queue.SimpleQueue[str]()
    asking = dovetail.Catalog.sql

    def told(catalog: dovetail.Catalog, *asked: Any) -> Any:
        began.set()
        try:
            return asking(catalog, *asked)
        except DovetailError as error:
            ended.put(str(error))
            raise

    monkeypatch.setattr(dovetail.Catalog, "sql", told)
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i FROM n) SELECT count(*) FROM n"
    live = LiveCatalog(pile / "catalog", NO_MODELS.but(query_seconds=80_000))
    with agents_served(live) as port:
        request = tool_call("run_sql", {"sql": endless})
        sent = request_bytes("POST", "/mcp", request, session_of(port))
        with closing(socket.create_connection(("127.0.0.1", port))) as caller:
            caller.sendall(sent)
            began.wait()
        assert "called off" in ended.get()


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"origin": "http://localhost:8000"}, 200),
        ({"origin": "http://[::1]:8000"}, 403),
        ({"sec-fetch-site": "same-origin", "origin": "https://proxy.example"}, 200),
        ({"sec-fetch-site": "none"}, 200),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "cross-site", "origin": "http://localhost:8000"}, 403),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "http://evil.example@localhost"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": ""}, 403),
        ({"origin": "localhost"}, 403),
    ],
)
def test_without_a_login_pages_of_others_are_refused(
    pile: Path, headers: dict[str, str], status: int
) -> None:
    live, hosts = LiveCatalog(pile / "catalog", NO_MODELS), frozenset({"localhost"})
    app = rest_app(live, Access({}), hosts=hosts, log=False)
    client = TestClient(app, base_url="http://localhost:8000", raise_server_exceptions=False)
    assert client.get("/api/v1/stats", headers=headers).status_code == status
    assert client.post("/api/v1/ask", json={"question": "orders"}, headers=headers).status_code == (
        status
    )
    if status == 403:  # who follows a link of another page may open the page
        assert client.get("/", headers=headers).status_code == 200
        assert client_of(pile).get("/api/v1/stats", headers=headers).status_code == 200


@pytest.mark.parametrize(
    "host",
    ["evil@localhost", "localhost/x", "localhost#x", "localhost:x", "localhost:", "localhost."],
)
def test_what_only_holds_a_name_of_ours_is_none(pile: Path, host: str) -> None:
    client = client_of(pile, hosts=frozenset({"localhost"}))
    assert client.get("/api/v1/stats", headers={"host": host}).status_code == 421
    assert client.get("/api/v1/stats", headers={"host": "LOCALHOST:1"}).status_code == 200
