"""A helper that a question can do without is away: the answer without it, which says so."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

import dovetail
from dovetail.api import state
from dovetail.errors import ModelError
from dovetail.serve.guarded import Access
from dovetail.serve.live_catalog import LiveCatalog
from dovetail.serve.rest import rest_app
from dovetail.settings import Settings
from tests.support.command_line import run
from tests.support.endpoint import Endpoint, embeds, endpoint, fails
from tests.support.scripted import write_shop

QUESTION = "Which customers in Turin ordered product 7003?"
EMBEDDING = Settings(embedder="openai:tiny")
# Of these an endpoint is not asked twice.
LOCKED = fails(401)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("helpers")
    with endpoint(embeds) as server, pytest.MonkeyPatch.context() as patch:
        _reach(patch, server)
        source = f"shop={write_shop(place / 'shop.sqlite')}"
        dovetail.build(source, into=place / "catalog", settings=EMBEDDING)
    return place


def test_without_its_embedder_a_question_goes_by_words(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with endpoint(embeds) as server:
        _reach(monkeypatch, server)
        catalog = dovetail.open(folder / "catalog", EMBEDDING)
        assert catalog.ask(QUESTION).warnings == catalog.ask(QUESTION).warnings
        server.faults = [LOCKED] * 9
        found = catalog.ask("Which suppliers deliver which products?")
        asked = len(server.asked)
        again = catalog.ask(QUESTION)
        ranked = catalog.search("products of suppliers")
        narrow = catalog.narrowed(["customers", "orders"]).ask(QUESTION)
        assert len(server.asked) == asked, "it is left alone for a while"
    by_words = dovetail.open(folder / "catalog", Settings(embedder="none"))
    assert found.ids == by_words.ask("Which suppliers deliver which products?").ids
    assert again.ids == by_words.ask(QUESTION).ids
    assert [one.id for one in ranked] == [
        one.id for one in by_words.search("products of suppliers")
    ]
    for one in (found, again, narrow):
        told = [warning for warning in one.warnings if "refuses the key (401)" in warning]
        assert len(told) == 1
        assert told[0].endswith("searched by words, values and joins alone")
        assert one.trace[0]["stage"] == "embed"
        assert one.trace[0]["fallback"] == 1


def test_an_embedder_that_is_back_is_asked_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state, "_PAUSE", 1e9)
    with endpoint(embeds) as server:
        _reach(monkeypatch, server)
        catalog = dovetail.open(folder / "catalog", EMBEDDING)
        expected = catalog.ask(QUESTION)
        fresh = dovetail.open(folder / "catalog", EMBEDDING)
        server.faults = [LOCKED]
        assert fresh.ask(QUESTION).trace[0]["stage"] == "embed"
        fresh._state.do_without_embedder("")  # as if the time were over
        assert fresh.ask(QUESTION) == expected


@pytest.mark.parametrize("cause", ["no key", "no endpoint"])
def test_an_embedder_that_cannot_be_opened_is_done_without(
    folder: Path, monkeypatch: pytest.MonkeyPatch, cause: str
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with endpoint(embeds) as server:
        if cause == "no endpoint":
            _reach(monkeypatch, server)
            server.faults = [LOCKED] * 9
        live = LiveCatalog(folder / "catalog", EMBEDDING)
        reply = TestClient(rest_app(live, Access({}), log=False)).post(
            "/api/v1/ask", json={"question": QUESTION}
        )
    assert reply.status_code == 200
    assert {one["name"] for one in reply.json()["tables"]} >= {"customers", "orders"}
    assert any("alone" in one and "OPENAI_API_KEY" in one for one in reply.json()["warnings"])


def test_vectors_that_are_asked_for_need_their_embedder(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with endpoint(embeds) as server:
        _reach(monkeypatch, server)
        server.faults = [LOCKED] * 9
        with pytest.raises(ModelError, match="refuses the key"):
            dovetail.update(into=folder / "catalog", settings=EMBEDDING.but(embedder="openai:new"))
    other = dovetail.open(folder / "catalog", Settings())
    with pytest.raises(ModelError, match="was indexed with"):
        other.ask(QUESTION)


def test_a_model_without_its_key_leaves_the_set_without_a_model(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    settings = Settings(embedder="none", llm="openai:tiny", llm_below=1.0)
    catalog = dovetail.open(folder / "catalog", settings)
    expected = dovetail.open(folder / "catalog", settings.but(llm="")).ask(QUESTION)
    found = catalog.ask(QUESTION)
    assert (found.ids, found.joins, found.confidence) == (
        expected.ids, expected.joins, expected.confidence,
    )  # fmt: skip
    (told,) = set(found.warnings) - set(expected.warnings)
    assert "set OPENAI_API_KEY" in told
    assert told.endswith("chosen without a model")
    assert any(entry["fallback"] for entry in found.trace)
    with pytest.raises(ModelError, match="set OPENAI_API_KEY"):
        catalog.ask(QUESTION, selector="llm")
    with pytest.raises(ModelError, match="set OPENAI_API_KEY"):
        catalog.ask(QUESTION, llm="openai:tiny")


def test_the_command_gives_the_set_and_says_what_is_missing(folder: Path) -> None:
    given = {
        "DOVETAIL_EMBEDDER": "none", "DOVETAIL_LLM": "openai:tiny", "DOVETAIL_LLM_BELOW": "1.0",
        "OPENAI_API_KEY": "", "OPENAI_BASE_URL": "",
    }  # fmt: skip
    plain = run("ask", QUESTION, "-C", "catalog", cwd=folder, **given)
    document = run("ask", QUESTION, "-C", "catalog", "--json", cwd=folder, **given)
    asked_for = run("ask", QUESTION, "-C", "catalog", "--selector", "llm", cwd=folder, **given)
    assert (plain.returncode, document.returncode, asked_for.returncode) == (0, 0, 1)
    assert "there is no key for api.openai.com" in plain.stderr
    assert any("there is no key" in one for one in json.loads(document.stdout)["warnings"])
    assert len(asked_for.stderr.splitlines()) == 1


def _reach(patch: pytest.MonkeyPatch, server: Endpoint) -> None:
    patch.setenv("OPENAI_BASE_URL", server.url)
    patch.setenv("OPENAI_API_KEY", "sk-known")
