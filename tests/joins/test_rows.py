"""Rows as hashes, column by column, from the sources of a catalog."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import dovetail
from dovetail.joins.rows import RowReader


def test_text_that_is_no_utf8_is_hashed_as_the_profile_has_it(tmp_path: Path) -> None:
    """SQLite holds blobs in columns without a type, which are read as text."""
    file = tmp_path / "pile.sqlite"
    rows = [(f"k{number}", b"\xff\xfe %d " % (number % 3)) for number in range(30)]
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("CREATE TABLE t (a, b)")
        connection.executemany("INSERT INTO t VALUES (?, CAST(? AS TEXT))", rows)
    catalog = dovetail.build(
        file, into=tmp_path / "catalog", settings=dovetail.Settings(embedder="none")
    )
    (table,) = catalog.ids
    with closing(RowReader(catalog.reader)) as source:
        found = source.read(table, [0, 1])
    assert found is not None
    for column in (0, 1):
        assert sorted(set(found[column].tolist())) == catalog.reader.hashes(table, column).tolist()


def test_columns_of_one_type_are_hashed_together_as_each_by_itself(tmp_path: Path) -> None:
    file = tmp_path / "mixed.sqlite"
    texts = ["7", "007", " x ", None, "2024-02-29 00:00:00", "9" * 20]
    numbers = [1, None, -5, 10**15, 3, 0]
    rows = [(t, n, u, m) for t, n, u, m in zip(texts, numbers, texts[::-1], numbers, strict=True)]
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("CREATE TABLE t (a TEXT, b INTEGER, c TEXT, d INTEGER)")
        connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", rows)
    settings = dovetail.Settings(embedder="none")
    catalog = dovetail.build(file, into=tmp_path / "catalog", settings=settings)
    (table,) = catalog.ids
    with closing(RowReader(catalog.reader)) as source:
        found = source.read(table, range(4))
    assert found is not None
    columns = zip(*rows, strict=True)
    assert (found == 0).tolist() == [[cell is None for cell in part] for part in columns]
    for column in (3, 0, 2):
        kept = [value for value in found[column].tolist() if value]
        distinct = catalog.reader.hashes(table, column).tolist()
        assert sorted(set(kept)) == distinct
        times = catalog.reader.counts(table, column).tolist()
        assert [kept.count(value) for value in distinct] == times
