"""Gold tables from SQL: what is a table, and what only looks like one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail_bench.errors import DatasetError
from dovetail_bench.gold import tables_of

CASES = {
    "alias": ("SELECT o.x FROM orders AS o", ["orders"]),
    "once": ("SELECT * FROM t a JOIN T b ON a.x = b.y", ["T"]),
    "commas": ("SELECT * FROM a, b c WHERE a.x = c.x", ["a", "b"]),
    "subquery": ("SELECT * FROM a WHERE x IN (SELECT y FROM b WHERE z = a.z)", ["a", "b"]),
    "derived": ("SELECT * FROM (SELECT * FROM a) q JOIN b ON q.x = b.x", ["a", "b"]),
    "scalar": ("SELECT (SELECT max(x) FROM a) FROM b", ["a", "b"]),
    "exists": ("SELECT 1 FROM a WHERE NOT EXISTS (SELECT 1 FROM b)", ["a", "b"]),
    "union": ("SELECT x FROM a UNION ALL SELECT x FROM b EXCEPT SELECT x FROM c", ["a", "b", "c"]),
    "cte": ("WITH q AS (SELECT * FROM a) SELECT * FROM q JOIN b USING (x)", ["a", "b"]),
    "ctes": ("WITH p AS (SELECT * FROM a), q AS (SELECT * FROM p) SELECT * FROM q", ["a"]),
    "shadow": ("WITH a AS (SELECT * FROM a WHERE x > 1) SELECT * FROM a", ["a"]),
    "recursive": (
        "WITH RECURSIVE q AS (SELECT 1 AS n UNION ALL SELECT q.n + a.x FROM q JOIN a) "
        "SELECT * FROM q",
        ["a"],
    ),
    "nested": ("SELECT * FROM (WITH q AS (SELECT * FROM a) SELECT * FROM q) z", ["a"]),
    "backticks": ("SELECT * FROM `my table`", ["my table"]),
    "brackets": ("SELECT * FROM [my table]", ["my table"]),
    "quotes": ('SELECT * FROM "a""b"', ['a"b']),
    "unicode": ("SELECT * FROM störungen", ["störungen"]),
    "string": ("SELECT * FROM a WHERE x = 'FROM b'", ["a"]),
    "comment": ("SELECT * FROM a -- JOIN b\n", ["a"]),
    "semicolon": ("SELECT * FROM a;", ["a"]),
    "mysql": ("SELECT DATE_SUB(NOW(), INTERVAL 1 DAY) FROM a", ["a"]),
    "none": ("SELECT 1", []),
}


@pytest.mark.parametrize("name", CASES)
def test_the_tables_of_a_statement(name: str) -> None:
    sql, expected = CASES[name]
    assert [table for _, table in tables_of(sql)] == expected


def test_a_qualifier_is_kept() -> None:
    sql = 'SELECT * FROM "civic.sqlite".schools s JOIN lake.people p ON s.x = p.x'
    assert tables_of(sql, ("duckdb",)) == (("lake", "people"), ("civic.sqlite", "schools"))


@pytest.mark.parametrize(
    "sql", ["", "SELEC x FROM", "DROP TABLE a", "SELECT count(DISTINT x y) FROM a", "((("]
)
def test_what_is_no_query_is_an_error(sql: str) -> None:
    with pytest.raises(DatasetError, match="its SQL cannot be read") as raised:
        tables_of(sql)
    assert "\x1b" not in str(raised.value)


WORDS = ["SELECT", "*", "FROM", "a", "WITH", "AS", "(", ")", ",", "JOIN", "'", '"', "`", "[", ";"]
WORDS += ["UNION", "WHERE", "EXISTS", "VALUES", "EXPLAIN", "--", "/*", "\x00", "🙂", "IN", "1", "="]


@given(st.one_of(st.text(), st.lists(st.sampled_from(WORDS)).map(" ".join)))
def test_no_text_does_worse_than_not_being_sql(sql: str) -> None:
    try:
        found = tables_of(sql)
    except DatasetError as error:
        assert str(error).startswith("its SQL cannot be read")
    else:
        assert all(name for _, name in found)
