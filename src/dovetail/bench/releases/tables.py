"""Tables of a release that come as rows, written to a SQLite file."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from dovetail.errors import DatasetError
from dovetail.sources.duck import identifier

Cells = Sequence[Sequence[Any]]


def write_database(file: Path, tables: Mapping[str, tuple[Sequence[str], Cells]]) -> None:
    """A SQLite file with these tables, by name: columns and rows."""
    file.parent.mkdir(parents=True)
    with closing(sqlite3.connect(file)) as connection, connection:
        for name, (columns, rows) in tables.items():
            kinds = [_kind([row[place] for row in rows]) for place in range(len(columns))]
            declared = ", ".join(
                f"{identifier(column)} {kind}" for column, kind in zip(columns, kinds, strict=True)
            )
            marks = ", ".join("?" * len(columns))
            try:
                connection.execute(f"CREATE TABLE {identifier(name)} ({declared})")
                connection.executemany(f"INSERT INTO {identifier(name)} VALUES ({marks})", rows)
            except sqlite3.Error as error:
                raise DatasetError(f"table {name} cannot be written: {error}") from None


def _kind(values: Sequence[Any]) -> str:
    given = {type(value) for value in values if value is not None}
    if given and given <= {int}:
        return "INTEGER"
    return "REAL" if given and given <= {int, float} else "TEXT"
