"""Execution: any sources in one query, and what an answer says of its rows."""

from __future__ import annotations

import json
import sqlite3
import sys
from collections.abc import Sequence
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import dovetail
from dovetail.answer import in_duckdb, in_sqlite
from dovetail.answer.execute import Executor
from dovetail.answer.in_duckdb import ListedSource
from dovetail.answer.relations import relations
from dovetail.answer.results import Limits
from dovetail.cli import app
from dovetail.domain import Kind
from dovetail.errors import (
    DovetailError,
    GuardError,
    MissingExtraError,
    QueryError,
    SourceError,
    UsageError,
)
from dovetail.ports import Listing, SourceSpec
from dovetail.sources.database_files import SqliteSource
from tests.support.execution import pick
from tests.support.servers import mysql, postgres


def test_every_table_of_the_sample_reads_as_the_catalog_knows_it(
    executor: Executor, sample: dovetail.Catalog
) -> None:
    for table in sample:
        typed = [
            column for column in table.columns
            if column.profile.kind in (Kind.INTEGER, Kind.REAL, Kind.DATE, Kind.TIMESTAMP)
        ]  # fmt: skip
        quoted = ['"' + column.name.replace('"', '""') + '"' for column in typed]
        counts = ", ".join(["count(*)", *(f"count({name})" for name in quoted)])
        name = '"' + table.name.replace('"', '""') + '"'
        ((rows, *present),) = executor.run(f"SELECT {counts} FROM {name}", [table]).tuples()
        assert rows == table.rows, table.id
        known = [table.rows - column.profile.nulls for column in typed]
        assert present == known, table.id


def test_all_kinds_of_files_join_in_one_query(executor: Executor, sample: dovetail.Catalog) -> None:
    tables = pick(
        sample,
        "shop.sqlite::orders",
        "exports::shop_customers",
        "events.jsonl::events",
        "warehouse.duckdb::shipments",
        "lake::students",
    )
    sql = """
        SELECT c.full_name, count(DISTINCT o.order_no) orders, count(DISTINCT e.event_id) seen,
               max(s.left_at) AS left_at, (SELECT count(*) FROM students) AS students
        FROM orders o JOIN shop_customers c ON c.customer_ref = o.customer_ref
        JOIN events e ON e.customer_ref = o.customer_ref
        LEFT JOIN shipments s ON s.shipment_no = o.shipment_no
        GROUP BY c.full_name ORDER BY orders DESC, c.full_name LIMIT 3
    """
    found = executor.run(sql, tables)
    assert found.rows.column_names == ["full_name", "orders", "seen", "left_at", "students"]
    assert found.rows.num_rows == 3
    assert set(found.rows.column("students").to_pylist()) == {460}
    assert not found.truncated
    assert {"guard", "open", "run", "process"} == set(found.seconds)


def test_types_survive(executor: Executor, sample: dovetail.Catalog) -> None:
    invoices = pick(sample, "city.duckdb::invoices")
    found = executor.run("SELECT sum(amount) AS a, sum(kwh) AS k FROM invoices", invoices)
    assert pa.types.is_decimal(found.rows.schema.field("a").type)
    loans = pick(sample, "exports::loans")
    row = executor.run("SELECT min(lent_on), sum(loan_no) FROM loans", loans).rows
    assert pa.types.is_date(row.schema.types[0])
    assert row.schema.types[1] == pa.int64()


def test_names_that_tables_share_are_told_apart(
    executor: Executor, sample: dovetail.Catalog
) -> None:
    both = pick(sample, "shop.sqlite::orders", "warehouse.duckdb::orders")
    sql = "SELECT (SELECT count(*) FROM shop.orders), (SELECT count(*) FROM warehouse.orders)"
    found = executor.run(sql, both)
    assert found.tuples() == [(600, 320)]
    assert sorted(found.names.values()) == ["shop.orders", "warehouse.orders"]


QUERIES = [
    "SELECT status, count(*) FROM orders GROUP BY status",
    "SELECT customer_ref FROM orders ORDER BY total DESC LIMIT 5",
    "SELECT o.order_no, sum(i.qty * i.unit_price) FROM orders o JOIN order_items i "
    "ON o.order_no = i.order_no GROUP BY o.order_no HAVING sum(i.qty) > 10",
    "SELECT product_name FROM products WHERE product_id NOT IN "
    "(SELECT product_id FROM order_items)",
    "SELECT status, max(total), order_no FROM orders GROUP BY status",
    'SELECT count(*) FROM orders WHERE status = "shipped"',
    "SELECT count(*) FROM products WHERE product_name LIKE '%A%'",
    "SELECT p.product_name, i.qty / 2 FROM products p LEFT JOIN order_items i "
    "ON p.product_id = i.product_id ORDER BY p.product_id, i.order_no, i.line_no LIMIT 20",
    "SELECT status FROM orders INTERSECT SELECT status FROM status",
    "SELECT avg(total) FROM orders WHERE order_no < 100 UNION ALL SELECT min(total) FROM orders",
    'SELECT "select", "group" FROM products WHERE list_price BETWEEN 10 AND 50',
]


@pytest.mark.parametrize("sql", QUERIES)
def test_results_are_those_of_sqlite(
    executor: Executor, sample: dovetail.Catalog, corpus: tuple[Path, ...], sql: str
) -> None:
    (file,) = (path for path in corpus if path.name == "shop.sqlite")
    with closing(sqlite3.connect(file)) as connection:
        gold = connection.execute(sql).fetchall()
    assert gold
    names = ("orders", "order_items", "products", "status")
    tables = pick(sample, *(f"shop.sqlite::{name}" for name in names))
    assert executor.run(sql, tables, engine="sqlite").tuples() == gold


def test_sqlite_joins_files_and_keeps_what_cells_hold(tmp_path: Path) -> None:
    for name, cells in (("a", [1, "two", 3.5, None, b"\x04"]), ("b", [1, 2, 3, 4, 5])):
        with closing(sqlite3.connect(tmp_path / f"{name}.db")) as connection, connection:
            connection.execute("CREATE TABLE t (id, cell)")
            connection.executemany("INSERT INTO t VALUES (?, ?)", enumerate(cells))
    sources = [f"{name}.db={tmp_path / name}.db" for name in "ab"]
    catalog = dovetail.build(*sources, into=tmp_path / "catalog")
    sql = "SELECT a.t.cell, b.t.cell FROM a.t JOIN b.t ON a.t.id = b.t.id ORDER BY a.t.id"
    with Executor(catalog.reader, workers=1) as running:
        found = running.run(sql, list(catalog), engine="sqlite")
        assert found.tuples() == [(1, 1), ("two", 2), (3.5, 3), (None, 4), (b"\x04", 5)]
        flat = running.run(sql, list(catalog), engine="sqlite")
    assert flat.columns == ("cell", "cell")


def test_sqlite_reads_a_view_and_what_it_is_made_of_through_it_alone(
    tmp_path: Path,
) -> None:
    with closing(sqlite3.connect(tmp_path / "v.db")) as connection, connection:
        connection.execute("CREATE TABLE base (a)")
        connection.execute("CREATE TABLE hidden (a)")
        connection.execute("INSERT INTO base VALUES (1), (2)")
        connection.execute("CREATE VIEW big AS SELECT a FROM base WHERE a > 1")
    settings = dovetail.Settings(views=True)
    catalog = dovetail.build(str(tmp_path / "v.db"), into=tmp_path / "catalog", settings=settings)
    with Executor(catalog.reader, workers=1) as running:
        view = [catalog["big"]]
        found = running.run("SELECT big.a FROM big", view, engine="sqlite")
        assert found.tuples() == [(2,)]
        placed = running._located(relations(view), "sqlite")
        described = [running._described(relation) for relation in placed]
    for sql in (
        "SELECT a FROM s0.base",
        "WITH big AS (SELECT a FROM s0.hidden) SELECT a FROM big",
        "SELECT count(*) FROM (SELECT a FROM s0.hidden) AS big",
    ):
        with pytest.raises(QueryError, match=r"prohibited|not authorized"):
            in_sqlite.run(sql, described, Limits())


def test_large_tables_are_streamed_as_often_as_they_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pq.write_table(pa.table({"n": range(200_000)}), tmp_path / "big.parquet")
    catalog = dovetail.build(str(tmp_path / "big.parquet"), into=tmp_path / "catalog")
    with Executor(catalog.reader, workers=1) as running:
        (table,) = catalog
        request = running._described(relations([table])[0])
    monkeypatch.setattr(in_duckdb, "_COPIED", 1000)
    sql = 'SELECT count(*), sum(a.n) FROM "big" a JOIN "big" b ON a.n = b.n'
    ran = in_duckdb.run(sql, [request], Limits())
    assert ran.rows.to_pylist() == [{"count(*)": 200_000, "sum(a.n)": 19999900000}]


def test_a_source_is_listed_once_for_all_tables_of_a_query(tmp_path: Path) -> None:
    file = tmp_path / "pile.sqlite"
    with closing(sqlite3.connect(file)) as connection, connection:
        for number in range(3):
            connection.execute(f"CREATE TABLE t{number} (a INTEGER)")
    times = []

    class Counted(SqliteSource):
        def tables(self) -> Sequence[Listing]:
            times.append(1)
            return super().tables()

    spec = SourceSpec("pile", "sqlite", str(file), "pile")
    with closing(ListedSource(Counted(spec))) as source:
        streams = [source.stream(f"t{number}") for number in range(3)]
        assert [[column.name for column in stream.columns] for stream in streams] == [["a"]] * 3
        with pytest.raises(SourceError, match="gone is no longer there; index again"):
            source.stream("gone")
    assert len(times) == 1


def test_a_table_that_changed_its_shape_or_went_says_so(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("a,b\n1,2\n")
    catalog = dovetail.build(str(file), into=tmp_path / "catalog")
    with Executor(catalog.reader, workers=1) as running:
        file.write_text("a,b,c\n1,2,3\n")
        with pytest.raises(SourceError, match=r"other columns than the catalog knows; index again"):
            running.run("SELECT a FROM t", list(catalog))
        file.unlink()
        with pytest.raises(DovetailError, match=r"there is no such file"):
            running.run("SELECT a FROM t", list(catalog))


def test_errors_of_the_engine_are_one_line(shop_executor: Executor, shop: dovetail.Catalog) -> None:
    for engine in ("duckdb", "sqlite"):
        with pytest.raises(QueryError, match=r"^the query failed: .*nope") as failure:
            shop_executor.run("SELECT nope FROM orders", pick(shop, "orders"), engine=engine)
        assert "\n" not in str(failure.value)


def test_an_engine_that_is_not_there_or_cannot(
    executor: Executor, sample: dovetail.Catalog
) -> None:
    with pytest.raises(UsageError, match=r"'oracle' is not known; there are: duckdb, sqlite"):
        executor.run("SELECT 1", [], engine="oracle")
    with pytest.raises(UsageError, match=r"reads SQLite files, which lake is not"):
        executor.run("SELECT 1", pick(sample, "lake::courses"), engine="sqlite")


@pytest.mark.service
def test_servers_and_files_join_in_one_query(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with postgres() as pg, mysql() as my:
        pg.run(
            "CREATE TABLE customers (id int, name text, credit numeric(10,2))",
            "INSERT INTO customers VALUES (1, 'Ann', 10.10), (2, 'Bob', 20.20), (3, 'Cy', NULL)",
            "CREATE SCHEMA sales",
            "CREATE TABLE sales.visits (customer int, at timestamptz)",
            "INSERT INTO sales.visits VALUES (1, '2024-01-01Z'), (1, '2024-01-02Z')",
        )
        my.run(
            "CREATE TABLE orders (no int, customer int, amount decimal(12,2))",
            "INSERT INTO orders VALUES (7, 1, 1.10), (8, 1, 2.20), (9, 2, 3.30)",
        )
        lines = {"order_no": [7, 7, 8, 9], "sku": ["a", "b", "a", "c"]}
        pq.write_table(pa.table(lines), tmp_path / "lines.parquet")
        with closing(sqlite3.connect(tmp_path / "stock.sqlite")) as connection, connection:
            connection.execute("CREATE TABLE stock (sku TEXT, on_hand INTEGER)")
            connection.execute("INSERT INTO stock VALUES ('a', 5), ('b', 6), ('c', 7)")
        for variables, url in (
            (("PGUSER", "PGPASSWORD"), pg.url),
            (("MYSQL_USER", "MYSQL_PWD"), my.url),
        ):
            parts = urlsplit(url)
            for name, value in zip(variables, (parts.username, parts.password), strict=True):
                if value:
                    monkeypatch.setenv(name, unquote(value))
        files = [str(tmp_path / name) for name in ("lines.parquet", "stock.sqlite")]
        catalog = dovetail.build(pg.url, my.url, *files, into=tmp_path / "catalog")
        sql = """
            SELECT c.name, c.credit, sum(o.amount) AS amount, sum(s.on_hand) AS on_hand,
                   (SELECT count(*) FROM sales.visits v WHERE v.customer = c.id) AS visits
            FROM customers c JOIN orders o ON o.customer = c.id
            JOIN lines l ON l.order_no = o.no JOIN stock s ON s.sku = l.sku
            GROUP BY c.id, c.name, c.credit ORDER BY c.name
        """
        with Executor(catalog.reader, workers=1) as running:
            found = running.run(sql, list(catalog))
            refused = "SELECT * FROM postgres_query('source_1', 'DELETE FROM customers')"
            with pytest.raises(GuardError):
                running.run(refused, list(catalog))
        assert [tuple(row.values()) for row in found.rows.to_pylist()] == [
            ("Ann", Decimal("10.10"), Decimal("4.40"), 16, 2),
            ("Bob", Decimal("20.20"), Decimal("3.30"), 7, 0),
        ]
        assert len(found.tables) == 5
        assert len(found.joins) == 4
        assert pg.ask("SELECT count(*) FROM customers") == [(3,)]


def test_an_answer_says_what_to_know_about_it(executor: Executor, sample: dovetail.Catalog) -> None:
    tables = pick(sample, "shop.sqlite::orders", "exports::shop_customers")
    sql = "SELECT a.order_no, b.order_no, NULL AS n FROM orders a JOIN orders b USING (status)"
    found = executor.run(sql, tables, limits=Limits(rows=50))
    assert found.warnings == (
        "the join shop.orders.status = shop.orders.status multiplies rows: values repeat on both "
        "sides",
        "column n is 100% null",
        "only the first 50 rows are shown: there are more",
    )
    on = "c.customer_ref = o.customer_ref"
    good = f"SELECT count(*) AS n FROM orders o JOIN shop_customers c ON {on}"
    fine = executor.run(good, tables)
    assert fine.warnings == ()
    assert [str(join.left) for join in fine.joins] == ["exports::shop_customers"]
    assert fine.columns == ("n",)


@pytest.fixture
def run_sql(sample: dovetail.Catalog) -> Any:
    def run(*arguments: str) -> Any:
        return CliRunner().invoke(app, ["sql", *arguments, "-C", str(sample.folder)])

    return run


@pytest.mark.slow
def test_the_command_prints_a_table_or_a_format(run_sql: Any, tmp_path: Path) -> None:
    query = "SELECT status, label FROM status ORDER BY status LIMIT 2"
    tables = ["--tables", "shop.sqlite::status"]
    shown = run_sql(query, *tables)
    assert shown.exit_code == 0
    assert "status" in shown.output
    assert "2 rows (" in shown.output
    printed = run_sql(query, *tables, "--json").stdout
    document = json.loads(printed)
    assert document["columns"] == ["status", "label"]
    assert document["tables"] == ["shop.sqlite::status"]
    assert len(document["rows"]) == 2
    assert document["truncated"] is False
    comma = run_sql(query, *tables, "--csv").stdout
    assert comma.splitlines() == ["status,label", *(",".join(row) for row in document["rows"])]
    files = [tmp_path / f"rows.{kind}" for kind in ("csv", "json", "parquet")]
    for file, form in zip(files, (["--csv", "-o"], ["--json", "-o"], ["--parquet"]), strict=True):
        written = run_sql(query, *tables, *form, str(file))
        said = "" if "--json" in form else f"2 rows in {file}\n"
        assert (written.exit_code, written.stdout.split()) == (0, said.split())
    assert files[0].read_text() == comma
    assert json.loads(files[1].read_text())["rows"] == document["rows"]
    assert [list(row.values()) for row in pq.read_table(files[2]).to_pylist()] == document["rows"]


def test_every_kind_of_cell_can_be_printed(run_sql: Any, tmp_path: Path) -> None:
    query = r"""
        SELECT 1 AS i, CAST(2.50 AS DECIMAL(9, 2)) AS d, 0.1 + CAST(0.2 AS DOUBLE) AS f, true AS b,
               DATE '2024-02-29' AS day, NULL AS n, 'a,"b"' AS i, CAST('\xC3\xA9' AS BLOB) AS raw
    """
    given = ["--tables", "shop.sqlite::status"]
    (row,) = json.loads(run_sql(query, *given, "--json").stdout)["rows"]
    assert row == [1, 2.5, 0.30000000000000004, True, "2024-02-29", None, 'a,"b"', "c3a9"]
    lines = run_sql(query, *given, "--csv").stdout.splitlines()
    assert lines == [
        "i,d,f,b,day,n,i,raw",
        '1,2.50,0.30000000000000004,true,2024-02-29,,"a,""b""",c3a9',
    ]
    assert "1 row (" in run_sql(query, *given).output


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--csv", "--json"], "--json, --csv and --parquet: choose one"),
        (["-o", "rows.csv"], "--output is where --csv or --json go"),
        (["--csv", "-o", "nowhere/rows.csv"], "cannot write nowhere/rows.csv: there is no such"),
        (["--parquet", "nowhere/rows.pq"], "cannot write nowhere/rows.pq: there is no such folder"),
        (["--csv", "-o", "."], "cannot write .: Is a directory"),
        (["--parquet", "."], "cannot write .: "),
    ],
)
def test_where_rows_cannot_go(
    run_sql: Any, tmp_path: Path, arguments: list[str], said: str, here: Path
) -> None:
    refused = run_sql("SELECT 1 AS a", "--tables", "shop.sqlite::status", *arguments)
    assert isinstance(refused.exception, UsageError)
    assert str(refused.exception).startswith(said)
    assert list(here.iterdir()) == []


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_rows_as_a_data_frame(
    executor: Executor, sample: dovetail.Catalog, library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sql = "SELECT status, label, 7 AS status FROM status ORDER BY status LIMIT 2"
    found = executor.run(sql, pick(sample, "shop.sqlite::status"))
    frame = found.to_pandas() if library == "pandas" else found.to_polars()
    assert type(frame).__module__.split(".")[0] == library
    assert list(frame.columns) == ["status", "label", "status_"]
    rows = [tuple(row.values()) for row in found.rows.rename_columns(["a", "b", "c"]).to_pylist()]
    told = frame.itertuples(index=False) if library == "pandas" else frame.iter_rows()
    assert [tuple(row) for row in told] == rows
    assert [tuple(row.values()) for row in found.to_arrow().to_pylist()] == rows


def test_a_data_frame_needs_a_library(
    executor: Executor, sample: dovetail.Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    for library in ("pandas", "polars"):
        monkeypatch.setitem(sys.modules, library, None)
    found = executor.run("SELECT 1 AS a", [])
    with pytest.raises(
        MissingExtraError, match=r"to_pandas\(\) needs .* 'dovetail-tables\[pandas\]'"
    ):
        found.to_pandas()
    with pytest.raises(
        MissingExtraError, match=r"to_polars\(\) needs .* 'dovetail-tables\[polars\]'"
    ):
        found.to_polars()
    assert found.to_arrow().to_pylist() == [{"a": 1}]


def test_the_command_refuses_and_limits(run_sql: Any) -> None:
    refused = run_sql("DROP TABLE status", "--tables", "shop.sqlite::status")
    assert isinstance(refused.exception, GuardError)
    cut = run_sql(
        "SELECT * FROM orders", "--tables", "shop.sqlite::orders", "--limit-rows", "3", "--json"
    )
    document = json.loads(cut.output)
    assert (len(document["rows"]), document["truncated"]) == (3, True)
