"""Every keyword of the engines can be the name of a table and of a column."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import duckdb
import pytest
import sqlglot
from sqlglot import exp

from dovetail.domain import Column, ColumnProfile, JoinEdge, Kind, Table, TableId
from dovetail.domain.joins import join_sql
from dovetail.domain.schema import ddl
from dovetail.domain.sql import quoted

# Of SQLite's keywords, those that DuckDB does not have; SQLite itself cannot be asked for them.
OF_SQLITE = (
    "abort autoincrement conflict deferred detach each exclusive expression fail groups ignore "
    "immediate indexed instead isnull match notnull offset others plan pragma query raise "
    "regexp reindex release savepoint ties transaction unbounded vacuum virtual"
)


def keywords() -> list[str]:
    with closing(duckdb.connect()) as connection:
        rows = connection.execute("SELECT keyword_name FROM duckdb_keywords()").fetchall()
    return sorted({*(word for (word,) in rows), *OF_SQLITE.split()})


def queries(word: str) -> list[str]:
    name = quoted(word)
    return [
        f"CREATE TABLE {name} ({name} INTEGER, y INTEGER)",
        f"SELECT {name}, {name}.{name} FROM {name} JOIN (SELECT 1 AS one) ON {name}.{name} = one",
        f"DROP TABLE {name}",
    ]


def test_both_engines_take_every_keyword_as_a_name() -> None:
    with closing(duckdb.connect()) as duck, closing(sqlite3.connect(":memory:")) as lite:
        for word in keywords():
            for query in queries(word):
                duck.execute(query)
                lite.execute(query)


def test_the_parser_takes_every_keyword_as_a_name() -> None:
    for word in keywords():
        name = quoted(word)
        tree = sqlglot.parse_one(f"SELECT {name}.{name} FROM {name}", dialect="duckdb")
        assert [table.name for table in tree.find_all(exp.Table)] == [word]
        assert [column.name for column in tree.find_all(exp.Column)] == [word]


@pytest.mark.parametrize("word", ["name", "status", "date", "year", "type", "key", "value", "user"])
def test_words_that_need_no_quotes_have_none(word: str) -> None:
    assert quoted(word) == word


def test_a_table_called_order_with_a_column_called_select() -> None:
    profile = ColumnProfile(Kind.INTEGER, 0, 2, True, "1", "2", None, None, ("1", "2"))
    order = Table(TableId("s", "order"), (Column("select", "INTEGER", profile),), 2, (), "digest")
    group = Table(TableId("s", "Group"), (Column("x", "INTEGER", profile),), 2, (), "digest")
    edge = JoinEdge(order.id, group.id, (("select", "x"),), 1.0, "1:1", 1.0, {})
    with closing(duckdb.connect()) as connection:
        connection.execute(ddl([order, group], [edge]))
        joined = join_sql([order.id, group.id], [edge])
        assert joined == 'FROM "order"\nJOIN "Group" ON "order"."select" = "Group".x'
        assert connection.execute(f'SELECT count("select") {joined}').fetchone() == (0,)
