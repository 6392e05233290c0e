"""Generation: what a model is asked, what is made of its reply, and one more try when it fails."""

from __future__ import annotations

import json
import threading
import urllib.request
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

import dovetail
from dovetail.answer.execute import Executor
from dovetail.answer.generate import answer, check, extract_sql, generate, prompt, write_sql
from dovetail.answer.relations import Relation, relations
from dovetail.domain import Chosen, JoinEdge, TableSet
from dovetail.errors import ModelError
from dovetail.ports import Completion, Json, Message


class Endpoint(HTTPServer):
    """An endpoint that answers with the next of some replies and keeps what it was sent."""

    def __init__(self, replies: list[str]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.replies = replies
        self.asked: list[Any] = []


class Handler(BaseHTTPRequestHandler):
    server: Endpoint

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.asked.append(json.loads(body)["messages"])
        reply = json.dumps({"text": self.server.replies.pop(0)}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


class OverHttp:
    """A model at an endpoint; every call costs 100 tokens in and 10 out."""

    model_id = "scripted"

    def __init__(self, endpoint: Endpoint) -> None:
        self._url = f"http://127.0.0.1:{endpoint.server_port}/"
        self.endpoint = endpoint

    def complete(
        self,
        messages: Sequence[Message],
        *,
        schema: Json | None = None,
        max_tokens: int = 1024,
    ) -> Completion:
        del schema, max_tokens
        turns = [{"role": turn.role, "content": turn.content} for turn in messages]
        data = json.dumps({"messages": turns}).encode()
        with urllib.request.urlopen(urllib.request.Request(self._url, data), timeout=10) as reply:
            return Completion(json.load(reply)["text"], 100, 10, 0.5)


@pytest.fixture
def model(request: pytest.FixtureRequest) -> Iterator[OverHttp]:
    endpoint = Endpoint(list(request.param))
    thread = threading.Thread(target=endpoint.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield OverHttp(endpoint)
    endpoint.shutdown()
    thread.join()
    endpoint.server_close()


@pytest.fixture(scope="module")
def shop(sample: dovetail.Catalog) -> tuple[Relation, ...]:
    return relations([sample["shop.sqlite::orders"], sample["shop.sqlite::status"]])


GOOD = "SELECT label, count(*) FROM orders JOIN status USING (status) GROUP BY label"
BAD = "SELECT lable FROM status"


@pytest.mark.parametrize(
    ("reply", "sql"),
    [
        ("SELECT 1", "SELECT 1"),
        ("SELECT 1;", "SELECT 1"),
        ("```sql\nSELECT 1;\n```", "SELECT 1"),
        ("```SQL\nSELECT 1\n```", "SELECT 1"),
        ("```\nSELECT 1\n```", "SELECT 1"),
        ("~~~sql\nSELECT 1\n~~~", "SELECT 1"),
        ("```sqlite\nSELECT 1\n```", "SELECT 1"),
        ("````sql\nSELECT 1\n````", "SELECT 1"),
        ("```sql\nSELECT 1", "SELECT 1"),
        ("Sure!\n\n```sql\nSELECT 1\n```\n\nThis counts.", "SELECT 1"),
        ("```python\nprint()\n```\n```sql\nSELECT 1\n```", "SELECT 1"),
        ("```sql\nSELECT 1\n```\nBetter:\n```sql\nSELECT 2\n```", "SELECT 2"),
        ("<think>SELECT 9</think>SELECT 1", "SELECT 1"),
        ("<think>```sql\nSELECT 9\n```</think>\n```sql\nSELECT 1\n```", "SELECT 1"),
        ("<sql>SELECT 1</sql>", "SELECT 1"),
        ('{"sql": "SELECT 1"}', "SELECT 1"),
        ('```json\n{"sql": "SELECT 1"}\n```', "SELECT 1"),
        ("The query is `SELECT 1`.", "SELECT 1"),
        ("Answer: SELECT 1 FROM t;\nThat is it.", "SELECT 1 FROM t"),
        ("WITH x AS (SELECT 1) SELECT * FROM x", "WITH x AS (SELECT 1) SELECT * FROM x"),
        ("SELECT a\nFROM t\n\nThis is right.", "SELECT a\nFROM t"),
        ("I cannot answer with what is here.", ""),
        ("", ""),
    ],
)  # fmt: skip
def test_sql_is_found_however_it_is_wrapped(reply: str, sql: str) -> None:
    assert extract_sql(reply) == sql


def test_the_prompt_holds_schema_joins_evidence_and_dialect(
    shop: tuple[Relation, ...],
) -> None:
    left, right = shop[0].table.id, shop[1].table.id
    edge = JoinEdge(left, right, (("status", "status"),), 1.0, "n:1", 1.0, {})
    asked = prompt("How many\n{orders}?", shop, [edge], "sqlite", "late means\nafter {due}")
    assert asked.startswith("Write one SQLite query")
    assert "CREATE TABLE orders (  -- 600 rows\n  order_no BIGINT," in asked
    assert "-- orders.status = status.status  (n:1)" in asked
    assert "Known besides: late means after {due}\nQuestion: How many {orders}?\n" in asked
    assert "Known besides" not in prompt("How many?", shop, [], "duckdb", " ")


@pytest.mark.parametrize(
    ("sql", "dialect", "complaint"),
    [
        (GOOD, "duckdb", ""),
        (BAD, "duckdb", "there is no column lable in table status; it has: status, label, "),
        ("SELECT * FROM nope", "duckdb", "refused: nope is not a table of the set, which are: "),
        ("DELETE FROM orders", "duckdb", "refused: DELETE is no query; only SELECT may run"),
        ("SELECT FROM (", "duckdb", "refused: it does not parse as SQL"),
        ("", "duckdb", "there is no SQL in the answer"),
        ('SELECT 1 FROM status WHERE status = "new"', "sqlite", ""),
        ('SELECT 1 FROM status WHERE status = "new"', "duckdb", "there is no column new in "),
    ],
)  # fmt: skip
def test_what_cannot_run_is_found_before_it_runs(
    shop: tuple[Relation, ...], sql: str, dialect: str, complaint: str
) -> None:
    found = check(sql, shop, dialect)
    assert found.startswith(complaint) if complaint else found == ""


@pytest.mark.parametrize("model", [[GOOD]], indirect=True)
def test_one_call_when_nothing_is_wrong(model: OverHttp, shop: tuple[Relation, ...]) -> None:
    found = generate(model, "How many orders of each status?", shop)
    assert (found.sql, found.first, found.complaint, found.left) == (GOOD, GOOD, "", "")
    assert (found.calls, found.tokens_in, found.tokens_out, found.seconds) == (1, 100, 10, 0.5)
    assert not found.repaired


@pytest.mark.parametrize("model", [[BAD, f"```sql\n{GOOD}\n```"]], indirect=True)
def test_the_complaint_is_sent_back_once(model: OverHttp, shop: tuple[Relation, ...]) -> None:
    found = generate(model, "How many orders of each status?", shop)
    assert (found.sql, found.first, found.left) == (GOOD, BAD, "")
    assert found.repaired
    assert (found.calls, found.tokens_in, found.tokens_out, found.seconds) == (2, 200, 20, 1.0)
    roles = [turn["role"] for turn in model.endpoint.asked[1]]
    assert roles == ["user", "assistant", "user"]
    assert model.endpoint.asked[1][1]["content"] == BAD
    assert "there is no column lable in table status" in model.endpoint.asked[1][2]["content"]


@pytest.mark.parametrize("model", [[BAD]], indirect=True)
def test_without_repair_there_is_a_single_shot(model: OverHttp, shop: tuple[Relation, ...]) -> None:
    found = generate(model, "?", shop, repair=False)
    assert (found.sql, found.calls, found.repaired) == (BAD, 1, False)
    assert found.left == found.complaint != ""


@pytest.mark.parametrize("model", [[BAD, "I give up."]], indirect=True)
def test_a_second_failure_keeps_the_first_query(
    model: OverHttp, shop: tuple[Relation, ...]
) -> None:
    found = generate(model, "?", shop)
    assert (found.sql, found.calls, found.repaired) == (BAD, 2, False)


@pytest.mark.parametrize("model", [["No.", "Never."]], indirect=True)
def test_a_model_that_writes_no_sql_is_an_error(
    model: OverHttp, shop: tuple[Relation, ...], sample: dovetail.Catalog
) -> None:
    chosen = (Chosen(shop[0].table.id, 1.0, "search", ""),)
    with pytest.raises(ModelError, match=r"^scripted wrote no SQL"):
        write_sql(sample.reader, model, TableSet("?", chosen, ()))


@pytest.mark.parametrize("model", [[BAD, GOOD]], indirect=True)
def test_from_question_to_rows(model: OverHttp, sample: dovetail.Catalog) -> None:
    ids = [sample[name].id for name in ("shop.sqlite::orders", "shop.sqlite::status")]
    edge = JoinEdge(ids[0], ids[1], (("status", "status"),), 1.0, "n:1", 1.0, {})
    chosen = tuple(Chosen(table, 1.0, "search", "") for table in ids)
    with Executor(sample.reader, workers=1) as executor:
        found = answer(executor, sample.reader, model, TableSet("How many?", chosen, (edge,)))
    assert found.sql == GOOD
    assert sum(found.rows.column(1).to_pylist()) == 600
    assert (found.tokens_in, found.tokens_out) == (200, 20)
    assert found.seconds["generate"] == 1.0
    assert found.generated is not None
    assert found.generated.repaired
    assert found.warnings == ()
    assert found.tables == tuple(ids)
