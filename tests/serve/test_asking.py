"""Processes that answer questions: the same answers, the same rights, the same state."""

from __future__ import annotations

import hashlib
import os
import signal
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

import dovetail
from dovetail.serve.asking import Asking
from dovetail.serve.guarded import Access, Caller
from dovetail.serve.live_catalog import LiveCatalog
from dovetail.serve.rest import rest_app
from dovetail.settings import Settings
from tests.support.scripted import write_shop

QUESTION = {"question": "Which customers ordered which products?"}
SETTINGS = Settings(embedder="none", llm_log="not-in-arguments")
CALLERS = {
    hashlib.sha256(name.encode()).hexdigest(): Caller(name, tables)
    for name, tables in (("all", ()), ("some", ("customers", "orders")))
}
REQUESTS: list[tuple[str, str, dict[str, Any]]] = [
    ("POST", "/api/v1/ask", {"json": QUESTION | {"explain": True}}),
    ("POST", "/api/v1/ask", {"json": QUESTION | {"selector": "nobody"}}),
    ("POST", "/api/v1/set", {"json": {"tables": ["orders", "customers"]}}),
    ("POST", "/api/v1/set", {"json": {"tables": ["products"]}}),
    ("POST", "/api/v1/set", {"json": {"tables": ["no such table"]}}),
    ("GET", "/api/v1/search", {"params": {"q": "products", "looking_for": ["price"]}}),
    ("GET", "/api/v1/ask/stages", {"params": QUESTION}),
    ("GET", "/api/v1/ask/stages", {"params": QUESTION | {"selector": "nobody"}}),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("asking")
    source = f"shop={write_shop(place / 'shop.sqlite')}"
    dovetail.build(source, into=place / "catalog", settings=SETTINGS)
    return place


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
        headers = {"Authorization": f"Bearer {caller}"}
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
    statuses = [client.post("/api/v1/ask", json=QUESTION).status_code for _ in range(4)]
    assert set(statuses) <= {200, 503}
    assert statuses[-2:] == [200, 200]


def test_notes_and_updates_count_from_the_next_request_on(tmp_path: Path) -> None:
    shop = write_shop(tmp_path / "shop.sqlite")
    catalog = tmp_path / "catalog"
    dovetail.build(f"shop={shop}", into=catalog, settings=SETTINGS)
    live = LiveCatalog(catalog, SETTINGS)
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
        with closing(sqlite3.connect(shop)) as db, db:
            db.execute("CREATE TABLE lighthouses (name TEXT)")
        dovetail.update([f"shop={shop}"], into=catalog, settings=SETTINGS)
        for _ in range(4):
            found = client.post("/api/v1/ask", json=asked).json()["tables"]
            assert [one["name"] for one in found] == ["lighthouses"]
    finally:
        processes.close()


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
