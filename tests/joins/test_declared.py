"""Declared keys over join evidence: edges of score 1, unless the data says otherwise."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dovetail
from dovetail.catalog.reader import CatalogReader
from dovetail.domain import JoinEdge
from dovetail.joins.declared import with_declared
from dovetail.joins.edges import stored_edges
from dovetail.joins.evidence import join_evidence
from dovetail.settings import Settings

SHOP = """
CREATE TABLE client (no INTEGER PRIMARY KEY, mail TEXT UNIQUE);
CREATE TABLE sale (sid INTEGER PRIMARY KEY, buyer INTEGER REFERENCES CLIENT (NO),
                   boss INTEGER REFERENCES sale, gone INTEGER REFERENCES nowhere (x));
CREATE TABLE slot (day TEXT, nr INTEGER, PRIMARY KEY (day, nr));
CREATE TABLE visit (vid INTEGER PRIMARY KEY, on_day TEXT, in_slot INTEGER,
                    FOREIGN KEY (on_day, in_slot) REFERENCES slot (day, nr));
"""


def shop(path: Path, *, orphans: int = 0) -> Path:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(SHOP)
        clients = [(number, f"c{number}@x.no") for number in range(1, 101)]
        connection.executemany("INSERT INTO client VALUES (?, ?)", clients)
        buyers = [*range(1, 101)] * 2 + [900 + number for number in range(orphans)]
        sales = [(7000 + at, buyer, None, 3) for at, buyer in enumerate(buyers)]
        connection.executemany("INSERT INTO sale VALUES (?, ?, ?, ?)", sales)
        slots = [(f"2024-05-{day:02}", number) for day in range(1, 9) for number in range(5)]
        connection.executemany("INSERT INTO slot VALUES (?, ?)", slots)
        visits = [(at, *slots[at % 40]) for at in range(90)]
        connection.executemany("INSERT INTO visit VALUES (?, ?, ?)", visits)
        connection.commit()
    return path


def build(path: Path, into: Path, *, use_declared: bool = True) -> dovetail.Catalog:
    return dovetail.build(
        f"shop={path}", into=into, settings=Settings(embedder="none", use_declared=use_declared)
    )


def declared(catalog: dovetail.Catalog) -> dict[tuple[str, ...], JoinEdge]:
    found = [edge for edge in catalog.joins(least=-1) if "declared" in edge.evidence]
    return {(edge.left.name, edge.right.name, *edge.columns[0]): edge for edge in found}


def test_a_declared_foreign_key_is_an_edge_of_score_1(tmp_path: Path) -> None:
    catalog = build(shop(tmp_path / "shop.sqlite"), tmp_path / "catalog")
    found = declared(catalog)
    assert set(found) == {
        ("sale", "client", "buyer", "no"),
        ("sale", "sale", "boss", "sid"),
        ("visit", "slot", "on_day", "day"),
    }  # and the table that is not there is no end of any
    buyer = found["sale", "client", "buyer", "no"]
    assert (buyer.score, buyer.cardinality, buyer.match_rate) == (1, "n:1", 1)
    assert "values_without_partner" not in buyer.evidence
    visit = found["visit", "slot", "on_day", "day"]
    assert visit.columns == (("on_day", "day"), ("in_slot", "nr"))
    assert visit.score == 1
    assert found["sale", "sale", "boss", "sid"].score == 1  # nothing speaks against it


def test_without_it_names_and_values_say_nothing_of_it(tmp_path: Path) -> None:
    path = shop(tmp_path / "shop.sqlite")
    catalog = build(path, tmp_path / "catalog", use_declared=False)
    assert declared(catalog) == {}
    assert [edge for edge in catalog.joins() if edge.left.name == "sale"] == []
    assert not catalog["client"].keys


@pytest.mark.parametrize(("orphans", "score"), [(0, 1.0), (1, 0.995025), (200, 0.5)])
def test_what_the_data_contradicts_is_said(tmp_path: Path, orphans: int, score: float) -> None:
    catalog = build(shop(tmp_path / "shop.sqlite", orphans=orphans), tmp_path / "catalog")
    edge = declared(catalog)["sale", "client", "buyer", "no"]
    assert edge.evidence.get("values_without_partner", 0) == orphans
    assert edge.score == score


def test_to_switch_it_off_or_on_reads_no_source(tmp_path: Path) -> None:
    path = shop(tmp_path / "shop.sqlite")
    catalog = build(path, tmp_path / "catalog")
    inferred = join_evidence(catalog.reader)[0]
    path.unlink()
    without = Settings(embedder="none", use_declared=False)
    off = dovetail.build(into=catalog.folder, settings=without)
    assert off.joins(least=-1) == inferred
    on = dovetail.build(into=catalog.folder, settings=Settings(embedder="none"))
    assert on.joins(least=-1) == catalog.joins(least=-1) != inferred


def test_declared_keys_sway_the_other_joins(tmp_path: Path) -> None:
    path = tmp_path / "copies.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript("""
            CREATE TABLE person_a (person_id INTEGER, town TEXT);
            CREATE TABLE person_b (person_id INTEGER PRIMARY KEY, town TEXT);
            CREATE TABLE loan (loan_no TEXT, person_id INTEGER REFERENCES person_b);
        """)
        people = [(4000 + 7 * number, f"town {number}") for number in range(60)]
        connection.executemany("INSERT INTO person_a VALUES (?, ?)", people)
        connection.executemany("INSERT INTO person_b VALUES (?, ?)", people)
        loans = [(f"L{at}", people[at % 60][0]) for at in range(200)]
        connection.executemany("INSERT INTO loan VALUES (?, ?)", loans)
        connection.commit()
    catalog = build(path, tmp_path / "catalog")

    def score(edges: list[JoinEdge], parent: str) -> float:
        return max(e.score for e in edges if (e.left.name, e.right.name) == ("loan", parent))

    told, inferred = catalog.joins(least=-1), join_evidence(catalog.reader)[0]
    assert score(told, "person_b") == 1
    assert score(told, "person_a") < score(inferred, "person_a")


def test_edges_are_stored(tmp_path: Path) -> None:
    catalog = build(shop(tmp_path / "shop.sqlite"), tmp_path / "catalog")
    reader = CatalogReader.open(catalog.folder)
    twin = with_declared(reader, join_evidence(reader)[0])
    assert list(stored_edges(reader)) == twin


@settings(max_examples=8)
@given(st.lists(st.sampled_from(["client", "nowhere", "sale", ""]), min_size=1, max_size=3))
def test_an_update_is_a_rebuild(
    tmp_path_factory: pytest.TempPathFactory, parents: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("redeclared")
    path = shop(folder / "shop.sqlite")
    catalog = build(path, folder / "catalog")
    for parent in parents:
        key = f"REFERENCES {parent}" if parent else ""
        with closing(sqlite3.connect(path)) as connection:
            connection.executescript(f"""
                ALTER TABLE sale RENAME TO before;
                CREATE TABLE sale (sid INTEGER PRIMARY KEY, buyer INTEGER {key},
                                   boss INTEGER, gone INTEGER);
                INSERT INTO sale SELECT * FROM before;
                DROP TABLE before;
            """)
        catalog = build(path, folder / "catalog")
    rebuilt = build(path, folder / "rebuilt")
    assert list(catalog) == list(rebuilt)
    assert catalog.joins(least=-1) == rebuilt.joins(least=-1)
