"""Who may see what: files of tokens, callers of REST and agents who are shown some tables."""

from __future__ import annotations

import asyncio
import json
import logging
import sqlite3
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any

from fastapi.testclient import TestClient
from mcp.server.mcpserver.exceptions import ToolError

import dovetail
from dovetail.errors import UsageError
from dovetail.serve.guarded import Access, Caller, RequestLimits, UnauthorizedError, read_access
from dovetail.serve.live_catalog import LiveCatalog
from dovetail.serve.mcp import mcp_server
from dovetail.serve.rest import rest_app
from tests.support.kinds.case import HIDDEN, PLAIN, Case, Draw, Kind

# Stands in no name, value and note.
_NOWHERE = "quoll"
HASH = sha256(b"token").hexdigest()
_READER = {"Authorization": "Bearer token"}


def tokens(folder: Path) -> Kind:
    """Files of tokens: what is accepted lets in whom it names, to what it names, nobody else."""
    file = folder / "tokens.toml"
    good = {"name": '"a"', "sha256": f'"{HASH}"', "tables": '["orders"]', "notes": "true"}
    odd = {
        "name": ['""', "1", "[]", "true"],
        "sha256": [f'"{sha256(b"").hexdigest()}"', '""', '"token"', "0", f'"{HASH}0"', '" "',
                   f'"{sha256(b"").hexdigest().upper()}"'],
        "tables": ["[]", '[""]', '"orders"', "[1]", '[" "]', "{}", "false", '["orders", ""]'],
        "notes": ["0", '"no"', "[]", "1.0"],
    }  # fmt: skip

    def case(draw: Draw) -> Case:
        entry, spoilt = dict(good), draw.random() < 0.7
        if spoilt:
            key = draw.choice(list(good))
            way = draw.randrange(3)
            if way == 0:
                entry[key] = draw.choice(odd[key])
            elif way == 1:  # misspelt: the key itself may be one that need not be there
                entry[_misspelt(key, draw)] = entry.pop(key)
            else:
                entry[draw.choice(["table", "allow", "deny", "*", "Tables", "scope"])] = '["x"]'
        keys = draw.sample(list(entry), len(entry))
        text = "[[tokens]]\n" + "\n".join(f"{json.dumps(key)} = {entry[key]}" for key in keys)
        file.write_text(text + "\n")
        try:
            access = read_access(file, {})
        except UsageError as error:
            return "refused in a line", "" if spoilt and "\n" not in str(error) else text
        with_token = access.caller("Bearer token", "x")
        wrong = spoilt or with_token != Caller("a", ("orders",), True)
        for header in (None, "", "Bearer", "Bearer ", "Basic token", "Bearer tokens"):
            try:
                access.caller(header, "127.0.0.1")
                wrong = True
            except UnauthorizedError:
                pass
        return "accepted as it says", text if wrong else ""

    return case


def _misspelt(key: str, draw: Draw) -> str:
    at = draw.randrange(len(key))
    other = draw.choice(
        [key[:at] + key[at + 1 :], key[:at] + "x" + key[at:], key.upper(), key + "s"]
    )
    return other or "x"


def visible(folder: Path) -> Kind:
    """Requests of one who sees two tables: no reply tells of the others, or of the machine."""
    client = TestClient(
        rest_app(
            LiveCatalog(pile(folder), PLAIN),
            Access({HASH: Caller("a", ("orders", "customers"))}),
            RequestLimits(per_minute=10**9), notes=True, log=False,
        ),
        headers=_READER, raise_server_exceptions=False,
    )  # fmt: skip
    words = ("orders", "customers", "payroll", "bonus", "secret", "gnu", "backup", "zeb", "city",
             "amount", "copies of", "history", "who earns", "%", "*", "shop", "Wien", "all tables",
             "customer_no", "a join with", "sum of")  # fmt: skip
    names = ("orders", "customers", "payroll", "zeb", "orders_backup_", "*", "%", "shop::orders",
             "shop::", "main.orders", "sqlite_master", "..", "", "orders\n",
             "a" * 2_000)  # fmt: skip
    queries = (
        "SELECT * FROM {0}", "SELECT * FROM duckdb_tables()", "SELECT * FROM sqlite_master",
        "SELECT * FROM information_schema.tables", "SHOW TABLES", "SELECT * FROM {0}, {1}",
        "SELECT * FROM orders o JOIN {1} p USING (customer_no)", "FROM duckdb_columns()",
        "SELECT bonus FROM orders", "SELECT (SELECT count(*) FROM {1})", "PRAGMA table_info({0})",
        "WITH x AS (SELECT * FROM {1}) SELECT * FROM x", "SELECT getenv('HOME')", "DESCRIBE {0}",
    )  # fmt: skip

    def request(draw: Draw) -> tuple[str, str, dict[str, Any]]:
        question = " ".join(draw.sample(words, draw.randint(1, 4)))
        one, two = draw.choice(names), draw.choice(names)
        sql = draw.choice(queries).format(one, two)
        more = {"breadth": draw.random(), "explain": draw.random() < 0.5}
        asked: list[tuple[str, str, dict[str, Any]]] = [
            ("POST", "/api/v1/ask", {"json": {"question": question, **more}}),
            ("POST", "/api/v1/ask", {"json": {"question": question, "looking_for": [one, two]}}),
            ("POST", "/api/v1/ask", {"json": {"question": question, "sources": [one]}}),
            ("GET", "/api/v1/ask/stages", {"params": {"question": question}}),
            ("GET", "/api/v1/search", {"params": {"q": question, "looking_for": [two]}}),
            ("GET", "/api/v1/find", {"params": {"q": draw.choice(words)}}),
            ("POST", "/api/v1/answer", {"json": {"sql": sql, "tables": [one]}}),
            ("POST", "/api/v1/answer", {"json": {"sql": sql}}),
            ("POST", "/api/v1/set", {"json": {"question": question, "tables": [one, two]}}),
            ("GET", "/api/v1/joins", {"params": {"table": one, "least": 0}}),
            ("GET", "/api/v1/path", {"params": {"start": one, "end": two}}),
            ("GET", "/api/v1/domains", {"params": {"table": one}}),
            ("GET", f"/api/v1/tables/{one.strip()}", {}),
            ("GET", f"/api/v1/{draw.choice(['pile', 'listing', 'families', 'about'])}", {}),
            ("GET", "/api/v1/notes", {}),
            ("POST", "/api/v1/notes", {"json": {
                "section": draw.choice(["terms", "about", "tables", "joins", "questions"]),
                "key": draw.choice([one, f"{one}.a = {two}.b", question]) or "x",
                "value": draw.choice(["pin", "canonical", two, question]) or "x"}}),
            ("GET", "/api/v1/tables-to-describe", {}),
            ("POST", "/api/v1/descriptions", {"json": {one or "x": {"description": question}}}),
            ("DELETE", "/api/v1/notes", {"params": {
                "section": draw.choice(["terms", "about", "tables", "joins", "questions"]),
                "key": draw.choice([f"{HIDDEN}_payroll", "bonus", "gnu", "orders"])}}),
            ("POST", "/api/v1/joins/check", {"json": {
                "left": one, "right": two, "columns": [["customer_no", "customer_no"]]}}),
            ("POST", "/api/v1/joins/check", {"json": {
                "left": "orders", "right": f"{HIDDEN[:3]}_payroll", "columns": [["a", "bonus"]]}}),
            ("POST", "/api/v1/query", {"json": {"tables": ["orders", "customers"], "parts": {
                "select": [{"table": one, "column": draw.choice(["amount", "bonus", "secret"])}],
                "where": [{"table": two, "column": "city", "operator": "=", "values": ["Oslo"]}],
                "absent": [one], "counted": [two]}}}),
            ("POST", "/api/v1/answer", {"json": {"question": question}}),
        ]  # fmt: skip
        return draw.choice(asked)

    def case(draw: Draw) -> Case:
        method, path, more = request(draw)
        reply = client.request(method, path, **more)
        told = HIDDEN in reply.text.casefold() or str(folder) in reply.text
        wrong = f"{method} {path} {more}: {reply.status_code} {reply.text[:300]}"
        return (
            f"answered with {reply.status_code}",
            wrong if told or reply.status_code >= 500 else "",
        )

    return case


def agents(folder: Path) -> Kind:
    """Calls of an agent that is shown two tables: of a table that it may not see it is told what it
    is told of one that is not there, and nothing of the machine. What is searched for by the words
    of such a table names none; how relevant others are may tell that the words are somewhere."""
    tools = mcp_server(LiveCatalog(pile(folder), PLAIN, ("orders", "customers")), notes=True)
    logging.getLogger("httpx2").setLevel(logging.WARNING)  # the server has every request told
    names = ("orders", "customers", "?_payroll", "shop::?_payroll", "orders_backup_?", "_payroll",
             "*", "shop::", "?", "", "a" * 999)  # fmt: skip
    words = ("gnu", "bonus", "who earns", "orders", "city", "backup", "copies", "secret", "?")
    queries = ("FROM {0}", "SELECT * FROM orders, {0}", "SELECT bonus FROM {0}", "SHOW TABLES",
               "SELECT * FROM duckdb_tables()", "SELECT * FROM query_table('{0}')",
               "SELECT (SELECT count(*) FROM {0})", "DESCRIBE {0}", "SELECT '{0}'::regclass",
               "SELECT * FROM orders UNION ALL FROM {0}", "FROM read_csv('{0}')")  # fmt: skip

    def call(draw: Draw) -> tuple[str, dict[str, Any]]:
        one, two, said = draw.choice(names), draw.choice(names), " ".join(draw.sample(words, 2))
        calls: list[tuple[str, dict[str, Any]]] = [
            ("find_tables", {"question": said, "looking_for": [one], "breadth": draw.random()}),
            ("search_tables", {"question": said, "looking_for": [one, two]}),
            ("join_path", {"start": one, "end": two}),
            ("describe_tables", {"tables": [one, two]}),
            ("sample_rows", {"table": one}),
            ("run_sql", {"sql": draw.choice(queries).format(one)}),
            ("run_sql", {"sql": "FROM orders", "tables": [one, two]}),
            ("tables_to_describe", {}),
            ("save_descriptions", {"descriptions": {one: {"description": said}}}),
            ("save_note", {"section": "about", "key": one, "value": said}),
        ]
        return draw.choice(calls)

    async def told(name: str, given: dict[str, Any], hidden: str) -> tuple[str, str]:
        given = json.loads(json.dumps(given).replace("?", hidden))
        try:
            return "answered", str(await tools.call_tool(name, given))
        except ToolError as error:
            return "refused in a line", str(error)

    def case(draw: Draw) -> Case:
        name, given = call(draw)
        searched = name in ("find_tables", "search_tables")
        hidden = "" if searched else HIDDEN  # of these, what was asked comes back
        how, said = asyncio.run(told(name, given, hidden))
        _, other = asyncio.run(told(name, given, hidden and _NOWHERE))
        fine = HIDDEN not in said if searched else said.replace(HIDDEN, _NOWHERE) == other
        fine = fine and str(folder) not in said and "Traceback" not in said
        return how, "" if fine else f"{name} {given}: {said[:300]}"

    return case


def pile(folder: Path) -> Path:
    """Two tables to be seen; copies, a history, notes and queries on tables that are not."""
    with closing(sqlite3.connect(folder / "shop.sqlite")) as db, db:
        db.executescript(f"""
            CREATE TABLE customers (customer_no INTEGER PRIMARY KEY, city TEXT);
            INSERT INTO customers VALUES (1,'Oslo'),(2,'Turin'),(3,'Porto'),(4,'Lima'),(5,'Rome');
            CREATE TABLE orders (order_no INTEGER PRIMARY KEY, customer_no INTEGER, amount INTEGER);
            WITH RECURSIVE n(value) AS (SELECT 1 UNION ALL SELECT value+1 FROM n WHERE value<90)
              INSERT INTO orders SELECT value, value % 5 + 1, value * 3 FROM n;
            CREATE TABLE orders_backup_{HIDDEN} AS SELECT * FROM orders;
            CREATE TABLE {HIDDEN}_payroll (customer_no INTEGER, bonus INTEGER, secret TEXT);
            INSERT INTO {HIDDEN}_payroll
              SELECT customer_no, amount, '{HIDDEN}' || amount FROM orders;
        """)
    (folder / "dovetail.notes.toml").write_text(f"""
        [terms]
        bonus = "{HIDDEN} pay : {HIDDEN}_payroll"
        [about]
        {HIDDEN}_payroll = "what a {HIDDEN} earns"
        [tables]
        "orders" = "copy of orders_backup_{HIDDEN}"
        [questions]
        gnu = "orders, {HIDDEN}_payroll"
        [joins]
        "{HIDDEN}_payroll.bonus = orders.amount" = "pin"
    """)
    shop = f"shop={folder / 'shop.sqlite'}"
    catalog = dovetail.build(shop, into=folder / "catalog", settings=PLAIN)
    log = folder / "log.sql"
    log.write_text(f"SELECT * FROM orders o JOIN {HIDDEN}_payroll p ON o.amount = p.bonus;")
    catalog.learn(str(log))
    return folder / "catalog"
