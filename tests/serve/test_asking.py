"""Processes that answer questions: the same answers, the same rights, the same state."""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from dovetail.serve.asking import Asking
from dovetail.serve.connections import bounded
from dovetail.serve.guarded import Access, Caller, RequestLimits
from dovetail.serve.live_catalog import LiveCatalog
from dovetail.serve.rest import rest_app
from tests.support.endpoint import Play, endpoint
from tests.support.served import (
    NO_MODELS,
    QUESTION,
    add_table,
    bearer,
    digest,
    listening,
    shop_catalog,
)

ASKED = {"question": QUESTION}
SETTINGS = NO_MODELS.but(llm_log="not-in-arguments")
CALLERS = {
    digest(name): Caller(name, tables)
    for name, tables in (("all", ()), ("some", ("customers", "orders")))
}
REQUESTS: list[tuple[str, str, dict[str, Any]]] = [
    ("POST", "/api/v1/ask", {"json": ASKED | {"explain": True}}),
    ("POST", "/api/v1/ask", {"json": ASKED | {"selector": "nobody"}}),
    ("POST", "/api/v1/set", {"json": {"tables": ["orders", "customers"]}}),
    ("POST", "/api/v1/set", {"json": {"tables": ["products"]}}),
    ("POST", "/api/v1/set", {"json": {"tables": ["no such table"]}}),
    ("GET", "/api/v1/search", {"params": {"q": "products", "looking_for": ["price"]}}),
    ("GET", "/api/v1/ask/stages", {"params": ASKED}),
    ("GET", "/api/v1/ask/stages", {"params": ASKED | {"selector": "nobody"}}),
]


@pytest.fixture(scope="module")
def live(folder: Path) -> LiveCatalog:
    return LiveCatalog(folder / "catalog", SETTINGS)


@pytest.fixture(scope="module")
def asking(live: LiveCatalog) -> Iterator[Asking]:
    processes = Asking(live, 2)
    yield processes
    processes.close()
    assert _children() == []


@pytest.mark.parametrize("caller", ["all", "some"])
def test_processes_answer_as_the_server_itself(
    live: LiveCatalog, asking: Asking, caller: str
) -> None:
    here, beside = (
        TestClient(rest_app(live, Access(CALLERS), log=False, asking=one)) for one in (None, asking)
    )
    statuses = set()
    for method, path, more in REQUESTS:
        headers = bearer(caller)
        expected, found = (
            client.request(method, path, headers=headers, **more) for client in (here, beside)
        )
        assert (found.status_code, _plain(found)) == (expected.status_code, _plain(expected))
        assert caller == "all" or "shop::products" not in found.text
        statuses.add(found.status_code)
    assert statuses == {200, 400, 404}


def test_settings_are_no_arguments_that_others_read(asking: Asking) -> None:
    assert len(_children()) == 2
    for child in _children():
        assert b"not-in-arguments" not in Path(f"/proc/{child}/cmdline").read_bytes()


def test_a_process_that_is_killed_takes_one_question_at_most(
    live: LiveCatalog, asking: Asking
) -> None:
    client = TestClient(rest_app(live, Access({}), log=False, asking=asking))
    for child in _children():
        os.kill(child, signal.SIGKILL)
    statuses = [client.post("/api/v1/ask", json=ASKED).status_code for _ in range(4)]
    assert set(statuses) <= {200, 503}
    assert statuses[-2:] == [200, 200]


def test_notes_and_updates_count_from_the_next_request_on(tmp_path: Path) -> None:
    live = LiveCatalog(shop_catalog(tmp_path).folder, SETTINGS)
    processes = Asking(live, 2)
    try:
        client = TestClient(rest_app(live, Access({}), log=False, notes=True, asking=processes))
        asked = {"question": "Where are the lighthouses?"}
        assert client.post("/api/v1/ask", json=asked).json()["tables"] == []
        note = {"section": "questions", "key": asked["question"], "value": "customers"}
        assert client.post("/api/v1/notes", json=note).status_code == 200
        for _ in range(4):
            found = client.post("/api/v1/ask", json=asked).json()["tables"]
            assert [one["name"] for one in found] == ["customers"]
        assert client.delete("/api/v1/notes", params=note).status_code == 200
        add_table(tmp_path, "CREATE TABLE lighthouses (name TEXT)")
        for _ in range(4):
            found = client.post("/api/v1/ask", json=asked).json()["tables"]
            assert [one["name"] for one in found] == ["lighthouses"]
    finally:
        processes.close()


@pytest.mark.parametrize("processes", [1, 2])
@pytest.mark.parametrize("path", ["ask", "ask/stages", "answer"])
def test_a_model_that_hangs_keeps_no_place_for_who_has_gone(
    folder: Path, monkeypatch: pytest.MonkeyPatch, path: str, processes: int
) -> None:
    monkeypatch.setattr("dovetail.serve.asking._GRACE", 0.0)
    with endpoint(Play(hangs=True)) as model:
        for name, value in model.environ.items():
            monkeypatch.setenv(name, value)
        settings = NO_MODELS.but(llm="openai:tiny", selector="llm")
        live = LiveCatalog(folder / "catalog", settings)
        asking, limits = Asking(live, processes), RequestLimits(at_once=1, per_minute=10**9)
        app = rest_app(live, Access({}), limits, log=False, asking=asking)
        with listening(app, **bounded()) as (_, port):
            try:
                with closing(socket.create_connection(("127.0.0.1", port))) as caller:
                    caller.sendall(_asked(path))
                    while not model.asked:
                        time.sleep(0.01)
                    assert _status(port) == 503
                while _status(port) == 503:  # the model is given 120 seconds, six times
                    time.sleep(0.01)
                assert _status(port) == 200
                assert len(model.asked) == 1
                assert not model.closing.is_set()
            finally:
                asking.close()


def _asked(path: str) -> bytes:
    """A request that needs the model, as it is sent."""
    head = "Host: x\r\nContent-Type: application/json\r\n"
    if path == "ask/stages":
        return f"GET /api/v1/{path}?question=orders HTTP/1.1\r\n{head}\r\n".encode()
    body = '{"question": "orders"}'
    head += f"Content-Length: {len(body)}\r\n"
    return f"POST /api/v1/{path} HTTP/1.1\r\n{head}\r\n{body}".encode()


def _status(port: int) -> int:
    connection = HTTPConnection("127.0.0.1", port)
    with closing(connection):
        connection.request("GET", "/api/v1/stats")
        return connection.getresponse().status


def _plain(reply: Any) -> Any:
    """What a reply says, without the number that every request has."""
    if reply.headers["content-type"] == "application/problem+json":
        return {key: value for key, value in reply.json().items() if key != "request_id"}
    return reply.text


def _children() -> list[int]:
    """The processes of this one that answer questions."""
    listed = Path(f"/proc/{os.getpid()}/task").glob("*/children")
    children = [int(child) for file in listed for child in file.read_text().split()]
    return [one for one in children
            if b"serve.asking" in Path(f"/proc/{one}/cmdline").read_bytes()]  # fmt: skip
