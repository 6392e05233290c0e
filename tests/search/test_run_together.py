"""Words that names run together, and what search makes of them."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import ClassVar

import pytest

import dovetail
from dovetail.domain import Column, ColumnProfile, Kind, Table, TableId
from dovetail.search import run_together
from dovetail.settings import Settings

PROFILE = ColumnProfile(Kind.TEXT, 0, 0, False, None, None, None, None, ())


class NoEnglish:
    """Knows no English word."""

    unigrams: ClassVar[dict[str, float]] = {}

    def segment(self, text: str) -> list[str]:
        return [text]


def parts_of(*names: str) -> dict[str, tuple[str, ...]]:
    columns = tuple(Column(name, "", PROFILE) for name in names)
    return run_together.run_together([Table(TableId("s", "t"), columns, 1, (), "")])


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("ACCOUNTSPAYABLEDETAILS", ("accounts", "payable", "details")),
        ("T_SALESORDERHEADER", ("sales", "order", "header")),
        ("currencycode", ("currency", "code")),  # a name on many web pages, and no word
        ("sellstartdate", ("sell", "start", "date")),
        ("customerid", ("customer", "id")),
    ],
)
def test_words_run_together_are_split(name: str, parts: tuple[str, ...]) -> None:
    assert [*parts_of(name).values()] == [parts]


@pytest.mark.parametrize(
    "name",
    ["warehouse", "timestamp", "semesters", "employees", "OrderItems", "VBAKKNA", "größenangabe"],
)
def test_what_is_one_word_stays_one(name: str) -> None:
    assert parts_of(name) == {}


def test_the_catalogs_own_words_split_what_is_no_english(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [
        "zollamt_no",
        "zollamt_name",
        "frachtbrief_no",
        "brief_frachtbrief",
        "frachtbriefzollamt",
    ]
    split = {"frachtbriefzollamt": ("frachtbrief", "zollamt")}
    assert parts_of(*names)["frachtbriefzollamt"][-1] == "zollamt"
    monkeypatch.setattr(run_together, "_english", NoEnglish)
    assert parts_of(*names) == split
    assert parts_of(*names[1:]) == {}  # written apart but once


def test_a_table_is_found_by_the_parts_of_its_name(tmp_path: Path) -> None:
    file = tmp_path / "erp.sqlite"
    with closing(sqlite3.connect(file)) as writer:
        for name in ("ZOLLAMT_X", "X_ZOLLAMT", "FRACHT_X", "X_FRACHT", "FRACHTZOLLAMT"):
            writer.execute(f"CREATE TABLE {name} (a TEXT)")
        writer.commit()
    built = dovetail.build(file, into=tmp_path / "catalog", settings=Settings(embedder="none"))
    found = built.search("zollamt fracht", k=1)
    assert [one.id.name for one in found] == ["FRACHTZOLLAMT"]
    whole = built.search("frachtzollamt", k=1)
    assert [one.id.name for one in whole] == ["FRACHTZOLLAMT"]
