"""The tables of a query are found by the names it uses, under the guard that all queries pass."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import dovetail
from dovetail.answer.execute import tables_of_query
from dovetail.errors import AmbiguousTableError, GuardError, TableNotFoundError
from dovetail.settings import Settings


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> dovetail.Catalog:
    folder = tmp_path_factory.mktemp("named")
    for name in ("shop", "crm"):
        with closing(sqlite3.connect(folder / f"{name}.sqlite")) as database:
            database.execute(f"CREATE TABLE orders AS SELECT 1 AS id, '{name}' AS at")
    (folder / "exports" / "sap").mkdir(parents=True)
    (folder / "exports" / "sap" / "KNA1.csv").write_text("kunnr,name\n1,Ann\n2,Bob\n")
    (folder / "exports" / "sales.customers.csv").write_text("id,name\n1,Ann\n")
    sources = [f"{place.name}={place}" for place in sorted(folder.iterdir())]
    into = folder / "catalog"
    return dovetail.build(*sources, into=into, settings=Settings(embedder="none"))


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("SELECT name FROM KNA1 ORDER BY 1", [{"name": "Ann"}, {"name": "Bob"}]),
        ('SELECT count(*) AS n FROM "sap/KNA1"', [{"n": 2}]),
        ("SELECT customers.name FROM customers", [{"name": "Ann"}]),
        ("SELECT sales.customers.name FROM sales.customers", [{"name": "Ann"}]),
        ('SELECT at FROM "shop.sqlite::orders"', [{"at": "shop"}]),
        (
            'SELECT a.at AS a, b.at AS b FROM "shop.sqlite::orders" a, "crm.sqlite::orders" b',
            [{"a": "shop", "b": "crm"}],
        ),
        ("WITH orders AS (SELECT 1 AS one) SELECT one FROM orders", [{"one": 1}]),
        ("SELECT k.name FROM KNA1 k JOIN customers c ON k.kunnr = c.id", [{"name": "Ann"}]),
        ('SELECT count(*) AS n FROM KNA1 a, "sap/KNA1" b', [{"n": 4}]),
        ("SELECT 1 AS one", [{"one": 1}]),
    ],
)
def test_a_query_names_its_tables(
    catalog: dovetail.Catalog, sql: str, rows: list[dict[str, object]]
) -> None:
    assert catalog.sql(sql).to_arrow().to_pylist() == rows


def test_names_that_fit_none_or_several(catalog: dovetail.Catalog) -> None:
    named = r"crm\.sqlite::orders, shop\.sqlite::orders \(in double quotes\)"
    with pytest.raises(AmbiguousTableError, match=named):
        catalog.sql("SELECT * FROM orders")
    with pytest.raises(TableNotFoundError, match=r"did you mean sales\.customers"):
        catalog.sql("SELECT * FROM customer")
    called = r"[^.]; shop\.sqlite::orders is shop\.orders in a query$"
    for query in ("SELECT * FROM %s", "SELECT 1 AS n FROM KNA1 WHERE %s.id = 1"):
        with pytest.raises(GuardError, match=called):
            catalog.sql(query % "shop.sqlite::orders")
    with pytest.raises(GuardError, match="refused"):
        catalog.sql("SELECT * FROM read_csv('/etc/passwd')")
    with pytest.raises(GuardError, match="only SELECT"):
        catalog.sql("DROP TABLE customers")


def test_given_tables_are_all_that_a_query_may_read(catalog: dovetail.Catalog) -> None:
    assert catalog.sql("SELECT at FROM orders", tables=["shop.sqlite::orders"]).rows.num_rows == 1
    both = ["shop.sqlite::orders", "crm.sqlite::orders"]
    answer = catalog.sql("SELECT s.at FROM shop.orders s, crm.orders c", tables=both)
    assert answer.to_arrow().to_pylist() == [{"at": "shop"}]
    with pytest.raises(GuardError, match="customers is not a table of the set"):
        catalog.sql("SELECT * FROM customers", tables=["KNA1"])
    with pytest.raises(TableNotFoundError):
        catalog.sql("SELECT 1", tables=["nothing"])
    (kna1,) = tables_of_query(catalog.reader, ["kna1"], [catalog["KNA1"]])[1:]
    assert (kna1.name, kna1.table.id.name) == ("kna1", "sap/KNA1")


def test_the_same_guard_and_limits(catalog: dovetail.Catalog, tmp_path: Path) -> None:
    few = dovetail.open(catalog.folder, Settings(embedder="none", query_rows=1))
    answer = few.sql("SELECT * FROM KNA1")
    assert (answer.rows.num_rows, answer.truncated) == (1, True)
    few.close()
