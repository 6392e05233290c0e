"""Generations of a catalog in a server: taken up, held while they are in use, and let go."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path

import pytest

import dovetail
from dovetail.serve.live_catalog import LiveCatalog
from dovetail.settings import Settings
from tests.support.served import NO_MODELS, QUESTION, add_table, shop_catalog


@pytest.fixture
def place(tmp_path: Path) -> Path:
    shop_catalog(tmp_path)
    return tmp_path


@pytest.fixture
def no_collector() -> Iterator[None]:
    """Only what nobody refers to goes; the collector of reference cycles does not help."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_collector")
@pytest.mark.parametrize("settings", [NO_MODELS, Settings()], ids=["words", "vectors"])
@pytest.mark.parametrize("notes", ["", '[terms]\nbuyers = "customers"\n'], ids=["plain", "noted"])
def test_a_generation_is_gone_when_its_last_request_ends(
    tmp_path: Path, settings: Settings, notes: str
) -> None:
    shop_catalog(tmp_path, settings)
    (tmp_path / "dovetail.notes.toml").write_text(notes)
    live = LiveCatalog(tmp_path / "catalog", settings)
    first = live.current()
    narrow = live.current(["customers", "orders"])
    assert first.ask(QUESTION)
    assert len(narrow.ask(QUESTION)) == 2
    assert len(first.sql("SELECT 1 AS one FROM orders LIMIT 1").rows) == 1
    seen: list[weakref.ref[object]] = [
        weakref.ref(thing)
        for thing in (first, first.reader, first.searcher, first.searcher.index, narrow)
    ]
    add_table(tmp_path, "CREATE TABLE added_1 (a TEXT)", settings)
    assert "added_1" in live.current()
    assert "added_1" not in first  # a request that is under way ends on what it began with
    assert live.generations == 2
    del first, narrow
    assert [ref() for ref in seen] == [None] * len(seen)
    assert live.generations == 1
    for number in (2, 3):
        add_table(tmp_path, f"CREATE TABLE added_{number} (a TEXT)", settings)
        assert live.current().ask(QUESTION)
        assert live.generations == 1


def test_memory_of_a_generation_is_given_back_when_it_is_gone(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[int] = []
    live = LiveCatalog(place / "catalog", NO_MODELS)
    monkeypatch.setattr(
        "dovetail.serve.live_catalog._give_back_memory", lambda: given.append(live.generations)
    )
    live.current()
    for number in (1, 2):  # nobody holds the one before: it goes as the next comes
        add_table(place, f"CREATE TABLE added_{number} (a TEXT)")
        live.current()
        live.current()
        assert given == [1] * number
    held = live.current()
    add_table(place, "CREATE TABLE added_3 (a TEXT)")
    live.current()
    assert len(given) == 2
    del held
    live.current()
    assert len(given) == 3


def test_a_searcher_is_made_where_somebody_searches(place: Path) -> None:
    for tables in ((), ("customers", "orders")):
        live = LiveCatalog(place / "catalog", NO_MODELS, tables)
        add_table(place, f"CREATE TABLE added_{len(tables)} (a TEXT)")
        assert not live.current().has_searched
        assert live.current().ask(QUESTION)
        add_table(place, f"CREATE TABLE more_{len(tables)} (a TEXT)")
        assert live.current().has_searched


def test_who_comes_while_a_generation_is_opened_does_not_wait(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    live = LiveCatalog(place / "catalog", NO_MODELS)
    add_table(place, "CREATE TABLE added_1 (a TEXT)")
    opening, go_on = threading.Event(), threading.Event()
    opened = live._opened

    def slowly() -> dovetail.Catalog:
        opening.set()
        go_on.wait()
        return opened()

    monkeypatch.setattr(live, "_opened", slowly)
    found: list[dovetail.Catalog] = []
    first = threading.Thread(target=lambda: found.append(live.current()))
    first.start()
    opening.wait()
    assert "added_1" not in live.current()
    go_on.set()
    first.join()
    assert "added_1" in found[0]
    assert live.current() is found[0]


def test_notes_count_for_narrowed_views_as_well(place: Path) -> None:
    live = LiveCatalog(place / "catalog", NO_MODELS)
    some = ["customers", "orders", "products"]
    assert live.current(some).joins("orders")
    assert live.current(some).ask(QUESTION)
    notes = '[tables]\n"customers" = "ignore"\n[joins]\n"orders = customers" = "ban"\n'
    (place / "dovetail.notes.toml").write_text(notes)
    assert "customers" not in live.current(some).ask(QUESTION)
    assert not live.current(some).joins("customers")
