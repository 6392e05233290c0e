"""Queries of SQLite's dialect give in DuckDB what they give in SQLite."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.answer.test_execute import QUERIES
from tests.answer.test_guard import SET
from tests.support.execution import pick

import dovetail
from dovetail.answer.execute import Executor
from dovetail.answer.guard import guard
from dovetail_bench.compare import order_of, same_result
from dovetail_bench.sqlite_compat import LIKE_SQLITE, like_sqlite


# What SQLite makes of its leniencies, and DuckDB must too: compared with SQLite below.
@pytest.mark.parametrize(
    ("sql", "runs"),
    [
        ('SELECT id FROM orders WHERE name = "Ann"', "WHERE name = 'Ann'"),
        ("SELECT id FROM orders WHERE name LIKE 'a%'", "WHERE name ILIKE 'a%'"),
        ("SELECT name, count(*) FROM orders GROUP BY customer", 'SELECT FIRST(name) AS "name"'),
        ("SELECT name, max(id) FROM orders", 'SELECT ARG_MAX(name, id) AS "name"'),
        ("SELECT name AS n, count(*) FROM orders GROUP BY n", "SELECT name AS n, COUNT(*)"),
        ("SELECT id FROM orders WHERE name > 3", "WHERE name > '3'"),
        ("SELECT id / 2, id / 2.0 FROM orders", "SELECT id // 2, id / NULLIF(2.0, 0) FROM"),
        ("SELECT sum(name) FROM orders", "TRY_CAST(name AS DOUBLE)"),
        (
            "SELECT 1 FROM orders WHERE id IN (SELECT city FROM customers)",
            "IN (SELECT TRY_CAST(city AS DOUBLE) FROM",
        ),
    ],
)
def test_leniencies_of_sqlite_are_put_in_words(sql: str, runs: str) -> None:
    assert runs in guard(sql, SET, dialect="sqlite", adapt=like_sqlite).sql


def test_results_are_those_of_sqlite(sample: dovetail.Catalog, corpus: tuple[Path, ...]) -> None:
    (file,) = (path for path in corpus if path.name == "shop.sqlite")
    names = ("orders", "order_items", "products", "status")
    tables = pick(sample, *(f"shop.sqlite::{name}" for name in names))
    with (
        closing(sqlite3.connect(file)) as connection,
        Executor(sample.reader, workers=1) as executor,
    ):
        for sql in QUERIES:
            gold = connection.execute(sql).fetchall()
            ran = executor.run(sql, tables, dialect="sqlite", adapt=LIKE_SQLITE).tuples()
            assert gold, sql
            assert same_result(gold, ran, order_of(sql)), sql
