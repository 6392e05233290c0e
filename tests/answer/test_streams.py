"""Tables of a source as streams."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from dovetail.answer.in_duckdb import ListedSource
from dovetail.errors import SourceError
from dovetail.ports import Listing, SourceSpec
from dovetail.sources.sqlite import SqliteSource


def test_a_source_is_listed_once_for_all_tables_of_a_query(tmp_path: Path) -> None:
    file = tmp_path / "pile.sqlite"
    with closing(sqlite3.connect(file)) as connection, connection:
        for number in range(3):
            connection.execute(f"CREATE TABLE t{number} (a INTEGER)")
    times = []

    class Counted(SqliteSource):
        def tables(self) -> Sequence[Listing]:
            times.append(1)
            return super().tables()

    spec = SourceSpec("pile", "sqlite", str(file), "pile")
    with closing(ListedSource(Counted(spec))) as source:
        streams = [source.stream(f"t{number}") for number in range(3)]
        assert [[column.name for column in stream.columns] for stream in streams] == [["a"]] * 3
        with pytest.raises(SourceError, match="gone is no longer there; index again"):
            source.stream("gone")
    assert len(times) == 1
