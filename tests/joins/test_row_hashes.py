"""Rows as hashes, column by column, from the sources of a catalog."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import dovetail
from dovetail.joins.row_hashes import RowReader


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
    with closing(RowReader(catalog)) as source:
        found = source.read(table, [0, 1])
    assert found is not None
    for column in (0, 1):
        assert sorted(set(found[column].tolist())) == catalog.hashes(table, column).tolist()
