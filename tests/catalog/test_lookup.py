"""A table is found by what a person calls it, and a name that fits none or several says so."""

from __future__ import annotations

import pytest

import dovetail
from dovetail.catalog.lookup import TableNames, find_table
from dovetail.domain import TableId
from dovetail.errors import AmbiguousTableError, NotFoundError, TableNotFoundError, UsageError
from dovetail.joins.graph import JoinGraph

TABLES = [
    TableId("erp", "sales.customers"),
    TableId("erp", "archive.orders"),
    TableId("exports", "sap/KNA1"),
    TableId("exports", "sap/kna1_old"),
    TableId("crm.duckdb", "orders"),
    TableId("shop.sqlite", "orders"),
    TableId("shop.sqlite", "Order_Items"),
    TableId("x:", "stock"),
]


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("customers", "erp::sales.customers"),
        ("sales.customers", "erp::sales.customers"),
        ("SALES.Customers", "erp::sales.customers"),
        ("erp.sales.customers", "erp::sales.customers"),
        ("KNA1", "exports::sap/KNA1"),
        ("sap/KNA1", "exports::sap/KNA1"),
        ("exports/sap/KNA1", "exports::sap/KNA1"),
        ("archive.orders", "erp::archive.orders"),
        ("shop.sqlite::orders", "shop.sqlite::orders"),
        ("Shop.SQLite::Orders", "shop.sqlite::orders"),
        ("order_items", "shop.sqlite::Order_Items"),
        ("X:::stock", "x:::stock"),
    ],
)
def test_names_that_fit_one_table(name: str, found: str) -> None:
    assert str(find_table(TABLES, name)) == found


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("customer", "; did you mean sales.customers?"),
        ("KNA2", "; did you mean sap/KNA1?"),
        ("shop.sqlite::order_item", "; did you mean Order_Items"),
        ("shop.ordrs", "; did you mean shop.orders or crm.orders or archive.orders?"),
        ("zebra", ""),
        ("", ""),
        ("::", ""),
        (".", ""),
    ],
)
def test_names_that_fit_none(name: str, hint: str) -> None:
    with pytest.raises(TableNotFoundError) as raised:
        TableNames(TABLES).find(name, "catalog")
    assert str(raised.value).startswith(f"there is no table {name!r} in catalog{hint}")
    assert isinstance(raised.value, NotFoundError)
    assert isinstance(raised.value, KeyError)


def test_names_that_fit_several_list_them() -> None:
    with pytest.raises(AmbiguousTableError) as raised:
        find_table(TABLES, "orders")
    assert str(raised.value) == (
        "there are 2 tables named orders; say which: crm.duckdb::orders, shop.sqlite::orders"
    )
    assert isinstance(raised.value, UsageError)
    assert isinstance(raised.value, KeyError)
    many = [TableId(f"s{number}", "t") for number in range(12)]
    with pytest.raises(AmbiguousTableError, match=r"s7::t and 4 more$"):
        find_table(many, "t")


def test_an_empty_catalog_says_so() -> None:
    with pytest.raises(TableNotFoundError, match="the catalog has no tables"):
        find_table([], "orders")
    assert TableNames([]).matches(TABLES[0]) == []


def test_a_catalog_and_its_join_graph_use_it(sample: dovetail.Catalog) -> None:
    assert "patients" in sample
    assert "orders" in sample  # two of them, and still it is there
    assert "nonsense" not in sample
    assert TableId("lake", "students") in sample
    assert TableId("lake", "nonsense") not in sample
    assert sample["patients"] in sample
    assert 7 not in sample
    graph = JoinGraph.of(sample.reader)
    assert graph.joins("PATIENTS") == graph.joins(sample["patients"].id)
    with pytest.raises(TableNotFoundError, match="did you mean patients"):
        graph.joins("patient")
    with pytest.raises(TableNotFoundError, match="no table 'lake::nonsense'"):
        sample[TableId("lake", "nonsense")]
