"""Times that a question names: of dates that are kept as texts, or told to be open."""

from __future__ import annotations

import datetime
import re
import sqlite3

import pytest

import dovetail
from dovetail.settings import Settings

DAYS = [datetime.date(2021, 1, 1) + datetime.timedelta(days=step) for step in range(0, 1090, 3)]
IN_2022 = sum(day.year == 2022 for day in DAYS)


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> dovetail.Catalog:
    """A SQLite file whose times are texts, as most are, and tables without any time."""
    folder = tmp_path_factory.mktemp("ledger")
    with sqlite3.connect(folder / "ledger.sqlite") as database:
        database.executescript(
            """
            CREATE TABLE invoices (id INTEGER PRIMARY KEY, status TEXT, invoice_date TEXT,
                amount REAL);
            CREATE TABLE trips (trip_no INTEGER PRIMARY KEY, city TEXT, begun VARCHAR(30));
            CREATE TABLE rides (ride_no INTEGER PRIMARY KEY, arrival TEXT, paid_on TEXT);
            CREATE TABLE visits (visit_no INTEGER PRIMARY KEY, visited TEXT, packed INTEGER);
            CREATE TABLE results (result_no INTEGER PRIMARY KEY, season_year INTEGER,
                points INTEGER);
            CREATE TABLE beers (beer_no INTEGER PRIMARY KEY, beer_name TEXT);
            CREATE TABLE batches (batch_no INTEGER PRIMARY KEY, beer_no INTEGER REFERENCES beers,
                brewed_on DATE);
            """
        )
        for n, day in enumerate(DAYS):
            status, city = ("open", "paid")[n % 2], ("Oslo", "Turku")[n % 2]
            blank = day.isoformat() if n % 3 else ""
            added: dict[str, tuple[object, ...]] = {
                "invoices": (status, day.isoformat(), 1.5 * n),
                "trips": (city, f"{day} 23:59:0{n % 10}"),
                "rides": (f"{day}T23:59:59.25Z", blank),
                "visits": (f"{day:%d.%m.%Y}", int(f"{day:%Y%m%d}")),
                "results": (day.year, n),
                "beers": (f"Beer {n}",),
                "batches": (n // 2, day.isoformat()),
            }
            for table, cells in added.items():
                marks = ", ".join("?" * len(cells))
                database.execute(f"INSERT INTO {table} VALUES ({n}, {marks})", cells)
    database.close()
    source = folder / "ledger.sqlite"
    return dovetail.build(source, into=folder / "catalog", settings=Settings(embedder="none"))


def _count(month: int | None = None, *, before: int = 9999, odd: int = 0) -> int:
    listed = [day for n, day in enumerate(DAYS) if n % 2 or not odd]
    if before < 9999:
        return sum(day.year < before for day in listed)
    return sum(day.year == 2022 and month in (None, day.month) for day in listed)


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("How many invoices in 2022?", _count()),
        ("How many paid invoices of the year 2022 are there?", _count(odd=1)),
        ("number of invoices during March 2022", _count(3)),
        ("number of invoices for 2022-03", _count(3)),
        ("how many trips in 2022", _count()),
        ("how many trips to Turku in 2022", _count(odd=1)),
        ("how many rides with arrival in March 2022", _count(3)),
        ("how many rides with arrival before 2022", _count(before=2022)),
        ("how many invoices before 2022", _count(before=2022)),
        ("how many rides paid before 2022", sum(d.year < 2022 for d in DAYS) * 2 // 3),
        ("how many results in 2022", _count()),
        ("number of invoices between February and March 2022", _count(2) + _count(3)),
        ("number of trips from 20220301 to 20220331", _count(3)),
    ],
)
def test_times_kept_as_texts_are_times(ledger: dovetail.Catalog, question: str, rows: int) -> None:
    found = ledger.ask(question)
    assert found.parts["open"] == []
    assert [row for (row,) in ledger.sql(found.skeleton).tuples()] == [rows]
    with sqlite3.connect(ledger.reader.manifest.roots[0].location) as database:
        assert database.execute(ledger.write_sql(found, dialect="sqlite")).fetchall() == [(rows,)]
    database.close()


@pytest.mark.parametrize("unit", ["year", "quarter", "month", "week", "day"])
@pytest.mark.parametrize("thing", ["invoices", "trips"])
def test_rows_are_grouped_by_times_kept_as_texts(
    ledger: dovetail.Catalog, thing: str, unit: str
) -> None:
    found = ledger.ask(f"how many {thing} per {unit} in 2022")
    rows = [(n, str(day)) for n, day in ledger.sql(found.skeleton).tuples()]
    assert sum(n for n, _ in rows) == IN_2022
    with sqlite3.connect(ledger.reader.manifest.roots[0].location) as database:
        assert rows == database.execute(ledger.write_sql(found, dialect="sqlite")).fetchall()
    database.close()
    written = ledger.write_sql(found, dialect="postgres")
    assert re.search(rf"DATE_TRUNC\('{unit.upper()}', CAST\(.* AS DATE\)\)", written)
    assert f"DATETRUNC({unit.upper()}, TRY_CAST" in ledger.write_sql(found, dialect="tsql")


@pytest.mark.parametrize(
    ("question", "open_choice"),
    [
        ("how many visits in 2022", "which column is between 2022-01-01 and 2022-12-31?"),
        ("visits of March 2022", "which column is between 2022-03-01 and 2022-03-31?"),
        ("visits for 2022-Q1", "which column is between 2022-01-01 and 2022-03-31?"),
        ("visits during the 1990s", "which column is between 1990-01-01 and 1999-12-31?"),
        ("visits on 20220131", "which column is between 2022-01-31 and 2022-01-31?"),
        ("visits since March 2022", "which column is at least 2022-03-01?"),
        ("visits after March 2022", "which column is above 2022-03-31?"),
        ("visits before 2022", "which column is below 2022?"),
        ("results in March 2022", "which column is between 2022-03-01 and 2022-03-31?"),
        ("invoices of 03/04/2022", "which day is 03/04/2022?"),
        ("invoices since 03/04/2022", "which day is 03/04/2022?"),
        ("invoices before 31.12.2022", "which day is 31.12.2022?"),
        ("invoices in May", "what is 'may'?"),
    ],
)
def test_a_time_that_no_column_takes_is_told(
    ledger: dovetail.Catalog, question: str, open_choice: str
) -> None:
    found = ledger.ask(question)
    assert found.parts["open"] == [open_choice]
    assert ("WHERE" in found.skeleton) == question.startswith("results")
    assert ledger.sql(found.skeleton).rows.num_columns > 0


def test_no_word_of_a_time_is_open_once_it_is_read(sample: dovetail.Catalog) -> None:
    for time in ("between March and May 2024", "from 1 March 2024 to 31 May 2024"):
        found = sample.ask(f"orders {time}", selector="graph")
        assert "'2024-03-01' AND '2024-05-31" in found.skeleton
        assert found.parts["open"] == []
    assert "'march'" in sample.ask("orders in March", selector="graph").skeleton


@pytest.mark.parametrize(
    ("question", "wanted", "open_choices"),
    [
        ("Which beers have never been brewed?", "NOT EXISTS (SELECT 1 FROM batches", []),
        ("beers that have not been brewed yet", "NOT EXISTS (SELECT 1 FROM batches", []),
        ("How many beers were never brewed?", "NOT EXISTS (SELECT 1 FROM batches", []),
        ("beers not brewed in 2022", "brewed_on BETWEEN", ["what is 'not'?", "what of 'beers'?"]),
        ("invoices that are neither open nor paid", "NOT IN ('open', 'paid')", []),
        ("invoices that aren't open", "status <> 'open'", []),
        ("invoices that are not of 2022", "BETWEEN", ["what is 'not'?"]),
        ("rides without a payment", "FROM rides", ["what is 'without'?", "what is 'payment'?"]),
        ("trips which don't have a city", "FROM trips", ['what is "don\'t"?', "what of 'city'?"]),
    ],
)
def test_what_is_denied_is_read_or_told(
    ledger: dovetail.Catalog,
    question: str,
    wanted: str,
    open_choices: list[str],
) -> None:
    found = ledger.ask(question, selector="graph")
    assert wanted in found.skeleton
    assert found.parts["open"] == open_choices
    assert ledger.sql(found.skeleton).rows.num_columns > 0
