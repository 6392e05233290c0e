"""What databases declare of their tables: keys and comments, in one look, whatever the server."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import duckdb
import pytest

import dovetail
from dovetail.domain import DeclaredForeignKey, DeclaredKeys, Table
from tests.support.servers import (
    MysqlDatabase,
    PostgresDatabase,
    index,
    mysql,
    postgres,
    spy_on_queries,
)

CITIES = "CREATE TABLE city (code CHAR(2) PRIMARY KEY, label VARCHAR(40) UNIQUE)"
STOPS = """CREATE TABLE stop (line INT, nr INT, city CHAR(2), PRIMARY KEY (line, nr),
                              FOREIGN KEY (city) REFERENCES city (code))"""
CALLS = """CREATE TABLE call_at (id INT PRIMARY KEY, on_line INT, at_nr INT, UNIQUE (at_nr, id),
                                 FOREIGN KEY (on_line, at_nr) REFERENCES stop (line, nr))"""
ROWS = (
    "INSERT INTO city VALUES ('BG', 'Bergen'), ('MO', 'Moss')",
    "INSERT INTO stop VALUES (1, 1, 'BG'), (1, 2, 'MO'), (2, 1, 'MO')",
    "INSERT INTO call_at VALUES (10, 1, 1), (11, 2, 1)",
)
EXPECTED = {
    "city": DeclaredKeys(("code",), (("label",),)),
    "stop": DeclaredKeys(
        ("line", "nr"), foreign=(DeclaredForeignKey(("city",), "city", ("code",)),)
    ),
    "call_at": DeclaredKeys(
        ("id",),
        (("at_nr", "id"),),
        (DeclaredForeignKey(("on_line", "at_nr"), "stop", ("line", "nr")),),
    ),
}
LONG = "Where it stops. " * 10_000


@pytest.fixture
def pg() -> Iterator[PostgresDatabase]:
    with postgres() as database:
        yield database


@pytest.fixture
def my() -> Iterator[MysqlDatabase]:
    with mysql() as database:
        yield database


def keys(catalog: dovetail.Catalog) -> dict[str, DeclaredKeys]:
    return {table.name: table.keys for table in catalog}


def comments(table: Table) -> list[str]:
    return [table.comment, *(column.comment for column in table.columns)]


@pytest.mark.service
def test_postgresql(pg: PostgresDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pg.run(
        CITIES,
        STOPS,
        CALLS,
        *ROWS,
        "CREATE SCHEMA other",
        "CREATE TABLE other.visit (city CHAR(2) REFERENCES public.city, day date, who text)",
        "CREATE UNIQUE INDEX ON other.visit (day)",
        "CREATE UNIQUE INDEX ON other.visit (who) WHERE day IS NOT NULL",  # of some rows
        "CREATE UNIQUE INDEX ON other.visit (lower(who))",  # of no column
        "CREATE TABLE part (k int PRIMARY KEY, c char(2) REFERENCES city) PARTITION BY RANGE (k)",
        "CREATE TABLE part_1 PARTITION OF part FOR VALUES FROM (1) TO (9)",
        "CREATE TABLE of_part (k int REFERENCES part)",
        f"COMMENT ON TABLE stop IS '{LONG}'",
        "COMMENT ON COLUMN stop.city IS E'Two letters\n\\x1b[31mof ISO'",
        "ALTER TABLE stop ADD gone int",
        "COMMENT ON COLUMN stop.gone IS 'dropped'",
        "ALTER TABLE stop DROP gone",
    )
    asked = spy_on_queries(monkeypatch)
    catalog = index(pg.url, into=tmp_path / "catalog").catalog
    to_city = DeclaredForeignKey(("city",), "city", ("code",))
    assert keys(catalog) == {
        **EXPECTED,
        "other.visit": DeclaredKeys(unique=(("day",),), foreign=(to_city,)),
        "part": DeclaredKeys(("k",), foreign=(DeclaredForeignKey(("c",), "city", ("code",)),)),
        "of_part": DeclaredKeys(foreign=(DeclaredForeignKey(("k",), "part", ("k",)),)),
    }
    assert sum("pg_constraint" in query for query in asked) == 1
    about, *columns = comments(catalog["stop"])
    assert len(about) == 1000
    assert about.startswith("Where it stops. Where it stops.")
    assert columns == ["", "", "Two letters \x1b[31mof ISO"]


@pytest.mark.service
def test_mysql(my: MysqlDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    my.run(
        CITIES,
        STOPS,
        CALLS,
        *ROWS,
        "ALTER TABLE stop COMMENT 'Stops, each on its line'",
        "ALTER TABLE stop MODIFY city CHAR(2) COMMENT 'two letters'",
        "CREATE VIEW seen AS SELECT line FROM stop",
    )
    asked = spy_on_queries(monkeypatch)
    catalog = index(my.url, into=tmp_path / "catalog", views=True).catalog
    assert keys(catalog) == {**EXPECTED, "seen": DeclaredKeys()}
    assert comments(catalog["stop"]) == ["Stops, each on its line", "", "", "two letters"]
    assert comments(catalog["seen"]) == ["", ""]
    assert sum("key_column_usage" in query for query in asked) == 1


def test_sqlite(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "trains.sqlite")) as connection:
        for statement in (CITIES, STOPS, CALLS, *ROWS):
            connection.execute(statement)
        connection.execute("CREATE TABLE loose (c REFERENCES CITY, d REFERENCES nowhere (x))")
        connection.execute("CREATE UNIQUE INDEX few ON loose (d) WHERE d > 1")
        connection.execute("CREATE UNIQUE INDEX made ON loose (c, lower(d))")
        connection.commit()
    catalog = dovetail.build(tmp_path / "trains.sqlite", into=tmp_path / "catalog")
    loose = DeclaredKeys(
        foreign=(
            DeclaredForeignKey(("c",), "city", ("code",)),
            DeclaredForeignKey(("d",), "main.nowhere", ("x",)),
        )
    )
    assert keys(catalog) == {**EXPECTED, "loose": loose}


def test_duckdb(tmp_path: Path) -> None:
    with closing(duckdb.connect(str(tmp_path / "trains.duckdb"))) as connection:
        for statement in (CITIES, STOPS, CALLS, *ROWS):
            connection.execute(statement)
        connection.execute("COMMENT ON TABLE stop IS 'Stops, each on its line'")
        connection.execute("COMMENT ON COLUMN stop.city IS 'two letters'")
        connection.execute("CREATE VIEW seen AS SELECT line FROM stop")
        connection.execute("COMMENT ON VIEW seen IS 'what is seen'")
    settings = dovetail.Settings(views=True)
    catalog = dovetail.build(
        tmp_path / "trains.duckdb", into=tmp_path / "catalog", settings=settings
    )
    assert keys(catalog) == {**EXPECTED, "seen": DeclaredKeys()}
    assert comments(catalog["stop"]) == ["Stops, each on its line", "", "", "two letters"]
    assert catalog["seen"].comment == "what is seen"


@pytest.mark.service
def test_a_changed_declaration_is_noticed_without_reading_the_table(
    pg: PostgresDatabase, tmp_path: Path
) -> None:
    pg.run(CITIES, STOPS, CALLS, *ROWS)
    into = tmp_path / "catalog"
    before = index(pg.url, into=into).catalog
    pg.run(
        "ALTER TABLE stop DROP CONSTRAINT stop_city_fkey",
        "COMMENT ON TABLE city IS 'towns, really'",
    )
    run = index(into=into)
    assert run.reads == 0
    assert [table.name for table in run.report.redeclared] == ["city", "stop"]
    assert run.report.changed == ()
    assert run.catalog["stop"].keys == DeclaredKeys(("line", "nr"))
    assert run.catalog["city"].comment == "towns, really"
    assert run.catalog["stop"].digest == before["stop"].digest
    assert run.catalog.reader.records.contents == before.reader.records.contents
    again = index(pg.url, into=tmp_path / "rebuilt").catalog
    assert list(again) == list(run.catalog)
    assert again.joins(least=0) == run.catalog.joins(least=0)
    assert index(into=into).report.redeclared == ()


@pytest.mark.service
def test_what_cannot_be_told_is_said_and_the_earlier_word_holds(
    pg: PostgresDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pg.run(CITIES, STOPS, CALLS, *ROWS)
    into = tmp_path / "catalog"
    index(pg.url, into=into)
    monkeypatch.setattr("dovetail.sources.postgres.DECLARED", "SELECT nothing_{kinds}_{limit}")
    run = index(into=into)
    (skip,) = run.report.skipped
    assert skip.reason.startswith("its declared keys and comments cannot be read: ")
    assert keys(run.catalog) == EXPECTED
