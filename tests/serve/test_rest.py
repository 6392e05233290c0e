"""The REST interface: every path, who may see what, limits, and problems in one form."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pyarrow.parquet as parquet
import pytest
from fastapi.testclient import TestClient

from dovetail.errors import UsageError
from dovetail.serve.guarded import Access, Caller, RequestLimits, read_access
from dovetail.serve.live_catalog import LiveCatalog
from dovetail.serve.rest import rest_app
from dovetail.sources.warehouse_dialects import DIALECTS
from dovetail.text import confidence_word
from tests.support.command_line import run
from tests.support.served import NO_MODELS, QUESTION, add_table, bearer, digest, shop_catalog

TOKEN = "open-sesame"
READER = bearer(TOKEN)


@pytest.fixture
def client(live: LiveCatalog) -> TestClient:
    return TestClient(rest_app(live, Access({}), log=False))


def good(client: TestClient, method: str, path: str, **more: Any) -> Any:
    reply = client.request(method, path, **more)
    assert reply.status_code == 200, reply.text
    assert reply.headers["x-request-id"]
    return reply.json()


def test_a_source_that_bills_is_queried_only_where_somebody_says_so(
    client: TestClient, live: LiveCatalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert good(client, "GET", "/api/v1/about")["billed"] == []
    monkeypatch.setitem(DIALECTS, "path", DIALECTS["snowflake"])
    assert good(client, "GET", "/api/v1/about")["billed"] == ["shop"]
    refused = client.post("/api/v1/answer", json={"question": QUESTION})
    assert refused.status_code == 400
    assert "shop bills for queries, so none is run by itself" in refused.json()["detail"]
    named = client.post("/api/v1/answer", json={"question": QUESTION, "tables": ["orders"]})
    assert named.status_code == 400
    for wanted in (
        {"question": QUESTION, "run": True},
        {"question": QUESTION, "tables": ["orders"], "run": True},
        {"sql": "SELECT 1 FROM orders"},
    ):
        assert good(client, "POST", "/api/v1/answer", json=wanted)["result"]["rows"]
    allowed = LiveCatalog(live.folder, NO_MODELS.but(run_billed=True)).current()
    assert allowed.billed == frozenset()


def test_a_question_gets_its_set(client: TestClient) -> None:
    found = good(client, "POST", "/api/v1/ask", json={"question": QUESTION})
    names = {table["name"] for table in found["tables"]}
    assert names >= {"customers", "orders", "order_items", "products"}
    assert (found["connected"], found["nothing_fits"]) == (True, False)
    one = good(
        client, "POST", "/api/v1/ask", json={"question": QUESTION, "selector": "search", "k": 1}
    )
    assert len(one["tables"]) == 1


def test_phrases_say_which_tables_are_expected(client: TestClient) -> None:
    sought = ["rainfall at a weather station"]
    given = {"question": "names of customers", "breadth": 0.2, "looking_for": sought}
    found = good(client, "POST", "/api/v1/ask", json=given)
    others = {one["id"]: one for one in found["candidates"]}
    assert "rainfall" in others["shop::weather"]["columns"]
    given = {"q": "customers", "limit": 2, "looking_for": sought}
    ranked = good(client, "GET", "/api/v1/search", params=given)
    assert [one["id"] for one in ranked] == ["shop::customers", "shop::weather"]
    with client.stream(
        "GET", "/api/v1/ask/stages", params={"question": "customers", "k": 2, "looking_for": sought}
    ) as reply:
        text = "".join(reply.iter_text())
    first = json.loads(text.split("\n\n")[0].split("data: ")[1])
    assert [one["id"] for one in first] == ["shop::customers", "shop::weather"]
    many = client.get("/api/v1/search", params={"q": "x", "looking_for": ["y"] * 21})
    assert many.status_code == 422


def test_a_join_has_one_score_wherever_it_is_told(client: TestClient, live: LiveCatalog) -> None:
    """`ask`, `joins` and a path in Python, on the command line and over REST, and what the page
    gets: its stages, its set, and the joins of a table."""
    catalog, about = live.current(), ("-C", str(live.folder), "--json")
    asked = {"question": QUESTION}
    with client.stream("GET", "/api/v1/ask/stages", params=asked) as reply:
        told = "".join(reply.iter_text()).split("\n\n")
    stages = [json.loads(event.split("data: ")[1]) for event in told[1:3]]
    every = [
        good(client, "POST", "/api/v1/ask", json=asked)["joins"],
        json.loads(run("ask", QUESTION, *about, DOVETAIL_EMBEDDER="none").stdout)["joins"],
        stages[0],
        stages[1]["joins"],
    ]
    for edge in catalog.ask(QUESTION).joins:
        left, right = str(edge.left), str(edge.right)
        given = {"tables": [left, right], **asked}
        ways = [
            *every,
            [one.to_dict() for one in catalog.joins(edge.left)],
            [one.to_dict() for one in catalog.path(edge.left, edge.right)],
            json.loads(run("joins", left, *about).stdout)["joins"],
            json.loads(run("joins", "--path", left, right, *about).stdout)["joins"],
            good(client, "GET", "/api/v1/joins", params={"table": left}),
            good(client, "GET", "/api/v1/path", params={"start": left, "end": right}),
            good(client, "POST", "/api/v1/set", json=given)["joins"],
        ]
        for way in ways:
            scores = [
                one["score"]
                for one in way
                if (one["left"], one["right"], one["condition"]) == (left, right, edge.condition())
            ]
            assert scores == [pytest.approx(edge.score, abs=1e-4)]


def test_stages_come_as_events(client: TestClient) -> None:
    with client.stream("GET", "/api/v1/ask/stages", params={"question": QUESTION}) as reply:
        assert reply.headers["content-type"].startswith("text/event-stream")
        text = "".join(reply.iter_text())
    events = [part.split("\n")[0] for part in text.strip().split("\n\n")]
    assert events == ["event: search", "event: joins", "event: set", "event: end"]
    chosen = json.loads(text.split("\n\n")[2].split("data: ")[1])
    assert chosen["tables"]


def test_queries_run_guarded(client: TestClient) -> None:
    done = good(client, "POST", "/api/v1/answer", json={"sql": "SELECT count(*) AS n FROM orders"})
    assert (done["result"]["rows"], done["result"]["types"]) == ([[120]], ["integer"])
    assert done["seconds"] > 0
    few = good(client, "POST", "/api/v1/answer", json={"sql": "SELECT * FROM orders", "limit": 2})
    assert (len(few["result"]["rows"]), few["result"]["truncated"]) == (2, True)
    for sql in ("DROP TABLE orders", "SELECT * FROM read_csv('/etc/passwd')", "SELECT 1; SELECT 2"):
        reply = client.post("/api/v1/answer", json={"sql": sql})
        assert reply.status_code == 422
        assert reply.headers["content-type"] == "application/problem+json"
    found = good(client, "POST", "/api/v1/ask", json={"question": QUESTION})
    asked = good(client, "POST", "/api/v1/answer", json={"question": QUESTION})
    assert asked["sql"] == found["skeleton"]
    both = client.post("/api/v1/answer", json={"sql": "SELECT 1", "question": QUESTION})
    assert both.json()["detail"] == "give either sql or question"


def test_a_question_is_answered_by_the_tables_that_its_caller_names(client: TestClient) -> None:
    asked = {"question": "How many orders does each customer have?"}
    by_set = good(client, "POST", "/api/v1/answer", json=asked)["sql"]
    assert "customers" in by_set
    given = {**asked, "tables": ["shop::orders"]}
    done = good(client, "POST", "/api/v1/answer", json=given)
    assert "customers" not in done["sql"]
    assert "FROM orders" in done["sql"]
    assert done["sql"] == good(client, "POST", "/api/v1/set", json=given)["skeleton"]
    for tables, status in ((["nowhere"], 404), ([], 404)):
        reply = client.post("/api/v1/answer", json={**asked, "tables": tables})
        assert reply.status_code == status, reply.text


def test_rows_come_as_files(client: TestClient) -> None:
    wanted = {"sql": "SELECT * FROM orders", "limit": 2}
    text = client.post("/api/v1/answer", json={**wanted, "format": "csv"})
    assert "rows.csv" in text.headers["content-disposition"]
    assert len(text.text.splitlines()) == 121
    packed = client.post("/api/v1/answer", json={**wanted, "format": "parquet"})
    assert parquet.read_table(io.BytesIO(packed.content)).num_rows == 120


def test_values_come_as_they_are(tmp_path: Path) -> None:
    shop = shop_catalog(tmp_path)
    add_table(tmp_path, "CREATE TABLE tickets AS SELECT '[NEW]' AS status, '<18' AS age")
    client = TestClient(rest_app(LiveCatalog(shop.folder, NO_MODELS), Access({}), log=False))
    wanted = {"sql": "SELECT status, age FROM tickets"}
    rows = good(client, "POST", "/api/v1/answer", json=wanted)["result"]["rows"]
    told = client.post("/api/v1/answer", json={**wanted, "format": "csv"}).text
    assert rows == list(csv.reader(io.StringIO(told)))[1:] == [["[NEW]", "<18"]]
    table = good(client, "GET", "/api/v1/tables/tickets")
    assert table["sample"] == [["[NEW]", "<18"]]
    assert [column["examples"] for column in table["columns"]] == [["[NEW]"], ["<18"]]


@pytest.mark.parametrize("condition", ["at most", "less than", "at least", "more than"])
def test_every_comparison_of_a_question_is_told(client: TestClient, condition: str) -> None:
    asked = {"question": f"Items of orders with quantity {condition} 3"}
    found = good(client, "POST", "/api/v1/ask", json=asked)
    assert found["parts"]["where"], found["skeleton"]
    wanted = {"tables": [one["id"] for one in found["tables"]], "parts": found["parts"]}
    assert good(client, "POST", "/api/v1/query", json=wanted)["sql"] == found["skeleton"]


def test_parts_of_a_query_are_changed_and_written(client: TestClient) -> None:
    found = good(client, "POST", "/api/v1/ask", json={"question": "How many orders are there?"})
    wanted = {"tables": ["shop::orders"], "parts": found["parts"]}
    same = good(client, "POST", "/api/v1/query", json=wanted)
    assert (same["sql"], same["reading"]) == (found["skeleton"], found["reading"])
    of = {"table": "shop::orders", "column": "ordered_on"}
    wanted["parts"] |= {"where": [{**of, "operator": ">=", "values": ["2024-02-01"]}]}
    fewer = good(client, "POST", "/api/v1/query", json=wanted)
    assert fewer["sql"].endswith("WHERE ordered_on >= '2024-02-01'")
    wanted["parts"] |= {"where": [{**of, "operator": "; DROP", "values": ["1"]}]}
    assert client.post("/api/v1/query", json=wanted).status_code == 422


def test_a_join_is_held_against_the_rows(client: TestClient) -> None:
    named: dict[str, Any] = {"left": "shop::orders", "right": "shop::customers"}
    named |= {"columns": [["customer_no", "customer_no"]]}
    told = good(client, "POST", "/api/v1/joins/check", json=named)
    assert (told["rows"], told["matched"], told["multiplied"]) == (120, 120, 1.0)
    assert told["examples"]
    named["columns"] = [["order_no", "customer_no"]]
    assert client.post("/api/v1/joins/check", json=named).status_code == 404


def test_the_page_is_told_words_for_confidence_and_short_sources(client: TestClient) -> None:
    about = good(client, "GET", "/api/v1/about")
    assert about["sources"] == {"shop": "shop"}
    assert [word for _, word in about["confidence"]] == ["sure", "likely", "unsure", "guess"]
    found = good(client, "POST", "/api/v1/ask", json={"question": QUESTION})
    joins = good(client, "GET", "/api/v1/joins")
    told = [(one, "score") for one in (*found["tables"], *found["joins"], *joins)]
    told += [(one, "confidence") for one in found["alternatives"]] + [(found, "confidence")]
    for one, number in told:
        connects = one.get("stage") == "connect"
        assert one["sureness"] == (None if connects else confidence_word(one[number]))


def test_tables_joins_paths_and_families(client: TestClient) -> None:
    listed = good(client, "GET", "/api/v1/tables", params={"limit": 2, "offset": 1})
    assert (listed["total"], listed["tables"]) == (7, ["shop::empty_shelf", "shop::order_items"])
    table = good(client, "GET", "/api/v1/tables/shop::orders")
    assert (table["rows"], [one["name"] for one in table["columns"]]) == (
        120, ["order_no", "customer_no", "ordered_on"],
    )  # fmt: skip
    joins = good(client, "GET", "/api/v1/joins", params={"table": "orders"})
    assert {join["condition"] for join in joins} >= {"orders.customer_no = customers.customer_no"}
    assert (
        len(good(client, "GET", "/api/v1/path", params={"start": "customers", "end": "products"}))
        == 3
    )
    (domain,) = good(client, "GET", "/api/v1/domains", params={"table": "customers"})
    assert (domain["name"], domain["master"], domain["normal_form"]) == (
        "customer numbers", "shop::customers.customer_no", "as they are",
    )  # fmt: skip
    assert (
        table["domains"][0] == "customer_no: customer numbers, made in shop::customers.customer_no"
    )
    assert good(client, "GET", "/api/v1/families") == []
    ranked = good(client, "GET", "/api/v1/search", params={"q": "rainfall at a station"})
    assert ranked[0]["id"] == "shop::weather"
    stats = good(client, "GET", "/api/v1/stats")
    assert (stats["tables"], stats["sources"], stats["columns"]) == (7, 1, 19)
    assert good(client, "GET", "/api/v1/health") == {"status": "ok"}


def test_problems_have_one_form(client: TestClient) -> None:
    cases: list[tuple[str, str, dict[str, Any], int, str]] = [
        ("GET", "/api/v1/tables/custmers", {}, 404, "did you mean customers?"),
        ("GET", "/api/v1/nothing", {}, 404, "Not Found"),
        ("DELETE", "/api/v1/tables", {}, 405, "Method Not Allowed"),
        ("POST", "/api/v1/ask", {"json": {"question": ""}}, 422, "body.question"),
        ("POST", "/api/v1/ask", {"json": {"question": "x", "breadth": 7}}, 422, "body.breadth"),
        ("POST", "/api/v1/ask", {"content": b"{"}, 422, "body"),
        ("POST", "/api/v1/ask", {"json": {"question": "  "}}, 400, "the question is empty"),
        ("POST", "/api/v1/ask", {"json": {"question": "x", "selector": "no"}}, 400, "is not known"),
        ("GET", "/api/v1/search", {"params": {"q": "x", "limit": 0}}, 422, "query.limit"),
    ]
    for method, path, more, status, said in cases:
        reply = client.request(method, path, **more)
        assert reply.status_code == status, path
        body = reply.json()
        assert reply.headers["content-type"] == "application/problem+json"
        assert (body["status"], body["request_id"]) == (status, reply.headers["x-request-id"])
        assert said in body["detail"]


def test_headers_keep_browsers_out(client: TestClient) -> None:
    reply = client.get("/api/v1/health", headers={"Origin": "https://example.org"})
    assert "access-control-allow-origin" not in reply.headers
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert "default-src 'none'" in reply.headers["content-security-policy"]


def test_without_a_known_token_there_is_nothing(live: LiveCatalog) -> None:
    client = TestClient(rest_app(live, Access({digest(TOKEN): Caller("reader")}), log=False))
    for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": f"Basic {TOKEN}"},
                    {"Authorization": "Bearer "}, {"Authorization": TOKEN}):  # fmt: skip
        for path in (
            "/api/v1/tables",
            "/api/v1/stats",
            "/api/v1/openapi.json",
            "/metrics",
            "/nothing",
        ):
            reply = client.get(path, headers=headers)
            assert (reply.status_code, reply.headers["www-authenticate"]) == (401, "Bearer")
    assert client.get("/api/v1/health").status_code == 200
    assert client.get("/api/v1/tables", headers=READER).status_code == 200


def test_limits_of_a_minute_and_of_a_body(live: LiveCatalog) -> None:
    limits = RequestLimits(per_minute=3, body=1_000)
    client = TestClient(rest_app(live, Access({}), limits, log=False))
    assert [client.get("/api/v1/stats").status_code for _ in range(4)] == [200, 200, 200, 429]
    client = TestClient(rest_app(live, Access({}), limits, log=False))
    large = json.dumps({"question": "x" * 2_000}).encode()
    reply = client.post("/api/v1/ask", content=large)
    assert (reply.status_code, reply.json()["status"]) == (413, 413)
    chunks = (large[at : at + 100] for at in range(0, len(large), 100))  # no length is told
    assert client.post("/api/v1/ask", content=chunks).status_code == 413


def test_metrics_count_by_path_and_status(live: LiveCatalog) -> None:
    client = TestClient(rest_app(live, Access({}), log=False))
    client.get("/api/v1/stats")
    client.get("/api/v1/tables/none-of-this")
    text = client.get("/metrics").text
    assert 'dovetail_requests_total{path="/api/v1/stats",status="200"} 1.0' in text
    assert 'dovetail_requests_total{path="/api/v1/tables/{table:path}",status="404"} 1.0' in text


def test_an_update_is_seen_by_the_next_request(tmp_path: Path) -> None:
    live = LiveCatalog(shop_catalog(tmp_path).folder, NO_MODELS)
    client = TestClient(rest_app(live, Access({}), log=False))
    assert client.get("/api/v1/tables/lighthouses").status_code == 404
    add_table(tmp_path, "CREATE TABLE lighthouses (name TEXT)")
    assert client.get("/api/v1/tables/lighthouses").status_code == 200


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("tokens = 5", "token 1 has the keys"),
        ("[[tokens]]\nname = 'a'\nsha256 = 'secret'", "the 64 hexadecimal digits"),
        ("[[tokens]]\nname = 'a'", "its sha256 must be"),
        ("", "must have"),
        ("[[tokens", "is no TOML"),
    ],
)
def test_a_bad_file_of_tokens_is_refused(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "tokens.toml"
    file.write_text(text)
    with pytest.raises(UsageError, match=said) as told:
        read_access(file, {})
    assert "secret" not in str(told.value)


def test_tokens_come_from_a_file_or_the_environment(tmp_path: Path) -> None:
    file = tmp_path / "tokens.toml"
    file.write_text(f"[[tokens]]\nname = 'a'\nsha256 = '{digest('x')}'\ntables = ['sales.*']\n")
    assert read_access(file, {}).callers == {digest("x"): Caller("a", ("sales.*",))}
    environ = {"DOVETAIL_TOKENS": f"a={digest('x')}, b={digest('y').upper()}"}
    assert [one.name for one in read_access(None, environ).callers.values()] == ["a", "b"]
    assert read_access(None, {}).callers == {}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("processes", "number", "code", "ended"),
    [
        ("1", signal.SIGTERM, 143, "dovetail: ended by SIGTERM"),
        ("2", signal.SIGTERM, 143, "dovetail: ended by SIGTERM"),
        ("2", signal.SIGINT, 130, "dovetail: interrupted"),
    ],
)
def test_the_command_serves_logs_and_ends(
    folder: Path, processes: str, number: signal.Signals, code: int, ended: str
) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "dovetail", "serve", "--port", str(port), "-C", "catalog",
               "--processes", processes]  # fmt: skip
    environ = {**os.environ, "DOVETAIL_EMBEDDER": "none"}
    process = subprocess.Popen(command, cwd=folder, env=environ, stderr=subprocess.PIPE, text=True)
    try:
        assert _eventually(f"http://127.0.0.1:{port}/api/v1/health", process) == {"status": "ok"}
        listed = Path(f"/proc/{process.pid}/task").glob("*/children")
        beside = [Path("/proc") / child for file in listed for child in file.read_text().split()]
        assert len(beside) == int(processes) - (processes == "1")
        process.send_signal(number)
        _, told = process.communicate()
        while any(child.exists() for child in beside):  # they end where nobody can ask any more
            time.sleep(0.01)
    finally:
        process.kill()
    lines = told.splitlines()
    here = f"http://127.0.0.1:{port}"
    assert lines[0] == f"dovetail serves 7 tables at {here}/ (the page) and {here}/api"
    logged = json.loads(lines[-2])
    assert (logged["path"], logged["status"], logged["method"]) == ("/api/v1/health", 200, "GET")
    assert (process.returncode, lines[-1]) == (code, ended)


def test_beyond_this_machine_it_needs_tokens(folder: Path) -> None:
    done = run("serve", "--host", "0.0.0.0", "-C", str(folder / "catalog"))
    assert done.returncode == 2
    assert "0.0.0.0 can be reached from other machines" in done.stderr


def _eventually(url: str, server: subprocess.Popen[str]) -> Any:
    while server.poll() is None:
        try:
            with urllib.request.urlopen(url) as reply:
                return json.load(reply)
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.1)
    raise AssertionError(f"{url} does not answer")
