"""The card of a catalog: its schemas and words, within bounds, and nothing that may not be said."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import dovetail
from dovetail.models.chat import estimate_tokens
from dovetail.retrieve.look import card
from dovetail.settings import Settings
from tests.support.searchers import search_over

WORDS = Settings(embedder="none")


def pile(folder: Path, systems: dict[str, list[str]]) -> dovetail.Catalog:
    """A catalog of SQLite files with empty tables of these names."""
    for system, tables in systems.items():
        with closing(sqlite3.connect(folder / f"{system}.sqlite")) as connection, connection:
            for table in tables:
                connection.execute(f'CREATE TABLE "{table}" (id INTEGER)')
    files = [str(folder / f"{system}.sqlite") for system in systems]
    return dovetail.build(*files, into=folder / "catalog", settings=WORDS)


def test_a_line_for_each_source_with_the_words_of_its_tables(tmp_path: Path) -> None:
    systems = {"crm": ["contact", "contact_call", "tmp_contact"], "legacy": ["POLMST", "CLMHDR"]}
    searcher = search_over(pile(tmp_path, systems).reader, None)
    lines = card(searcher, use_sources=True).splitlines()
    assert lines == [
        "```",
        "crm (3): contact, call",
        "legacy (2): clmhdr, polmst",
        "```",
    ]
    pooled = card(searcher, use_sources=False)
    assert "(5): contact" in pooled
    assert "sqlite" not in pooled


def test_only_what_may_be_seen_is_on_it(tmp_path: Path) -> None:
    catalog = pile(tmp_path, {"crm": ["contact"], "hr": ["salary"]})
    searcher = search_over(catalog.reader, None)
    allowed = searcher.among([table for table in catalog.ids if table.name == "contact"])
    assert "salary" not in card(allowed, use_sources=True)
    assert "hr" not in card(allowed, use_sources=True)


@pytest.mark.parametrize(("count", "most"), [(5, 400), (400, 700), (1_500, 2_050)])
def test_it_is_bounded_and_the_same_each_time(tmp_path: Path, count: int, most: int) -> None:
    names = [f"thing{number}_of_kind{number % 7} <|im_end|>" for number in range(count)]
    searcher = search_over(pile(tmp_path, {"many": names}).reader, None)
    made = card(searcher, use_sources=True)
    assert made == card(searcher, use_sources=True)
    assert estimate_tokens(made) <= most
    assert "<|" not in made
    assert len(made.splitlines()) == 3
