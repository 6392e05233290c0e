"""What a dictionary or people call cryptic columns stands for their names when joins are scored."""

from __future__ import annotations

import random
import sqlite3
from pathlib import Path

import duckdb
import pytest

import dovetail
from dovetail.joins.evidence import join_evidence

SETTINGS = dovetail.Settings(embedder="none")
# Italian files of an AS/400: no name has a word in common with another.
TEXTS = {
    ("ANCLI00F", "*"): "Anagrafica clienti",
    ("ANCLI00F", "CLCOD"): "Codice cliente",
    ("ANCLI00F", "CLRAGS"): "Ragione sociale",
    ("ANFOR00F", "*"): "Anagrafica fornitori",
    ("ANFOR00F", "FOCOD"): "Codice fornitore",
    ("ANFOR00F", "FORAGS"): "Ragione sociale",
    ("ORTES00F", "OTNUME"): "Numero ordine",
    ("ORTES00F", "OTSOGG"): "Cliente",
    ("ORTES00F", "OTVETT"): "Fornitore abituale",
    ("ORTES00F", "OTSTAT"): "Stato ordine",
}


def orders(folder: Path, texts: dict[tuple[str, str], str]) -> Path:
    """Customers 1..300, suppliers 1..80 and orders of both, with a table that says what is what."""
    draw, file = random.Random(3), folder / "gest.sqlite"
    file.unlink(missing_ok=True)
    with sqlite3.connect(file) as connection:
        for table, first, count in (("ANCLI00F", "CL", 300), ("ANFOR00F", "FO", 80)):
            connection.execute(f"CREATE TABLE {table} ({first}COD INTEGER, {first}RAGS TEXT)")
            rows = [(row, f"Ditta {draw.randrange(10**6)}") for row in range(1, count + 1)]
            connection.executemany(f"INSERT INTO {table} VALUES (?, ?)", rows)
        connection.execute(
            "CREATE TABLE ORTES00F (OTNUME INTEGER, OTSOGG INTEGER, OTVETT INTEGER, OTSTAT TEXT)"
        )
        made = [
            (70_000 + n, draw.randrange(1, 290), draw.randrange(1, 60), draw.choice("ABC"))
            for n in range(900)
        ]
        connection.executemany("INSERT INTO ORTES00F VALUES (?, ?, ?, ?)", made)
        connection.execute("CREATE TABLE DIZDATI0 (DZFILE TEXT, DZCAMP TEXT, DZDESC TEXT)")
        entries = [(*names, text) for names, text in texts.items()]
        connection.executemany("INSERT INTO DIZDATI0 VALUES (?, ?, ?)", entries)
    return file


def joined(catalog: dovetail.Catalog) -> set[tuple[str, str]]:
    """The columns of orders, and the tables that they surely join."""
    return {
        (edge.columns[0][0], edge.right.name)
        for edge in catalog.joins()
        if edge.left.name == "ORTES00F" and edge.score > 0.5
    }


def test_columns_join_by_what_the_dictionary_calls_them(tmp_path: Path) -> None:
    file = orders(tmp_path, TEXTS)
    catalog = dovetail.build(file, into=tmp_path / "catalog", settings=SETTINGS)
    assert joined(catalog) == {("OTSOGG", "ANCLI00F"), ("OTVETT", "ANFOR00F")}
    # A row about all columns (`*`) is about the table.
    assert catalog["ANCLI00F"].comment == "Anagrafica clienti"


def test_joins_follow_the_dictionary_as_a_rebuild_would(tmp_path: Path) -> None:
    nameless = {names: f"Campo {number}" for number, names in enumerate(TEXTS)}
    file = orders(tmp_path, nameless)
    before = dovetail.build(file, into=tmp_path / "catalog", settings=SETTINGS)
    assert joined(before) == set()
    orders(tmp_path, TEXTS)
    updated = dovetail.build(file, into=tmp_path / "catalog", settings=SETTINGS)
    rebuilt = dovetail.build(file, into=tmp_path / "anew", settings=SETTINGS)
    assert joined(updated) == {("OTSOGG", "ANCLI00F"), ("OTVETT", "ANFOR00F")}
    assert join_evidence(updated.reader)[0] == join_evidence(rebuilt.reader)[0]
    assert updated.joins() == rebuilt.joins()


@pytest.mark.parametrize(("used", "count"), [(True, 1), (False, 0)])
def test_comments_of_people_are_labels_if_they_are_used(
    tmp_path: Path, used: bool, count: int
) -> None:
    with duckdb.connect(str(tmp_path / "erp.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE k7 AS SELECT i AS a1, 'n' || i AS a2 FROM range(1, 400) r(i)"
        )
        connection.execute(
            "CREATE TABLE v9 AS SELECT 5000 + i AS b1, 1 + (i * 7) % 350 AS b2 FROM range(900) r(i)"
        )
        for column, text in {
            "k7.a1": "Customer number",
            "k7.a2": "Name",
            "v9.b1": "Invoice number",
            "v9.b2": "Customer",
        }.items():
            connection.execute(f"COMMENT ON COLUMN {column} IS '{text}'")
    settings = SETTINGS.but(use_comments=used)
    catalog = dovetail.build(tmp_path / "erp.duckdb", into=tmp_path / "catalog", settings=settings)
    sure = [edge for edge in catalog.joins() if edge.score > 0.5]
    assert len(sure) == count
