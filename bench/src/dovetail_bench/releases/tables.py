"""Writes tables of a release that come as rows to a SQLite file."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from dovetail.errors import DatasetError
from dovetail.sources.duck import identifier

# Rows; they are gone through twice.
Cells = Iterable[Sequence[Any]]


def write_database(file: Path, tables: Mapping[str, tuple[Sequence[str], Cells]]) -> None:
    """A SQLite file with these tables, by name: columns and rows."""
    file.parent.mkdir(parents=True)
    with closing(sqlite3.connect(file)) as connection, connection:
        for name, (columns, rows) in tables.items():
            given: list[set[type]] = [set() for _ in columns]
            for row in rows:
                for types, value in zip(given, row, strict=True):
                    types.add(type(value))
            declared = ", ".join(
                f"{identifier(column)} {_kind(types - {type(None)})}"
                for column, types in zip(columns, given, strict=True)
            )
            marks = ", ".join("?" * len(columns))
            try:
                connection.execute(f"CREATE TABLE {identifier(name)} ({declared})")
                connection.executemany(f"INSERT INTO {identifier(name)} VALUES ({marks})", rows)
            except sqlite3.Error as error:
                raise DatasetError(f"table {name} cannot be written: {error}") from None


def _kind(given: set[type]) -> str:
    if given and given <= {int}:
        return "INTEGER"
    if given and given <= {int, float}:
        return "REAL"
    return "BLOB" if given == {bytes} else "TEXT"
