"""Piles of tables written down as rows, indexed without an embedder."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

import dovetail

Rows = Sequence[tuple[object, ...]]
Pile = Mapping[str, tuple[str, Rows]]
SETTINGS = dovetail.Settings(embedder="none")


def write_sqlite(file: Path, tables: Pile) -> str:
    """A SQLite file of tables by name: columns in one text, and rows. Returns it as a source."""
    with closing(sqlite3.connect(file)) as database, database:
        for name, (columns, rows) in tables.items():
            database.execute(f'CREATE TABLE "{name}" ({columns})')
            marks = ",".join("?" * (columns.count(",") + 1))
            database.executemany(f'INSERT INTO "{name}" VALUES ({marks})', rows)
    return f"{file.stem}={file}"


def catalog_of(folder: Path, **sources: Pile) -> dovetail.Catalog:
    """A catalog of SQLite files, each given by its label and tables."""
    given = [write_sqlite(folder / f"{label}.sqlite", pile) for label, pile in sources.items()]
    return dovetail.build(*given, into=folder / "catalog", settings=SETTINGS)


PEOPLE = "person_id INTEGER, name TEXT, email TEXT, city TEXT"


def people(count: int, seed: int, first: int = 1) -> list[tuple[object, ...]]:
    """People with names and addresses that no other seed has."""
    draw = random.Random(seed)
    return [
        (
            first + n,
            f"name {seed} {draw.random():.6f}",
            f"{seed}.{draw.random():.6f}@x",
            f"c{n % 9}",
        )
        for n in range(count)
    ]


EVENTS = "event_id INTEGER, happened DATE, kind TEXT, amount REAL"


def events(year: int, count: int = 60) -> list[tuple[object, ...]]:
    """Events of one year, numbered from 1 in each."""
    draw = random.Random(year)
    return [
        (
            n + 1,
            f"{year}-{n % 12 + 1:02}-{n % 27 + 1:02}",
            f"k{n % 4}",
            round(draw.random() * 1e6, 2),
        )
        for n in range(count)
    ]
