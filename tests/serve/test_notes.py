"""Notes over REST: off by default, held against what a caller sees, in force at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from dovetail.notes.file import put_entry, read_entries
from dovetail.serve.guarded import Access, Caller, read_access
from dovetail.serve.live_catalog import LiveCatalog
from dovetail.serve.rest import rest_app
from tests.support.served import NO_MODELS, bearer, digest

JOIN = "orders.order_no = weather.station"


@pytest.fixture
def folder(own_folder: Path) -> Path:
    """A catalog of its own, so that no test finds the notes of another."""
    return own_folder


def client(folder: Path, access: Access | None = None, **more: Any) -> TestClient:
    live = LiveCatalog(folder / "catalog", NO_MODELS)
    token = bearer("reader") if access else {}
    app = rest_app(live, access or Access({}), log=False, **{"notes": True, **more})
    return TestClient(app, headers=token)


def test_a_note_counts_from_the_next_request_on_and_is_taken_back(folder: Path) -> None:
    asked = client(folder)
    assert asked.get("/api/v1/notes").json() == {"writable": True, "notes": [], "problems": []}
    wanted = {"section": "joins", "key": JOIN, "value": "pin"}
    assert asked.post("/api/v1/notes", json=wanted).json()["notes"] == [wanted]
    path = asked.get("/api/v1/path", params={"start": "weather", "end": "customers"}).json()
    assert [join["evidence"].get("pinned") for join in path] == [1.0, None]
    (file,) = folder.glob("*.toml")
    assert [(one.section, one.value) for one in read_entries(file)[0]] == [("joins", "pin")]
    gone = asked.delete("/api/v1/notes", params={"section": "joins", "key": JOIN})
    assert gone.json()["notes"] == []
    assert asked.get("/api/v1/path", params={"start": "weather", "end": "customers"}).json() == []
    again = asked.delete("/api/v1/notes", params={"section": "joins", "key": JOIN})
    assert (again.status_code, again.json()["title"]) == (404, "Not Found")


def test_tables_are_described_by_who_may_write_and_sees_all(folder: Path) -> None:
    callers = {
        digest("reader"): Caller("all"),
        digest("silent"): Caller("silent", notes=False),
        digest("some"): Caller("some", tables=("orders",)),
    }
    asked = client(folder, Access(callers))
    batch = asked.get("/api/v1/tables-to-describe", params={"limit": 3}).json()
    assert (len(batch["tables"]), batch["missing"]) == (3, 7)
    words = {"weather": {"description": "Precipitation by gauge.", "columns": {}}}
    saved = asked.post("/api/v1/descriptions", json=words)
    assert saved.json() == {"saved": 1, "refused": [], "missing": 6}
    described = asked.get("/api/v1/tables/weather").json()["description"]
    assert described == {"text": "Precipitation by gauge.", "author": "agent", "columns": {}}
    assert asked.post("/api/v1/descriptions", json={}).status_code == 422
    for token in ("silent", "some"):
        header = bearer(token)
        assert asked.get("/api/v1/tables-to-describe", headers=header).status_code == 403
        refused = asked.post("/api/v1/descriptions", json=words, headers=header)
        assert (refused.status_code, "--notes" in refused.json()["detail"]) == (403, True)
    closed = client(folder, notes=False)
    assert closed.get("/api/v1/tables-to-describe").status_code == 403
    assert closed.post("/api/v1/descriptions", json=words).status_code == 403


@pytest.mark.parametrize(
    ("note", "status", "said"),
    [
        ({"section": "joins", "key": "orders.x = weather.y", "value": "pin"}, 400, "no column"),
        ({"section": "tables", "key": "custmers", "value": "ignore"}, 400, "customers"),
        ({"section": "tables", "key": "customers", "value": "best"}, 400, "canonical"),
        ({"section": "nonsense", "key": "a", "value": "b"}, 422, "section"),
        ({"section": "terms", "key": "a\n[joins]", "value": ""}, 422, "value"),
    ],
)
def test_a_note_that_says_nothing_is_refused(
    folder: Path, note: dict[str, str], status: int, said: str
) -> None:
    asked = client(folder)
    reply = asked.post("/api/v1/notes", json=note)
    assert (reply.status_code, reply.headers["content-type"]) == (
        status, "application/problem+json",
    )  # fmt: skip
    assert said in reply.json()["detail"]
    assert asked.get("/api/v1/notes").json()["notes"] == []


def test_writing_is_off_unless_allowed(folder: Path) -> None:
    wanted = {"section": "terms", "key": "client", "value": "customer"}
    asked = client(folder, notes=False)
    assert asked.get("/api/v1/notes").json()["writable"] is False
    assert asked.get("/api/v1/about").json()["notes_writable"] is False
    reply = asked.post("/api/v1/notes", json=wanted)
    assert (reply.status_code, reply.json()["title"]) == (403, "Forbidden")
    assert "--notes" in reply.json()["detail"]
    gone = asked.delete("/api/v1/notes", params={"section": "terms", "key": "client"})
    assert gone.status_code == 403
    access = Access({digest("reader"): Caller("reader", notes=False)})
    assert client(folder, access).post("/api/v1/notes", json=wanted).status_code == 403
    assert not list(folder.glob("*.toml"))


def test_another_page_cannot_write_by_a_form(folder: Path) -> None:
    asked = client(folder)
    body = '{"section": "terms", "key": "client", "value": "customer"}'
    for kind in ("text/plain", "application/x-www-form-urlencoded"):
        reply = asked.post("/api/v1/notes", content=body, headers={"content-type": kind})
        assert reply.status_code == 422
    assert asked.get("/api/v1/notes").json()["notes"] == []


def test_only_the_names_it_listens_at_are_answered(folder: Path) -> None:
    asked = client(folder, hosts=frozenset(("localhost", "::1")))
    for host, status in (
        ("localhost:8000", 200), ("[::1]:8000", 200), ("evil.example", 421), ("", 421),
    ):  # fmt: skip
        assert asked.get("/api/v1/stats", headers={"host": host}).status_code == status, host


def test_who_sees_some_tables_notes_those_alone(folder: Path) -> None:
    everybody = client(folder)
    for section, key, value in (
        ("about", "weather", "of the harbour"), ("about", "orders", "of the web shop"),
        ("joins", JOIN, "ban"), ("terms", "client", "customer"),
    ):  # fmt: skip
        note = {"section": section, "key": key, "value": value}
        assert everybody.post("/api/v1/notes", json=note).status_code == 200
    access = Access({digest("reader"): Caller("reader", ("orders", "customers"))})
    asked = client(folder, access)
    assert [one["key"] for one in asked.get("/api/v1/notes").json()["notes"]] == ["orders"]
    for section, key, value in (
        ("tables", "weather", "ignore"), ("joins", JOIN, "pin"), ("about", "weather", "mine"),
        ("tables", "orders", "copy of weather"), ("terms", "client", "anything"),
        ("terms", "rain", "drops: weather"), ("questions", "Who?", "weather"),
    ):  # fmt: skip
        reply = asked.post("/api/v1/notes", json={"section": section, "key": key, "value": value})
        assert reply.status_code == 400, key
        assert "harbour" not in reply.text
    for section, key in (("about", "weather"), ("joins", JOIN), ("terms", "client")):
        gone = asked.delete("/api/v1/notes", params={"section": section, "key": key})
        assert gone.status_code == 404
    own = {"section": "about", "key": "customers", "value": "people"}
    assert asked.post("/api/v1/notes", json=own).status_code == 200
    assert asked.get("/api/v1/tables/customers").json()["notes"] == ["people"]
    assert len(everybody.get("/api/v1/notes").json()["notes"]) == 5


def test_a_note_changes_what_a_token_is_told(folder: Path) -> None:
    access = Access({digest("reader"): Caller("reader", ("orders", "customers"))})
    asked = client(folder, access)
    assert len(asked.get("/api/v1/joins").json()) == 1
    ban = {"section": "joins", "key": "orders = customers", "value": "ban"}
    assert asked.post("/api/v1/notes", json=ban).status_code == 200
    assert asked.get("/api/v1/joins").json() == []
    assert asked.get("/api/v1/pile").json()["edges"] == []


def test_no_writer_loses_the_note_of_another(tmp_path: Path) -> None:
    file = tmp_path / "notes.toml"
    with ThreadPoolExecutor(8) as pool:
        done = list(
            pool.map(lambda n: put_entry(file, "terms", f"term {n}", f"words {n}"), range(60))
        )
    assert all(done)
    assert {one.key for one in read_entries(file)[0]} == {f"term {n}" for n in range(60)}
    assert [path.name for path in tmp_path.iterdir()] == ["notes.toml"]


def test_tokens_say_who_may_write(tmp_path: Path) -> None:
    file = tmp_path / "tokens.toml"
    file.write_text(f"[[tokens]]\nname = 'a'\nsha256 = '{digest('x')}'\nnotes = false\n")
    assert read_access(file, {}).callers[digest("x")] == Caller("a", (), notes=False)
