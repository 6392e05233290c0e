"""One registry: built-in retrievers and plug-ins alike reach `ask`, `bench` and the settings."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import dovetail
from dovetail import plugins
from dovetail.domain import TableSet
from dovetail.errors import MissingModelError, UsageError
from dovetail.ports import LLM
from dovetail.retrieve.registry import (
    full_name,
    open_retriever,
    ranks,
    retriever_names,
    selector_name,
)
from dovetail.search.searcher import Searcher
from dovetail.settings import Settings
from tests.support.scripted import write_shop

WORDS = Settings(embedder="none")
QUESTION = "orders of customers"


class Alphabet:
    """A plug-in: the first `k` tables by id; `argument` is the order."""

    def __init__(
        self,
        catalog: dovetail.Catalog,
        *,
        k: int,
        settings: Settings,
        argument: str = "up",
        llm: LLM | None = None,
    ) -> None:
        self.catalog, self.k, self.settings, self.llm = catalog, k, settings, llm
        self.down = argument == "down"

    def retrieve(self, question: str) -> TableSet:
        ids = sorted((table.id for table in self.catalog), reverse=self.down)[: self.k]
        chosen = tuple(dovetail.Chosen(table, 1.0, "select", "by name") for table in ids)
        return TableSet(question, chosen, ())


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> dovetail.Catalog:
    folder = tmp_path_factory.mktemp("registry")
    source = write_shop(folder / "shop.sqlite")
    return dovetail.build(f"s={source}", into=folder / "catalog", settings=WORDS)


@pytest.fixture
def alphabet(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The plug-in, as an entry point of another package offers it."""

    class Entry:
        name = "alphabet"

        @staticmethod
        def load() -> type[Alphabet]:
            return Alphabet

    real = importlib.metadata.entry_points

    def offered(**group: Any) -> Any:
        return [Entry] if group == {"group": plugins.RETRIEVERS} else real(**group)

    monkeypatch.setattr(plugins, "entry_points", offered)
    yield


def names(found: dovetail.TableSet) -> list[str]:
    return [chosen.id.name for chosen in found.tables]


def test_a_plug_in_is_asked_like_a_built_in(shop: dovetail.Catalog, alphabet: None) -> None:
    assert "alphabet" in retriever_names()
    assert names(shop.ask(QUESTION, selector="alphabet", k=2)) == ["customers", "empty_shelf"]
    assert names(shop.ask(QUESTION, selector="alphabet:down", k=1)) == ["weather"]
    shop.settings, before = shop.settings.but(selector="alphabet:down"), shop.settings
    try:
        assert names(shop.ask(QUESTION, k=1)) == ["weather"]
    finally:
        shop.settings = before
    made = open_retriever("alphabet", shop, settings=WORDS, llm=_Silent())
    assert isinstance(made, Alphabet)
    assert (made.k, isinstance(made.llm, _Silent)) == (10, True)


class _Silent:
    model_id = "silent"

    def complete(self, *_: object, **__: object) -> Any:
        raise AssertionError("nobody should ask")


@pytest.mark.parametrize("name", ["dense", "search", "graph:0.9", "rear"])
def test_every_built_in_is_asked_by_its_name(shop: dovetail.Catalog, name: str) -> None:
    if name in ("dense", "rear"):  # without an embedder there is nothing to rank by
        with pytest.raises(dovetail.DovetailError):
            shop.ask(QUESTION, selector=name, k=3)
        return
    found = open_retriever(name, shop, settings=WORDS, k=3).retrieve(QUESTION)
    assert shop.ask(QUESTION, selector=name, k=3) == found


def test_one_place_says_how_many_candidates_there_are(shop: dovetail.Catalog) -> None:
    for k in (2, 10, None):
        asked = shop.ask(QUESTION, selector="graph", k=k)
        benched = open_retriever("graph", shop, settings=WORDS, k=k).retrieve(QUESTION)
        assert asked == benched
        assert asked.trace[0]["k"] == (k or 16)
    assert shop.ask(QUESTION, selector="search").trace[0]["k"] == 10


def test_names_that_stand_for_others() -> None:
    assert full_name("auto", has_model=False) == "graph"
    assert full_name("llm", has_model=True) == "core-t:grouped+auto"
    assert full_name("hybrid", has_model=True) == "hybrid"
    assert selector_name("auto", has_model=True, prompt="full") == "core-t:full+auto"
    assert selector_name("hybrid", has_model=True) == "hybrid:grouped+auto"
    assert selector_name("core-t:compact+dense", has_model=True) == "core-t:compact+dense"


def test_what_a_factory_takes_and_how_it_ranks() -> None:
    ranking = [name for name in retriever_names() if ranks(name)]
    assert ranking == ["dense", "search"]


def test_errors_speak_to_the_caller(shop: dovetail.Catalog) -> None:
    with pytest.raises(UsageError, match=r"'guess' is not known; there are: arm, .*, auto, llm$"):
        shop.ask(QUESTION, selector="guess")
    with pytest.raises(UsageError, match="'dense' takes no argument; leave out ':x'"):
        shop.ask(QUESTION, selector="dense:x")
    for name in ("llm", "hybrid", "core-t", "react", "arm"):
        with pytest.raises(MissingModelError) as raised:
            shop.ask(QUESTION, selector=name)
        assert "pass llm=..., or set llm in dovetail.toml" in str(raised.value)
        assert "--" not in str(raised.value)


def test_the_core_loads_no_baseline(tmp_path: Path) -> None:
    code = (
        "import sys, dovetail.api, dovetail.retrieve.core_t, dovetail.retrieve.hybrid\n"
        "print([name for name in sys.modules if name.startswith('dovetail_bench')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_the_searcher_of_a_catalog_is_shared(
    shop: dovetail.Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[Searcher] = []
    monkeypatch.setattr("dovetail.retrieve.opening.searcher_of", lambda *_: opened.append)
    shop.ask(QUESTION, breadth=0.3)
    assert opened == []
