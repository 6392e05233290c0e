"""Queries of thousands of conditions, cases, clauses, operators and levels, and of clauses that
read each other by more ways than can be counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import dovetail
from dovetail.answer.guard import guard, table_names
from dovetail.answer.relations import Relation, relations
from dovetail.answer.tree import native_sql
from dovetail.domain.sql import MOST, MOST_VALUES
from dovetail.learn.learning import learn_log
from dovetail.learn.logs import Log, Statement, statements_in
from dovetail.ports import Json
from dovetail.serve.query_parts import QueryParts
from dovetail.serve.views import named_set
from tests.support.kinds.case import Case, Draw, Kind
from tests.support.parsers import Parser, tried
from tests.support.served import shop_catalog

# A query, from its parts: what stands before, what is said again and again, what stands between
# and behind. `#` is the number of the time, and `<` that of the time before.
_AGAIN = (
    ("SELECT * FROM orders WHERE ", "order_no = #", " AND ", ""),
    ("SELECT * FROM orders WHERE ", "order_no = #", " OR ", ""),
    ("SELECT * FROM orders WHERE ", "NOT (order_no > # OR ordered_on IS NULL)", " AND ", ""),
    ("SELECT * FROM orders WHERE order_no IN (", "#", ", ", ")"),
    ("SELECT * FROM orders WHERE ", "order_no IN (1, #)", " OR ", ""),
    ("SELECT * FROM orders WHERE ", "ordered_on LIKE 'a%'", " OR ", ""),
    ("SELECT * FROM orders WHERE ", "EXISTS (SELECT 1 FROM customers)", " AND ", ""),
    ("SELECT * FROM orders WHERE ", "order_no BETWEEN 1 AND #", " OR ", ""),
    ("SELECT * FROM orders o JOIN customers c ON ", "o.customer_no = c.customer_no", " AND ", ""),
    ("SELECT * FROM orders o, customers c WHERE ", "o.customer_no = c.customer_no", " OR ", ""),
    ("SELECT CASE ", "WHEN order_no = # THEN 1", " ", " END FROM orders"),
    ("", "SELECT order_no FROM orders", " UNION ALL ", ""),
    ("", "SELECT order_no FROM orders", " EXCEPT ", ""),
    ("WITH ", "c# AS (SELECT * FROM orders)", ", ", " SELECT * FROM c0"),
    ("WITH c0 AS (SELECT * FROM orders), ", "c#1 AS (SELECT * FROM c0)", ", ", " FROM c01"),
    ("SELECT ", "order_no", ", ", " FROM orders"),
    ("SELECT ", "order_no AS a#", ", ", " FROM orders"),
    ("SELECT ", "order_no", " + ", " FROM orders"),
    ("SELECT ", "'a'", " || ", " FROM orders"),
    ("SELECT ", "sum(order_no) OVER (ORDER BY customer_no)", ", ", " FROM orders"),
    ("SELECT * FROM ", "orders t#", ", ", ""),
    ("SELECT * FROM orders t0 ", "JOIN orders t# ON t#.order_no = t0.order_no", " ", ""),
    ("SELECT * FROM (VALUES ", "(1, #)", ", ", ") v(a, b)"),
    ("SELECT 1 FROM orders GROUP BY ", "order_no", ", ", ""),
    ("SELECT 1 FROM orders ORDER BY ", "order_no DESC", ", ", ""),
    ("SELECT order_no", "::int", "", " FROM orders"),
    ("SELECT order_no", "[1]", "", " FROM orders"),
    ("SELECT order_no", "[1].a", "", " FROM orders"),
    ("SELECT order_no", " -> 'a'", "", " FROM orders"),
    ("SELECT order_no", " AT TIME ZONE 'UTC'", "", " FROM orders"),
    ("SELECT * FROM orders WHERE order_no", " IS NULL", "", ""),
    ("SELECT * FROM orders WHERE order_no", " COLLATE nocase", "", ""),
    ("SELECT ", "x -> ", "", "1 FROM orders"),
    ("SELECT ", "x -> 1 + ", "", "1 FROM orders"),
    ("SELECT ", "INTERVAL ", "", "'1' DAY FROM orders"),
    ("SELECT ", "- ", "", "1 FROM orders"),
    ("SELECT * FROM orders WHERE ", "NOT ", "", "order_no = 1"),
    ("SELECT ", "orders.", "", "order_no FROM orders"),
    ("SELECT ", "a", "", " FROM orders"),
    ("SELECT 1 AS ", "b", "", " FROM orders"),
    ("SELECT 1 ", "/* a */", " ", " FROM orders"),
    ("", "SELECT 1 FROM orders", ";", ""),
)  # fmt: skip
# The same with an end for every beginning: levels.
_NESTED = (
    ("SELECT * FROM orders WHERE ", "(", "order_no = 1", ")", ""),
    ("SELECT ", "CASE WHEN order_no = # THEN 1 ELSE ", "0", " END", " FROM orders"),
    ("", "(", "SELECT order_no FROM orders", " UNION SELECT 1)", ""),
    ("", "SELECT * FROM (", "SELECT * FROM orders", ") t", ""),
    ("", "WITH c AS (", "SELECT * FROM orders", ") SELECT * FROM c", ""),
    ("SELECT * FROM orders WHERE ", "order_no IN (SELECT order_no FROM orders WHERE ", "1 = 1",
     ")", ""),
    ("SELECT ", "abs(", "1", ")", " FROM orders"),
    ("SELECT ", "{'a': ", "1", "}", " FROM orders"),
    ("SELECT ", "[", "1", "]", " FROM orders"),
)  # fmt: skip
_SIZES = (900, 4_000, 12_000, 30_000, 49_000, 70_000)
_DIALECTS = ("duckdb", "sqlite", "postgres", "mysql", "snowflake", "bigquery")
_LEVELS = (5, 30, 45, 400)


def conditions(folder: Path) -> Kind:
    """Each case gives such a query to the guard, to `learn`, to a log, or asks for its SQL: it is
    taken or refused in a line, in the seconds of the processor that a parser has."""
    catalog = shop_catalog(folder)
    set_ = relations([catalog["orders"], catalog["customers"]], catalog.reader.query_names)
    given = named_set(catalog, "q", ["orders", "customers"])
    ways = _ways(catalog, set_, folder / "log.sql")

    def case(draw: Draw) -> Case:
        if draw.random() < 0.1:
            parts = _parts(draw)
            write = Parser(lambda _: catalog.sql(catalog.completed(given, parts).skeleton), ())
            how, wrong = tried("", write, "")
            return "a skeleton" + _ended(how), wrong[0] if wrong else ""
        name, sql, dialect = draw.choice(list(ways)), _drawn(draw), draw.choice(_DIALECTS)
        how, wrong = tried("", Parser(lambda text: ways[name](text, dialect), ()), sql)
        return name + _ended(how), f"{dialect}: {wrong[0]}" if wrong else ""

    return case


def _ended(how: Counter[str]) -> str:
    return next(iter(how)).replace(": ", ", ")


def _ways(
    catalog: dovetail.Catalog, set_: tuple[Relation, ...], log: Path
) -> dict[str, Callable[[str, str], object]]:
    def learnt(sql: str, dialect: str) -> None:
        statements = [Statement(sql, question="how many?"), Statement("SELECT * FROM orders")]
        found = learn_log(catalog.reader, Log("log", (dialect,), statements))
        if (found.queries + found.others + found.broken, found.queries > 0) != (2, True):
            raise AssertionError(f"{found.queries} + {found.others} + {found.broken}")

    def logged(sql: str, dialect: str) -> None:
        log.write_text(f"-- question: how many?\n{sql};\nSELECT * FROM orders;")
        learn_log(catalog.reader, Log("log", (dialect,), statements_in(log)))

    return {
        "the guard": lambda sql, dialect: guard(
            sql, set_, dialect=dialect, engine=dialect, complain=True
        ),
        "names": table_names,
        "learn": learnt,
        "a log": logged,
        "in words of a source": lambda sql, dialect: native_sql(sql, set_, dialect),
    }


def _drawn(draw: Draw) -> str:
    kind = draw.random()
    if kind < 0.15:
        return _woven(draw)
    size = draw.choice(_SIZES)
    if kind < 0.35:
        before, opened, inside, closed, behind = draw.choice(_NESTED)
        levels = draw.choice((*_LEVELS, size // len(opened + closed)))
        return before + opened.replace("#", "7") * levels + inside + closed * levels + behind
    before, unit, between, behind = draw.choice(_AGAIN)
    times = size // len(unit + between)
    parts = [unit.replace("#", str(number)) for number in range(times)]
    return before + between.join(parts) + behind


def _woven(draw: Draw) -> str:
    """Clauses, each of which reads some before it: the ways through them double with every one."""
    ways, clauses = draw.randint(1, 3), draw.choice((5, 19, 40, 200))
    parts = ["c0 AS (SELECT * FROM orders)"]
    for number in range(1, clauses):
        read = [f"c{draw.randrange(max(0, number - 3), number)} t{at}" for at in range(ways)]
        parts.append(f"c{number} AS (SELECT * FROM {', '.join(read)})")
    last = f"c{clauses - 1}"
    column = draw.choice(("order_no", "missing"))
    joined = draw.choice((f"x.{column} = y.{column}", f"{column} = y.missing"))
    return f"WITH {', '.join(parts)} SELECT 1 FROM {last} x, {last} y WHERE {joined}"


def _parts(draw: Draw) -> Json:
    """As many conditions as a query takes, with as many values."""
    where = [
        {"table": "shop::orders", "operator": "in",
         "column": draw.choice(("order_no", "ordered_on")),
         "values": [str(number) for number in range(draw.choice((1, MOST_VALUES)))],
         "either": draw.random() < 0.5}
        for _ in range(draw.choice((2, MOST["where"])))
    ]  # fmt: skip
    return QueryParts.model_validate({"where": where}).model_dump()
