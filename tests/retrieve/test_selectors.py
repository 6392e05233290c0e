"""Selectors by name: `graph`, `llm`, `auto`, and a retriever that another package offers."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterator
from typing import Any

import pytest

import dovetail
from dovetail import plugins
from dovetail.domain import TableSet
from dovetail.errors import MissingModelError, UsageError
from dovetail.retrieve.ask import open_retriever
from dovetail.settings import Settings
from tests.support.scripted import write_shop

WORDS = Settings(embedder="none")
QUESTION = "orders of customers"


class Alphabet:
    """A plug-in: the first `k` tables by id."""

    def __init__(self, catalog: dovetail.Catalog, *, k: int, settings: Settings) -> None:
        self.catalog, self.k, self.settings = catalog, k, settings

    def retrieve(self, question: str) -> TableSet:
        ids = sorted(table.id for table in self.catalog)[: self.k]
        chosen = tuple(dovetail.Chosen(table, 1.0, "select", "by name") for table in ids)
        return TableSet(question, chosen, ())


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> dovetail.Catalog:
    folder = tmp_path_factory.mktemp("selectors")
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


def names(result: TableSet) -> list[str]:
    return [chosen.name for chosen in result.tables]


def test_a_plug_in_is_asked_by_its_name(shop: dovetail.Catalog, alphabet: None) -> None:
    assert names(shop.ask(QUESTION, selector="alphabet", k=2)) == ["customers", "empty_shelf"]
    changed = dovetail.open(shop.folder, shop.settings.but(selector="alphabet"))
    assert names(changed.ask(QUESTION, k=1)) == ["customers"]
    made = open_retriever("alphabet", shop.searcher, WORDS)
    assert isinstance(made, Alphabet)
    assert made.k == 10


def test_the_selector_is_given_its_number_of_candidates(shop: dovetail.Catalog) -> None:
    for k in (2, 10, None):
        asked = shop.ask(QUESTION, selector="graph", k=k)
        assert (
            asked.ids == open_retriever("graph", shop.searcher, WORDS, k=k).retrieve(QUESTION).ids
        )
        assert asked.trace[0]["k"] == (k or 16)


def test_auto_is_graph_without_a_model(shop: dovetail.Catalog) -> None:
    assert shop.ask(QUESTION, selector="auto") == shop.ask(QUESTION, selector="graph")


def test_errors_speak_to_the_caller(shop: dovetail.Catalog) -> None:
    with pytest.raises(UsageError, match=r"'guess' is not known; there are: auto, graph, llm"):
        shop.ask(QUESTION, selector="guess")
    with pytest.raises(MissingModelError) as raised:
        shop.ask(QUESTION, selector="llm")
    assert "pass llm=..., or set llm in dovetail.toml" in str(raised.value)
    assert "--" not in str(raised.value)
