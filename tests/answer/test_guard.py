"""The guard: what it refuses and why, and that what it lets through means what it meant."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dovetail.answer.guard import guard
from dovetail.answer.relations import relations
from dovetail.answer.tree import DEEPEST, MOST_CHARACTERS
from dovetail.domain import Column, ColumnProfile, Kind, Table, TableId
from dovetail.errors import GuardError
from tests.support.hostile import REFUSED


def column(name: str, type_name: str = "BIGINT", *, unique: bool = False) -> Column:
    kind = Kind.TEXT if type_name == "VARCHAR" else Kind.INTEGER
    return Column(name, type_name, ColumnProfile(kind, 0, 1, unique, None, None, None, None, ()))


def table(name: str, *columns: Column, source: str = "shop.db") -> Table:
    return Table(TableId(source, name), columns, 1, (), "")


ORDERS = table("orders", column("id", unique=True), column("customer"), column("name", "VARCHAR"))
CUSTOMERS = table("customers", column("id", unique=True), column("city", "VARCHAR"))
ITEMS = table("sales.items", column("id"), column("order"))
SET = relations([ORDERS, CUSTOMERS, ITEMS])


@pytest.mark.parametrize("dialect", ["duckdb", "sqlite"])
@pytest.mark.parametrize("sql", REFUSED, ids=range(len(REFUSED)))
def test_hostile_statements_are_refused_with_a_reason(sql: str, dialect: str) -> None:
    with pytest.raises(GuardError) as refusal:
        guard(sql.replace("{folder}", "/data"), SET, dialect=dialect, engine=dialect)
    reason = str(refusal.value)
    assert reason.startswith("refused: ")
    assert "\n" not in reason
    assert 20 < len(reason) < 300


@pytest.mark.parametrize(
    "word", ["SQL_CALC_FOUND_ROWS", "SQL_NO_CACHE", "HIGH_PRIORITY", "STRAIGHT_JOIN"]
)
def test_words_to_the_engine_before_the_columns_are_refused(word: str) -> None:
    with pytest.raises(GuardError, match="is not something a query may hold here"):
        guard(f"SELECT {word} id FROM orders", SET, dialect="mysql", engine="mysql")


def test_there_are_enough_hostile_statements() -> None:
    assert len(set(REFUSED)) == len(REFUSED) >= 150


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("DROP TABLE orders", "DROP is no query; only SELECT may run"),
        ("SELECT 1; SELECT 2", "expected one statement, not 2"),
        ("SELECT * FROM hidden", "hidden is not a table of the set, which are: "),
        ("SELECT * FROM read_csv('x')", "READ_CSV stands for a table; only tables of the set may"),
        ("SELECT getenv('HOME')", "the function GETENV is not on the list of allowed"),
        ("SELECT 1 FOR UPDATE", "lock is not something a query may hold here"),
        ("SELECT * FROM orders TABLESAMPLE 10%", "sample is not something a table may be read"),
        ("SELECT * FROM main.orders", "main.orders is not a table of the set"),
        ("SELECT\u200b 1", "the invisible character U+200B"),
        ("SELECT (", "it does not parse as SQL"),
        ("", "there is no statement"),
        ("SELECT '" + "a" * MOST_CHARACTERS + "'", "characters, more than 50,000"),
        ("SELECT " + "(" * 60 + "1" + ")" * 60, "nested too deeply"),
    ],
)
def test_refusals_say_what_is_wrong(sql: str, reason: str) -> None:
    with pytest.raises(GuardError) as refusal:
        guard(sql, SET)
    assert reason in str(refusal.value)


@pytest.mark.parametrize(
    ("sql", "runs"),
    [
        ("select id from ORDERS", 'SELECT id FROM "orders" AS "ORDERS"'),
        ("FROM orders", 'SELECT * FROM "orders" AS "orders"'),
        ("SELECT o.id FROM orders o", 'SELECT o.id FROM "orders" AS o'),
        (
            "SELECT sales.items.id FROM sales.items",
            'SELECT items.id FROM "sales.items" AS "items"',
        ),
        (
            "WITH orders AS (SELECT * FROM orders) SELECT * FROM orders",
            'WITH "orders" AS (SELECT * FROM "orders" AS "orders") '
            'SELECT * FROM "orders" AS orders',
        ),
        (
            "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r) SELECT n FROM r",
            'WITH RECURSIVE "r" AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM "r" AS r) '
            'SELECT n FROM "r" AS r',
        ),
        ("SELECT 1 /* ; DROP TABLE orders */ -- x", "SELECT 1"),
        ("SELECT 1;;", "SELECT 1"),
        ("VALUES (1), (2)", "VALUES (1), (2)"),
    ],
)
def test_what_runs_is_written_out_again(sql: str, runs: str) -> None:
    assert guard(sql, SET).shown == runs


def test_tables_are_called_by_their_place_in_the_engine() -> None:
    placed = [relation.at("s0", relation.table.name) for relation in SET]
    guarded = guard("SELECT orders.id FROM orders", placed, dialect="sqlite", engine="sqlite")
    assert guarded.sql == 'SELECT orders.id FROM "s0"."orders" AS "orders"'
    assert guarded.tables == (ORDERS.id,)


def test_names_that_tables_share_get_aliases() -> None:
    other = table("Orders", column("id"), source="exports/erp.sqlite")
    pair = relations([ORDERS, other])
    assert [relation.name for relation in pair] == ["shop.orders", "erp.Orders"]
    assert [relation.name for relation in relations([other, ORDERS])] == [
        "erp.Orders",
        "shop.orders",
    ]
    with pytest.raises(
        GuardError, match=r"orders is not a table of the set, which are: shop\.orders"
    ):
        guard("SELECT * FROM orders", pair)
    assert guard("SELECT * FROM erp.orders", pair).tables == (other.id,)
    both = (
        "SELECT shop.orders.id FROM shop.orders JOIN erp.orders ON shop.orders.id = erp.orders.id"
    )
    assert guard(both, pair).shown == (
        'SELECT "shop.orders".id FROM "shop.orders" AS "shop.orders" JOIN "erp.Orders" AS '
        '"erp.orders" ON "shop.orders".id = "erp.orders".id'
    )


@given(st.text(max_size=200) | st.text("SELECT()*,'\"orders-/;\n ", max_size=80))
@example("SELECT * FROM orders WHERE id = '\\'")
@settings(max_examples=40)  # `test_fuzz` tries thousands
def test_no_text_does_anything_but_pass_or_be_refused(sql: str) -> None:
    for dialect in ("duckdb", "sqlite"):
        try:
            guarded = guard(sql, SET, dialect=dialect, engine=dialect)
        except GuardError:
            continue
        assert set(guarded.tables) <= {relation.table.id for relation in SET}


def test_nesting_that_is_let_through_does_not_exhaust_the_stack() -> None:
    depth = DEEPEST // 2
    assert guard("SELECT " + "(" * depth + "1" + ")" * depth, SET).sql.count("(") == depth


def test_unknown_columns_are_named_with_those_there_are() -> None:
    sql = "SELECT o.city, c.x FROM orders o, customers c WHERE gone = 1 AND EXISTS (SELECT o.name)"
    assert list(guard(sql, SET, complain=True).complaints) == [
        "there is no column city in table orders; it has: id, customer, name; "
        "there is one in customers",
        "there is no column x in table customers; it has: id, city",
        "there is no column gone in any table of the query",
    ]
    alone = guard("SELECT nope FROM customers", SET, complain=True)
    assert list(alone.complaints) == [
        "there is no column nope in table customers; it has: id, city"
    ]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT id AS x FROM orders ORDER BY x",
        "SELECT s.n FROM (SELECT name AS n FROM orders) s",
        "SELECT s.anything FROM (SELECT * FROM orders) s WHERE s.id = 1",
        "WITH c(a) AS (SELECT id FROM orders) SELECT a FROM c",
        "SELECT 1 FROM orders o WHERE EXISTS (SELECT 1 FROM customers WHERE id = o.customer)",
        "SELECT ID, Customer FROM Orders",
        "SELECT rowid FROM orders",
        "SELECT id FROM orders UNION SELECT id FROM customers ORDER BY id",
    ],
)
def test_known_columns_are_not_complained_about(sql: str) -> None:
    assert guard(sql, SET, complain=True).complaints == ()


def test_joins_are_found_wherever_they_are_written() -> None:
    expected = (CUSTOMERS.id, ORDERS.id, (("id", "customer"),))
    for sql in (
        "SELECT 1 FROM orders o JOIN customers c ON o.customer = c.id",
        "SELECT 1 FROM orders o, customers c WHERE c.ID = o.Customer AND o.id > 3",
        "SELECT 1 FROM customers WHERE EXISTS "
        "(SELECT 1 FROM orders WHERE orders.customer = customers.id)",
        "WITH x AS (SELECT city FROM orders JOIN customers ON customer = customers.id) SELECT 1",
    ):
        (join,) = guard(sql, SET).joins
        assert (join.left, join.right, join.columns) == expected, sql
    (using,) = guard("SELECT 1 FROM orders JOIN customers USING (id)", SET).joins
    assert using.columns == (("id", "id"),)


def test_sqlite_reads_a_rewritten_query_as_the_original(tmp_path: Path) -> None:
    queries = [
        "SELECT name, sum(id) FROM orders GROUP BY name HAVING sum(id) > 1 ORDER BY 2 DESC, 1",
        "SELECT count(*) FROM orders WHERE name LIKE 'A%' OR name GLOB 'b*'",
        "SELECT id / 2, id % 2, id || 'x', -id FROM orders ORDER BY id",
        "SELECT CASE WHEN id > 1 THEN 'many' ELSE 'one' END, iif(id > 1, 1, 2) FROM orders",
        "SELECT strftime('%Y', '2024-05-06'), substr('abc', 2), instr('abc', 'c'), ifnull(NULL, 3)",
        "SELECT name FROM orders EXCEPT SELECT 'ann' ORDER BY 1",
        "SELECT row_number() OVER (PARTITION BY name ORDER BY id DESC) FROM orders ORDER BY 1",
        'SELECT "no such column" FROM orders LIMIT 1 OFFSET 1',
        "SELECT avg(id) FILTER (WHERE name <> 'Bob') FROM orders",
        "SELECT 1 IS NOT NULL, NULL IS NULL, 3 BETWEEN 1 AND 2, 2 IN (1, 2)",
    ]
    with closing(sqlite3.connect(tmp_path / "shop.db")) as connection:
        connection.execute("CREATE TABLE orders (id INTEGER, customer INTEGER, name TEXT)")
        rows = [(1, 1, "Ann"), (2, 1, "Bob"), (3, 2, "ann"), (4, None, None)]
        connection.executemany("INSERT INTO orders VALUES (?, ?, ?)", rows)
        for sql in queries:
            rewritten = guard(sql, SET, dialect="sqlite", engine="sqlite").sql
            assert connection.execute(rewritten).fetchall() == connection.execute(sql).fetchall()
