"""Schemas that everybody knows, no key declared."""

from __future__ import annotations

from pathlib import Path

import duckdb

from dovetail.domain import JoinEdge, TableId
from dovetail_bench.programs.classic import keys_of, measure, run


def test_the_keys_of_tpch_are_found_hidden(tmp_path: Path) -> None:
    found = run("tpch", 0.001, tmp_path)
    assert found.keys == 10
    assert found.f1 >= 0.9


def test_keys_are_those_of_columns_that_hold_something(tmp_path: Path) -> None:
    file = tmp_path / "few.duckdb"
    with duckdb.connect(str(file)) as database:
        database.execute("CREATE TABLE item AS SELECT 1 AS i_item_sk, 1 AS i_manufact_id")
        database.execute("CREATE TABLE store AS SELECT 1 AS s_store_sk")
        sales = "SELECT 1 AS ss_item_sk, 7 AS ss_ticket_number, NULL::INT AS ss_store_sk"
        database.execute(f"CREATE TABLE store_sales AS {sales}")
        returns = "SELECT 1 AS sr_item_sk, 7 AS sr_ticket_number"
        database.execute(f"CREATE TABLE store_returns AS {returns}")
    sold, returned = "store_sales.ss_item_sk", "store_returns.sr_item_sk"
    ticket = frozenset(("store_sales.ss_ticket_number", "store_returns.sr_ticket_number"))
    assert keys_of("tpcds", file) == {
        frozenset([frozenset((sold, "item.i_item_sk"))]),
        frozenset([frozenset((returned, "item.i_item_sk"))]),
        frozenset([frozenset((sold, returned)), ticket]),
    }


def test_edges_are_held_against_keys_whichever_side_comes_first() -> None:
    sale, item = TableId("s", "main.sale"), TableId("s", "main.item")
    edge = JoinEdge(item, sale, (("id", "item_id"),), 0.9, "1:n", 1.0, {})
    keys = {frozenset([frozenset(("sale.item_id", "item.id"))])}
    found = measure("tpch", keys, [edge])
    assert (found.precision, found.recall, found.wrong, found.missed) == (1.0, 1.0, (), ())
