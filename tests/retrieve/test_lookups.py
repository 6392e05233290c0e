"""Lookup tables that a question asks for by what they name."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

import dovetail
from dovetail.settings import Settings

ZONES = [
    (f"Z{n}", f"{name} aisle") for n, name in enumerate(("cold", "dry", "high", "bulk", "far"))
]
PALLETS = [(7000 + n, f"Z{n % 5}", 10 * n) for n in range(60)]


@pytest.fixture(scope="module")
def stock(tmp_path_factory: pytest.TempPathFactory) -> dovetail.Catalog:
    """Pallets with the code of a zone, whose name stands in a table that says little of itself."""
    folder = tmp_path_factory.mktemp("lookups")
    with closing(sqlite3.connect(folder / "wms.sqlite")) as database:
        database.execute("CREATE TABLE L60 (ZKEY TEXT PRIMARY KEY, BEN TEXT)")
        database.executemany("INSERT INTO L60 VALUES (?, ?)", ZONES)
        declared = "zone TEXT REFERENCES L60(ZKEY)"
        database.execute(f"CREATE TABLE pallet (pallet_no INTEGER, {declared}, weight INTEGER)")
        database.executemany("INSERT INTO pallet VALUES (?, ?, ?)", PALLETS)
        database.commit()
    plain = Settings(embedder="none")
    return dovetail.build(folder / "wms.sqlite", into=folder / "catalog", settings=plain)


@pytest.mark.parametrize(
    "question",
    [
        "How many pallets are there per zone name?",
        "The weight of pallets by name of the zone",
        "Pallets per zone (name)",
        "Hur många pallets har vi per zone (namn)?",
    ],
)
def test_names_come_with_the_table_that_has_them(stock: dovetail.Catalog, question: str) -> None:
    found = stock.ask(question)
    assert [one.name for one in found.tables] == ["pallet", "L60"]
    assert found.tables[1].reason == "has the names of what pallet.zone refers to"
    assert [edge.columns for edge in found.joins] == [(("zone", "ZKEY"),)]


@pytest.mark.parametrize(
    "question", ["How many pallets are there per zone?", "Name the pallets by weight"]
)
def test_who_asks_for_no_name_gets_none(stock: dovetail.Catalog, question: str) -> None:
    assert [one.name for one in stock.ask(question).tables] == ["pallet"]
