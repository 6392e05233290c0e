"""Snowflake by its real driver, against fakesnow: what is listed, read, sampled, asked and told.

What fakesnow does not do as Snowflake does is worked around here, each time with a word on it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from dovetail.answer.execute import Executor
from dovetail.answer.results import Limits
from dovetail.domain import DeclaredKeys, Kind
from dovetail.errors import GuardError, QueryError, SourceError
from dovetail.plugins import open_source
from dovetail.sources.resolve import root
from dovetail.sources.warehouse_dialects import DIALECTS, Shown
from dovetail.testing import check_source
from tests.support.fakesnow import Snowflake, fakesnow
from tests.support.servers import index

pytestmark = pytest.mark.service

FILL = [
    "CREATE TABLE customer (id INT, name VARCHAR(20), since DATE, credit NUMBER(10,2), "
    "PRIMARY KEY (id, name)) COMMENT = 'Who buys'",
    "INSERT INTO customer VALUES (1, 'Ann', '2024-01-01', 1.5), (2, 'Bob', NULL, 2.25)",
    "CREATE TABLE orders (id INT PRIMARY KEY, customer_id INT, note VARCHAR(20), "
    "placed TIMESTAMP_NTZ, paid BOOLEAN, more VARIANT)",
    "INSERT INTO orders SELECT SEQ4(), 1 + SEQ4() % 2, 'note ' || SEQ4(), "
    "DATEADD(day, SEQ4(), '2024-01-01'::TIMESTAMP_NTZ), SEQ4() % 4 = 0, NULL "
    "FROM TABLE(GENERATOR(ROWCOUNT => 400))",
    'CREATE TABLE "Odd ""name""" ("a b" INT, "select" TEXT)',
    'INSERT INTO "Odd ""name""" VALUES (1, $$quoted%$$)',
    "CREATE SCHEMA other",
    "CREATE TABLE other.visit (day DATE, note TEXT)",
]


@pytest.fixture(scope="module")
def server() -> Iterator[Snowflake]:
    with fakesnow() as database:
        database.run(*FILL)
        yield database


@pytest.fixture
def snowflake(server: Snowflake, monkeypatch: pytest.MonkeyPatch) -> Snowflake:
    for name, text in server.variables.items():
        monkeypatch.setenv(name, text)
    return server


@pytest.fixture
def without_scope(monkeypatch: pytest.MonkeyPatch) -> None:
    """fakesnow does not know SHOW … KEYS IN DATABASE, but means the same without these words."""
    statements = [
        replace(each, sql=each.sql.removesuffix(" IN DATABASE"))
        for each in DIALECTS["snowflake"].declared
        if isinstance(each, Shown)
    ]
    changed = replace(DIALECTS["snowflake"], declared=statements)
    monkeypatch.setitem(DIALECTS, "snowflake", changed)


@pytest.mark.usefixtures("without_scope")
def test_tables_are_read_whole(snowflake: Snowflake, tmp_path: Path) -> None:
    check_source(lambda: open_source(root(snowflake.url, tmp_path)))
    run = index(snowflake.url, into=tmp_path / "c")
    assert run.skipped == {}
    rows = {table.name: table.rows for table in run.catalog}
    assert rows == {"CUSTOMER": 2, "ORDERS": 400, 'Odd "name"': 1, "OTHER.VISIT": 0}
    orders = run.catalog["ORDERS"]
    assert orders.estimate is None
    assert [(column.name, column.profile.kind) for column in orders.columns] == [
        ("ID", Kind.INTEGER),
        ("CUSTOMER_ID", Kind.INTEGER),
        ("NOTE", Kind.TEXT),
        ("PLACED", Kind.TIMESTAMP),
        ("PAID", Kind.BOOLEAN),
        ("MORE", Kind.EMPTY),
    ]
    assert [column.profile.distinct for column in orders.columns] == [400, 2, 400, 400, 2, 0]
    assert [column.name for column in run.catalog['Odd "name"'].columns] == ["a b", "select"]
    (join,) = run.catalog.joins("ORDERS")
    assert join.columns == (("CUSTOMER_ID", "ID"),)


@pytest.mark.usefixtures("without_scope")
def test_keys_and_comments(snowflake: Snowflake, tmp_path: Path) -> None:
    """fakesnow lists no unique keys, and primary keys in place of foreign ones, which are left out:
    they refer to no table. It forgets comments on columns."""
    run = index(snowflake.url, into=tmp_path / "c")
    assert run.skipped == {}
    assert run.catalog["CUSTOMER"].keys == DeclaredKeys(("ID", "NAME"))
    assert run.catalog["ORDERS"].keys == DeclaredKeys(("ID",))
    assert run.catalog["CUSTOMER"].comment == "Who buys"


def test_what_it_refuses_to_tell_is_one_line(snowflake: Snowflake, tmp_path: Path) -> None:
    run = index(snowflake.url, into=tmp_path / "c")
    assert run.skipped == {}
    (line,) = run.report.notices
    assert "not all of its declared keys and comments can be read: 009999" in line
    assert len(run.catalog) == 4
    assert run.catalog["CUSTOMER"].comment == "Who buys"


@pytest.mark.usefixtures("without_scope")
def test_a_sample_is_drawn_by_the_warehouse(snowflake: Snowflake, tmp_path: Path) -> None:
    run = index(snowflake.url, into=tmp_path / "c", sample=20)
    orders = run.catalog["ORDERS"]
    assert run.catalog["CUSTOMER"].estimate is None
    assert 5 <= orders.rows <= 40
    assert orders.estimate is not None
    assert orders.estimate.rows == 400
    assert orders.estimate.null_shares == (0, 0, 0, 0, 0, 1)
    assert [350 < orders.estimate.distinct[at] < 450 for at in (0, 2, 3)] == [True] * 3
    assert orders.columns[0].profile.maximum == "399"
    again = index(snowflake.url, into=tmp_path / "d", sample=20)
    assert again.catalog["ORDERS"].digest == orders.digest


def test_blocks_beyond_the_limit(snowflake: Snowflake, tmp_path: Path) -> None:
    """fakesnow says that every table has 0 bytes, so the limit is below that."""
    spec = replace(root(snowflake.url, tmp_path), options={"max_scan_bytes": -1, "sample": 200})
    with closing(open_source(spec)) as source:
        listed = {table.name: table for table in source.tables()}
        scan = source.scan(listed["ORDERS"])
        assert scan.statistics is not None
        assert scan.statistics.rows == 400
        assert 0 < sum(batch.num_rows for batch in scan.batches) <= 200


@pytest.mark.usefixtures("without_scope")
def test_a_query_runs_there(snowflake: Snowflake, tmp_path: Path) -> None:
    catalog = index(snowflake.url, into=tmp_path / "c").catalog
    tables = [catalog["ORDERS"], catalog["CUSTOMER"]]
    sql = (
        "SELECT name, count(*) AS n, max(placed) AS latest FROM orders "
        "JOIN customer ON customer.id = customer_id WHERE placed < DATE '2024-01-11' "
        "GROUP BY name ORDER BY name"
    )
    with Executor(catalog.reader) as executor:
        ran = executor.run(sql, tables)
        assert [row[:2] for row in ran.tuples()] == [("Ann", 5), ("Bob", 5)]
        assert '"PUBLIC"."ORDERS"' in ran.ran
        few = executor.run("SELECT id FROM orders", tables, limits=Limits(rows=7))
        assert (few.rows.num_rows, few.truncated) == (7, True)
        with pytest.raises(GuardError):
            executor.run("DELETE FROM orders", tables)
        with pytest.raises(QueryError, match="the query failed: "):
            executor.run("SELECT nothing_like_it FROM orders", tables)
    assert snowflake.ask("SELECT COUNT(*) FROM orders") == [(400,)]


@pytest.mark.usefixtures("without_scope")
def test_a_table_that_goes_midway_is_one_line(snowflake: Snowflake, tmp_path: Path) -> None:
    snowflake.run("CREATE TABLE gone AS SELECT 1 AS id")
    with closing(open_source(root(snowflake.url, tmp_path))) as source:
        listed = {table.name: table for table in source.tables()}
        snowflake.run("DROP TABLE gone")
        with pytest.raises(SourceError, match=r"GONE.*does not exist.*; it .*index again"):
            list(source.scan(listed["GONE"]).batches)
        assert sum(batch.num_rows for batch in source.scan(listed["ORDERS"]).batches) == 400


def test_the_login_is_told_to_nobody(snowflake: Snowflake, tmp_path: Path) -> None:
    into = tmp_path / "c"
    index(snowflake.url.replace("://", "://nobody_here:secret-word@"), into=into)
    for file in into.rglob("*"):
        if file.is_file():
            assert b"secret-word" not in file.read_bytes()
