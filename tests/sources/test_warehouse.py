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

from dovetail.answer.execute import Executor
from dovetail.answer.results import Limits
from dovetail.errors import GuardError, MissingExtraError, QueryError, SourceError
from dovetail.plugins import open_source
from dovetail.sources import warehouse_driver
from dovetail.sources.resolve import root
from dovetail.sources.server import address
from dovetail.testing import check_source
from tests.support.servers import index
from tests.support.warehouses import URLS, FlightSql, flight_server, recorded

FILL = [
    "CREATE TABLE customer (id int, name varchar(20), since date, credit numeric(10,2))",
    "INSERT INTO customer VALUES (1, 'Ann', '2024-01-01', 1.5), (2, 'Bob', NULL, 2.25)",
    "CREATE TABLE orders (id int, customer_id int, note varchar(20))",
    "INSERT INTO orders VALUES "
    + ", ".join(f"({at}, {1 + at % 2}, 'note {at}')" for at in range(400)),
]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FlightSql]:
    """A real server behind a real driver."""
    pytest.importorskip("adbc_driver_flightsql", reason="needs the extra flightsql")
    monkeypatch.setenv("FLIGHTSQL_SCHEME", "grpc")
    with flight_server(*FILL) as server:
        yield server


def test_read_whole_it_is_exact(server: FlightSql, tmp_path: Path) -> None:
    check_source(lambda: open_source(root(server.url, tmp_path)), untold={"customer", "orders"})
    run = index(server.url, into=tmp_path / "c")
    assert (run.skipped, [table.rows for table in run.catalog]) == ({}, [2, 400])
    orders = run.catalog["orders"]
    assert orders.estimate is None
    assert [column.profile.distinct for column in orders.columns] == [400, 2, 400]
    assert [column.profile.unique for column in orders.columns] == [True, False, True]
    assert "estimated" not in run.catalog.joins("orders")[0].evidence


def test_a_sample_is_an_estimate_and_says_so(server: FlightSql, tmp_path: Path) -> None:
    run = index(server.url, into=tmp_path / "c", sample=20)
    orders, customer = run.catalog["orders"], run.catalog["customer"]
    assert customer.estimate is None  # it is small enough to be read whole
    assert 5 <= orders.rows <= 40
    assert orders.estimate is not None
    assert (orders.estimate.rows, orders.estimate.null_shares) == (400, (0.0, 0.0, 0.0))
    ends = [(column.profile.minimum, column.profile.maximum) for column in orders.columns]
    assert ends[:2] == [("0", "399"), ("1", "2")]
    assert run.catalog.joins("orders")[0].evidence["estimated"] == 1.0
    again = index(server.url, into=tmp_path / "d", sample=20)
    assert again.catalog["orders"].digest == orders.digest  # the same rows are drawn every time
    beyond = index(server.url, into=tmp_path / "e", max_scan_bytes=1).catalog["orders"]
    assert beyond.estimate is not None
    assert beyond.estimate.rows == 400
    assert beyond.rows > 0


def test_a_query_runs_where_its_tables_are(server: FlightSql, tmp_path: Path) -> None:
    catalog = index(server.url, into=tmp_path / "c").catalog
    tables = [catalog["orders"], catalog["customer"]]
    sql = (
        "SELECT name, count(*) AS n FROM orders JOIN customer ON customer.id = customer_id "
        "GROUP BY name ORDER BY name"
    )
    with Executor(catalog.reader) as executor:
        ran = executor.run(sql, tables)
        assert (ran.tuples(), '"main"."orders"' in ran.ran) == ([("Ann", 200), ("Bob", 200)], True)
        few = executor.run("SELECT id FROM orders", tables, limits=Limits(rows=7))
        assert (few.rows.num_rows, few.truncated) == (7, True)
        for refused in ("DELETE FROM orders", "SELECT * FROM pg_class", "SELECT pg_sleep(9)"):
            with pytest.raises(GuardError):
                executor.run(refused, tables)
        with pytest.raises(QueryError, match="the query failed: "):
            executor.run("SELECT nothing_like_it FROM orders", tables)


def test_types_that_are_neither_compared_nor_ordered(server: FlightSql, tmp_path: Path) -> None:
    server.run(
        "CREATE TABLE odd AS SELECT g AS id, g > 5 AS large, gen_random_uuid() AS u, "
        "'{}'::JSON AS j, [g] AS a, '\\x00'::BLOB AS b FROM range(1, 401) r (g)"
    )
    spec = replace(root(server.url, tmp_path), options={"sample": 20})
    with closing(open_source(spec)) as source:
        scan = source.scan(next(table for table in source.tables() if table.name == "odd"))
        assert 5 <= sum(batch.num_rows for batch in scan.batches) <= 40
        assert scan.statistics is not None
        assert [column.distinct for column in scan.statistics.columns[3:]] == [0, 0, 0]
        assert scan.statistics.columns[1].minimum is None


def test_a_server_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    pytest.importorskip("adbc_driver_flightsql", reason="needs the extra flightsql")
    with pytest.raises(SourceError, match="check host and network"):
        open_source(root("flightsql://u:p@127.0.0.1:1/main", tmp_path)).tables()


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
    with pytest.raises(MissingExtraError, match=r"pip install 'dovetail-tables\[snowflake\]'"):
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
