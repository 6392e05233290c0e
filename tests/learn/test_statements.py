"""What a query uses: tables and joins, through aliases, WITH clauses and subqueries."""

from __future__ import annotations

import pytest

from dovetail.answer.tree import parse
from dovetail.catalog.lookup import TableNames
from dovetail.domain import TableId
from dovetail.learn.statements import QueryReader, literals, masked, without_literals

COLUMNS = {
    "sales.orders": ("order_no", "customer_id", "placed", "year"),
    "sales.items": ("order_no", "line", "product_id", "year"),
    "products": ("product_id", "label", "parent_id"),
    "customers": ("customer_id", "Mail"),
}
TABLES = {TableId("erp", name): {c.casefold(): c for c in cols} for name, cols in COLUMNS.items()}
READER = QueryReader(TableNames(TABLES), TABLES)
ITEMS = "items.order_no = orders.order_no"


def joins(sql: str, dialect: str = "postgres") -> list[str]:
    found = READER.read(parse(sql, dialect)).joins
    brief = [(a.name.split(".")[-1], b.name.split(".")[-1], columns) for a, b, columns in found]
    return [" and ".join(f"{a}.{x} = {b}.{y}" for x, y in columns) for a, b, columns in brief]


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT * FROM sales.orders o JOIN sales.items i ON o.order_no = i.order_no", [ITEMS]),
        ("SELECT * FROM sales.items, sales.orders WHERE items.order_no = orders.order_no", [ITEMS]),
        ("SELECT * FROM sales.items JOIN sales.orders USING (order_no)", [ITEMS]),
        ("SELECT * FROM sales.items NATURAL JOIN sales.orders", []),
        ("SELECT * FROM sales.orders WHERE order_no IN (SELECT order_no FROM sales.items)",
         [ITEMS]),
        (
            "SELECT * FROM sales.orders o WHERE EXISTS "
            "(SELECT 1 FROM sales.items i WHERE i.order_no = o.order_no)",
            [ITEMS],
        ),
        (
            "WITH w AS (SELECT order_no AS n FROM sales.items), v AS (SELECT * FROM w) "
            "SELECT * FROM v JOIN sales.orders o ON v.n = o.order_no",
            [ITEMS],
        ),
        (
            "SELECT * FROM (SELECT order_no n FROM sales.items) s "
            "JOIN sales.orders o ON n = o.order_no",
            [ITEMS],
        ),
        (
            "SELECT * FROM sales.orders o JOIN sales.items i "
            "ON o.order_no = i.order_no AND i.year = o.year AND i.line = 1",
            ["items.order_no = orders.order_no and items.year = orders.year"],
        ),
        ("SELECT * FROM products a JOIN products b ON a.parent_id = b.product_id",
         ["products.parent_id = products.product_id"]),
        ("SELECT * FROM sales.orders, customers WHERE lower(mail) = lower(placed)",
         ["customers.Mail = orders.placed"]),
        ("SELECT * FROM sales.orders o, customers c WHERE o.year = c.customer_id OR true", []),
        ("SELECT * FROM sales.orders o JOIN elsewhere e ON e.x = o.order_no", []),
        ("SELECT * FROM sales.items UNION SELECT * FROM sales.items, sales.orders "
         "WHERE items.order_no = orders.order_no", [ITEMS]),
        ("SELECT * FROM sales.orders a, sales.orders a WHERE a.order_no = a.year", []),
        ("SELECT max(order_no) m FROM sales.orders WHERE order_no = year", []),
    ],
)  # fmt: skip
def test_joins(sql: str, expected: list[str]) -> None:
    assert joins(sql) == expected


def test_names_are_resolved_by_schema_or_by_the_one_source_that_has_them_all() -> None:
    other = {TableId("crm", "orders"): {"order_no": "order_no"}}
    reader = QueryReader(TableNames([*TABLES, *other]), {**TABLES, **other})
    both = reader.read(parse("SELECT * FROM orders", "postgres")).tables
    assert both == (TableId("crm", "orders"),)  # the one that goes without a schema
    names = "SELECT * FROM sales.orders JOIN customers USING (customer_id)"
    read = reader.read(parse(names, "postgres"))
    assert read.tables == (TableId("erp", "customers"), TableId("erp", "sales.orders"))
    assert (read.whole, len(read.joins)) == (True, 1)
    assert not reader.read(parse("SELECT * FROM customers, elsewhere", "postgres")).whole


@pytest.mark.parametrize(
    ("sql", "dialect", "expected"),
    [
        ("select 'Ann', 7 -- secret\nfrom t", "postgres", "SELECT ?, ? FROM t"),
        ("SELECT x FROM t WHERE y IN ('a', 'b')", "sqlite", "SELECT x FROM t WHERE y IN (?)"),
        ('SELECT x FROM t WHERE y = "Ann"', "sqlite", "SELECT x FROM t WHERE y = ?"),
        ("SELECT x FROM t WHERE y = \"Ann\"", "mysql", "SELECT x FROM t WHERE y = ?"),
        ("SELECT count(*) n FROM t GROUP BY 1 LIMIT 5", "duckdb",
         "SELECT COUNT(*) AS n FROM t GROUP BY 1 LIMIT ?"),
        ("SELECT E'Ann', x'ff', $$Ann$$ FROM t", "postgres", "SELECT ?, ?, ? FROM t"),
        # A name that a query makes up may be a value, too.
        ("SELECT sum(x) AS 'Ann Lee' FROM t", "mysql", "SELECT SUM(x) AS n1 FROM t"),
        ('SELECT "Ann".x FROM t "Ann" ORDER BY "Ann".x', "postgres",
         "SELECT n1.x FROM t AS n1 ORDER BY n1.x"),
        ("SELECT sum(CASE WHEN y = 'Berlin' THEN 1 END) AS berlin_total, x AS total FROM t",
         "postgres", "SELECT SUM(CASE WHEN y = ? THEN ? END) AS n1, x AS total FROM t"),
        ("SELECT x AS c4711123 FROM t GROUP BY 4711", "duckdb",
         "SELECT x AS n1 FROM t GROUP BY ?"),
        ("SELECT x FROM t WHERE y = $$Ann$$", "sqlite", "SELECT x FROM t WHERE y = n1"),
        ("SELECT x FROM t WHERE y = :ann AND x = @bob", "sqlite",
         "SELECT x FROM t WHERE y = ? AND x = ?"),
        ("SELECT POINT 'Ann' FROM t", "sqlite", "SELECT POINT AS n1 FROM t"),
        ("SELECT /*+ Ann */ x FROM t", "mysql", "SELECT x FROM t"),
        ("SELECT x[4711] FROM t", "sqlite", "SELECT x AS n1 FROM t"),
        ("SELECT x FROM 'Ann.csv' JOIN t USING (x)", "duckdb", "SELECT x FROM n1 JOIN t USING (x)"),
        ('SELECT "x" FROM "s"."t" JOIN "Ann"."u" USING ("x")', "postgres",
         'SELECT "x" FROM "s"."t" JOIN n1.n2 USING ("x")'),
    ],
)  # fmt: skip
def test_a_query_without_its_literals(sql: str, dialect: str, expected: str) -> None:
    assert without_literals(parse(sql, dialect), dialect, {"t", "x", "y"}) == expected


def test_a_question_without_the_literals_of_its_query() -> None:
    tree = parse("SELECT * FROM t WHERE a = 'Ann Lee' AND b LIKE '%oslo%' AND c = 'x'", "sqlite")
    assert (
        masked("What did ann lee of Oslo buy for x?", literals(tree))
        == "What did ? of ? buy for x?"
    )
