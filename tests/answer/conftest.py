"""What the tests of execution need: executors, and a folder with secrets beside its tables."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dovetail
from dovetail.answer.execute import Executor
from tests.support.execution import SECRET


@pytest.fixture(scope="module")
def executor(sample: dovetail.Catalog) -> Iterator[Executor]:
    with Executor(sample.reader, workers=2) as running:
        yield running


@pytest.fixture(scope="module")
def den(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a set of two tables, and files beside it that are nobody's business."""
    folder = tmp_path_factory.mktemp("den")
    with closing(sqlite3.connect(folder / "shop.sqlite")) as connection, connection:
        connection.execute("CREATE TABLE orders (id INTEGER, customer INTEGER, name TEXT)")
        connection.execute("CREATE TABLE customers (id INTEGER, city TEXT)")
        connection.execute("CREATE TABLE hidden (id INTEGER, secret TEXT)")
        rows = [(number, number % 7, f"order {number}") for number in range(300)]
        connection.executemany("INSERT INTO orders VALUES (?, ?, ?)", rows)
        connection.executemany("INSERT INTO customers VALUES (?, 'Rome')", [(n,) for n in range(7)])
        connection.execute("INSERT INTO hidden VALUES (1, ?)", [SECRET])
    with closing(sqlite3.connect(folder / "other.sqlite")) as connection, connection:
        connection.execute("CREATE TABLE hidden (id INTEGER, secret TEXT)")
        connection.execute("INSERT INTO hidden VALUES (1, ?)", [SECRET])
    with duckdb.connect(str(folder / "other.duckdb")) as database:
        database.execute(f"CREATE TABLE hidden AS SELECT '{SECRET}' AS secret")
    (folder / "secret.csv").write_text(f"id,secret\n1,{SECRET}\n")
    pq.write_table(pa.table({"secret": [SECRET]}), folder / "secret.parquet")
    return folder


@pytest.fixture(scope="module")
def shop(den: Path, tmp_path_factory: pytest.TempPathFactory) -> dovetail.Catalog:
    into = tmp_path_factory.mktemp("shop") / "catalog"
    return dovetail.build(f"shop.sqlite={den / 'shop.sqlite'}", into=into)


@pytest.fixture(scope="module")
def shop_executor(shop: dovetail.Catalog) -> Iterator[Executor]:
    with Executor(shop.reader, workers=1) as running:
        yield running
