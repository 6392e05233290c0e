"""Warehouses: what is read whole, what is estimated, and what goes wrong, in one line."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import dovetail
from dovetail.answer.execute import Executor
from dovetail.answer.results import Limits
from dovetail.domain import Estimate
from dovetail.errors import GuardError, MissingExtraError, QueryError, SourceError
from dovetail.plugins import open_source
from dovetail.sources import warehouse_driver
from dovetail.sources.resolve import root
from dovetail.sources.server import address
from dovetail.testing import check_source
from tests.support.server_dialects import SERVERS, AnyDatabase, as_warehouse, run_here
from tests.support.servers import PostgresDatabase, index
from tests.support.warehouses import URLS, flight_sql, recorded

FILL = [
    "CREATE TABLE customer (id int, name varchar(20), since date, credit numeric(10,2))",
    "INSERT INTO customer VALUES (1, 'Ann', '2024-01-01', 1.5), (2, 'Bob', NULL, 2.25)",
    "CREATE TABLE orders (id int, customer_id int, note varchar(20))",
    "INSERT INTO orders VALUES "
    + ", ".join(f"({at}, {1 + at % 2}, 'note {at}')" for at in range(400)),
]


@pytest.fixture(scope="module", params=sorted(SERVERS))
def server(request: pytest.FixtureRequest) -> Iterator[tuple[AnyDatabase, str]]:
    with as_warehouse(request.param) as (database, url):
        database.run(*FILL)
        yield database, url


def _facts(table: dovetail.Table) -> list[object]:
    wanted = ("kind", "nulls", "distinct", "unique", "minimum", "maximum")
    return [
        table.rows,
        [(c.name, *(str(getattr(c.profile, name)) for name in wanted)) for c in table.columns],
    ]


@pytest.mark.service
def test_read_whole_it_is_as_the_server_itself(
    server: tuple[AnyDatabase, str], tmp_path: Path
) -> None:
    database, url = server
    check_source(lambda: open_source(root(url, tmp_path)), untold={"customer", "orders"})
    own, through = index(database.url, into=tmp_path / "a"), index(url, into=tmp_path / "b")
    assert through.skipped == {}
    for name in ("customer", "orders"):
        assert _facts(through.catalog[name])[0] == _facts(own.catalog[name])[0]
        for mine, its in zip(through.catalog[name].columns, own.catalog[name].columns, strict=True):
            assert mine.profile.distinct == its.profile.distinct
            assert mine.profile.unique == its.profile.unique
        assert through.catalog[name].estimate is None
    assert "estimated" not in through.catalog.joins("orders")[0].evidence


@pytest.mark.service
def test_a_sample_is_an_estimate_and_says_so(
    server: tuple[AnyDatabase, str], tmp_path: Path
) -> None:
    _, url = server
    run = index(url, into=tmp_path / "c", sample=20)
    orders, customer = run.catalog["orders"], run.catalog["customer"]
    assert customer.estimate is None  # it is small enough to be read whole
    assert 5 <= orders.rows <= 40
    assert orders.estimate == Estimate(400, (0.0, 0.0, 0.0), (400, 2, 400))
    ends = [(column.profile.minimum, column.profile.maximum) for column in orders.columns]
    assert ends[:2] == [("0", "399"), ("1", "2")]
    assert [column.profile.unique for column in orders.columns] == [True, False, True]
    assert run.catalog.joins("orders")[0].evidence["estimated"] == 1.0
    again = index(url, into=tmp_path / "d", sample=20)
    assert again.catalog["orders"].digest == orders.digest  # the same rows are drawn every time
    beyond = index(url, into=tmp_path / "e", max_scan_bytes=1)
    assert beyond.catalog["orders"].estimate is not None
    assert beyond.catalog["orders"].estimate.rows == 400
    assert beyond.catalog["orders"].rows > 0


@pytest.mark.service
def test_a_query_runs_where_its_tables_are(server: tuple[AnyDatabase, str], tmp_path: Path) -> None:
    database, url = server
    catalog = index(url, into=tmp_path / "c").catalog
    tables = [catalog["orders"], catalog["customer"]]
    sql = (
        "SELECT name, count(*) AS n FROM orders JOIN customer ON customer.id = customer_id "
        "GROUP BY name ORDER BY name"
    )
    with Executor(catalog.reader) as executor:
        run_here(executor)
        ran = executor.run(sql, tables)
        assert ran.tuples() == [("Ann", 200), ("Bob", 200)]
        place = '"public"."orders"' if isinstance(database, PostgresDatabase) else "`orders`"
        assert place in ran.sql
        few = executor.run("SELECT id FROM orders", tables, limits=Limits(rows=7))
        assert (few.rows.num_rows, few.truncated) == (7, True)
        for refused in ("DELETE FROM orders", "SELECT * FROM pg_class", "SELECT pg_sleep(9)"):
            with pytest.raises(GuardError):
                executor.run(refused, tables)
        with pytest.raises(QueryError, match="the query failed: "):
            executor.run("SELECT nothing_like_it FROM orders", tables)


@pytest.mark.service
def test_what_goes_wrong_is_one_line(tmp_path: Path) -> None:
    with as_warehouse("adbc+postgresql") as (database, url):
        assert isinstance(database, PostgresDatabase)
        database.run(*FILL)
        with closing(open_source(root(url, tmp_path))) as source:
            listed = source.tables()
            database.run("DROP TABLE orders")
            with pytest.raises(SourceError, match=r"does not exist.*; it went while we looked"):
                list(source.scan(listed[1]).batches)
            assert sum(batch.num_rows for batch in source.scan(listed[0]).batches) == 2
        database.run(
            "CREATE TABLE odd AS SELECT g AS id, g > 5 AS large, gen_random_uuid() AS u, "
            "'{}'::json AS j, ARRAY[g] AS a, '\\x00'::bytea AS b FROM generate_series(1, 400) g"
        )
        spec = replace(root(url, tmp_path), options={"sample": 20})
        with closing(open_source(spec)) as source:
            scan = source.scan(source.tables()[-1])
            assert 5 <= sum(batch.num_rows for batch in scan.batches) <= 40
            assert scan.statistics is not None
            assert [column.distinct for column in scan.statistics.columns[:3]] == [400, 2, 400]
            assert scan.statistics.columns[1].minimum is None
        nobody = "adbc+" + database.url_for("nobody_here", "secret-word")
        with pytest.raises(SourceError) as told:
            open_source(root(nobody, tmp_path))
        assert "nobody_here" not in str(told.value)
        assert "secret-word" not in str(told.value)
        gone = f"adbc+postgresql://u:p@127.0.0.1:1/{database.name}"
        with pytest.raises(SourceError, match="check host and network"):
            open_source(root(gone, tmp_path))


def test_flight_sql(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("adbc_driver_flightsql", reason="needs the extra flightsql")
    monkeypatch.setenv("FLIGHTSQL_SCHEME", "grpc")
    with flight_sql(*FILL) as address:
        run = index(f"flightsql://{address}/main", into=tmp_path / "c")
        assert (run.skipped, [table.rows for table in run.catalog]) == ({}, [2, 400])
        sampled = index(f"flightsql://{address}/main", into=tmp_path / "d", sample=20)
        assert sampled.catalog["orders"].estimate is not None
        assert 5 <= sampled.catalog["orders"].rows <= 40
        with Executor(run.catalog.reader) as executor:
            found = executor.run("SELECT max(id) AS last FROM orders", [run.catalog["orders"]])
        assert (found.tuples(), '"main"."orders"' in found.sql) == ([(399,)], True)


@pytest.mark.parametrize("kind", sorted(URLS))
def test_recorded_catalogs(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    source, _ = recorded(kind, monkeypatch)
    told = kind in ("snowflake", "bigquery")
    names = [table.name for table in source.tables()]
    assert [name.lower() for name in names] == (
        ["shop.customers", "shop.orders"] if kind == "bigquery" else ["customers", "orders"]
    )
    check_source(lambda: source, untold=() if told else names)
    orders = source.tables()[1]
    scan = source.scan(orders)
    assert scan.statistics is None
    assert sum(batch.num_rows for batch in scan.batches) == 2000
    assert [column.name.lower() for column in scan.columns] == ["id", "customer_id", "placed"]
    assert not any(column.untyped for column in scan.columns)  # a NUMBER that comes as one is one
    if kind in ("snowflake", "databricks", "oracle"):
        assert source.declarations(source.tables())[names[0]].comment == "Who buys"


@pytest.mark.parametrize("kind", sorted(URLS))
def test_recorded_samples(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    source, known = recorded(kind, monkeypatch, sample=125)
    customers, orders = source.tables()
    assert source.scan(customers).statistics is None
    scan = source.scan(orders)
    read = sum(batch.num_rows for batch in scan.batches)
    assert 60 < read <= 250
    assert scan.statistics is not None
    assert scan.statistics.rows == 2000
    placed = scan.statistics.columns[2]
    assert placed.null_share == 0.25
    assert str(placed.minimum)[:10] == "2024-01-02"
    assert 1700 < scan.statistics.columns[0].distinct < 2300  # approximately
    capped, known = recorded(kind, monkeypatch, max_scan_bytes=1)
    scan = capped.scan(capped.tables()[1])
    assert scan.statistics is not None
    assert scan.statistics.rows == 2000
    assert "SAMPLE" in " ".join(known.asked)
    assert len(known.asked) <= 6


def test_a_draw_without_a_row_gives_way_to_the_first_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """BigQuery takes no seed: what the statistics are of, and the rows, are two draws."""
    source, known = recorded("bigquery", monkeypatch, max_scan_bytes=1)
    answer = known.execute

    def second_draw_is_empty(sql: str) -> None:
        answer(sql)
        if "TABLESAMPLE" in sql and "COUNT(" not in sql:
            known.fetchmany(10_000)

    monkeypatch.setattr(known, "execute", second_draw_is_empty)
    scan = source.scan(source.tables()[1])
    assert sum(batch.num_rows for batch in scan.batches) == 2000
    assert scan.statistics is not None
    assert 35 < scan.statistics.columns[1].distinct < 45  # approximately
    assert [column.type for column in scan.columns] == ["BIGINT", "BIGINT", "DATE"]


def test_a_driver_that_is_missing_and_a_token_that_expired(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "snowflake.connector", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'dovetail\[snowflake\]'"):
        open_source(root(URLS["snowflake"], tmp_path))

    def expired(*_: object) -> object:
        raise RuntimeError("390114: Authentication token of ann has expired.\nPlease log in.")

    drivers = {"snowflake": ("json", expired)}
    monkeypatch.setattr(warehouse_driver, "_DRIVERS", drivers)
    with pytest.raises(SourceError) as told:
        open_source(root("snowflake://ann:pw@acme/SHOP", tmp_path))
    assert str(told.value) == (
        "390114: Authentication token of *** has expired.; "
        "log in again: check the login in the environment, or renew the token"
    )


def test_logins_that_drivers_are_given(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Each driver gets the login of the URL or the environment, and nothing is kept of it."""
    monkeypatch.setenv("SNOWFLAKE_WAREHOUSE", "small")
    monkeypatch.setenv("DATABRICKS_TOKEN", "dapi-1")
    given: dict[str, Any] = {}

    def connect(*args: Any, **options: Any) -> Any:
        given.update(options, args=args)
        return SimpleNamespace(close=lambda: None)

    driver = SimpleNamespace(connect=connect)
    for kind, expected in {
        "snowflake": {
            "account": "acme-shop",
            "user": "ann",
            "password": "pw",
            "warehouse": "small",
        },
        "databricks": {"server_hostname": "dbc.example.com", "access_token": "pw"},
        "mssql": {"server": "127.0.0.1", "user": "ann", "password": "pw", "database": "shop"},
        "oracle": {"dsn": "127.0.0.1:1521/shop", "user": "ann", "password": "pw"},
    }.items():
        given.clear()
        spec = root(URLS[kind].replace("://", "://ann:pw@"), tmp_path)
        assert "pw" not in str(spec.stored())
        at = address(spec.location, spec.credentials, {"user": "", "password": ""})
        warehouse_driver._DRIVERS[kind][1](at, driver, None)
        assert expected.items() <= given.items()
