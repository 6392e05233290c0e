"""Generated lakes, kept below .bench/: many small tables in SQLite files, tall ones in Parquet, or
one in CSV.

Of small tables a thousand are a system, which is a file. It has modules of fifty tables
(`sales_order_line`), a table twenty columns and ten rows: its own key, up to three references to
tables of its module, and attributes. Keys look as they do in companies: half count from one and so
agree with one another by chance, the others are long numbers and codes. Most names are everyday
words in pairs; one attribute in ten has a word of its own in front, drawn by Zipf's law from twenty
thousand, so that new names keep coming.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from shutil import rmtree
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv

BENCH = Path(__file__).resolve().parents[4] / ".bench"
SPIDER2 = BENCH / "data" / "spider2" / "databases" / "snowflake" / "snowflake.sqlite"
# Lakes of small tables by how many there are, of tall ones by tables, columns and rows of each.
SMALL = {"10k": 500, "50k": 2_500, "200k": 10_000, "2m": 100_000}
TALL = {
    "tall-1e6": (100, 10, 1_000),
    "tall-1e7": (1_000, 10, 1_000),
    "tall-1e8": (1_000, 50, 2_000),
}
# CSV files of so many rows of 12 columns, called by about how many MB they are.
CSV = {"csv-75": 590_000, "csv-340": 2_650_000}
COLUMNS, ROWS, VOCABULARY = 20, 10, 20_000
_IN_SYSTEM, _IN_MODULE = 1_000, 50
_MODULES = (
    "sales", "purchase", "stock", "hr", "payroll", "crm", "finance", "assets", "fleet", "projects",
    "quality", "service", "marketing", "web", "pos", "plant", "lab", "legal", "travel", "audit",
)  # fmt: skip
_THINGS = (
    "order", "invoice", "customer", "supplier", "product", "contract", "employee", "payment",
    "shipment", "account", "budget", "ticket", "campaign", "machine", "vehicle", "visit", "sample",
    "claim", "policy", "warehouse", "department", "position", "journal", "tax", "price", "offer",
    "return", "delivery", "task", "route",
)  # fmt: skip
_PARTS = ("", "line", "history", "type", "address", "contact", "status", "group", "note", "file")
_SUBJECTS = (
    "net", "gross", "first", "last", "unit", "billing", "delivery", "contact", "bank", "tax",
    "start", "end", "due", "created", "changed", "planned", "actual", "home", "work", "old",
)  # fmt: skip


def vocabulary(seed: int = 7) -> list[str]:
    """Made-up words of two and three syllables, in an order without meaning."""
    syllables = [f"{one}{two}" for one in "bdfgklmnprstvz" for two in ("a", "e", "i", "o", "ur")]
    words = ["".join(parts) for size in (2, 3) for parts in product(syllables, repeat=size)]
    chosen = np.random.default_rng(seed).permutation(len(words))[:VOCABULARY]
    return [words[place] for place in chosen.tolist()]


Values = Callable[[np.random.Generator], list[Any]]
_WORDS = np.array(vocabulary(), dtype=object)


@dataclass(frozen=True, slots=True)
class _Key:
    """The key of a table: what it is called elsewhere, and its values."""

    name: str
    kind: str
    values: list[Any]


def _words(random: np.random.Generator, of: int) -> list[Any]:
    chosen: list[Any] = _WORDS[random.integers(0, of, ROWS)].tolist()
    return chosen


def _dates(random: np.random.Generator) -> list[Any]:
    days = np.datetime64("2015-01-01") + random.integers(0, 4_000, ROWS)
    return [None if number % 9 == 0 else str(day) for number, day in enumerate(days)]


# What an attribute is called, its type, and its values.
_ATTRIBUTES: tuple[tuple[str, str, Values], ...] = (
    ("amount", "REAL", lambda random: np.round(random.random(ROWS) * 1e4, 2).tolist()),
    ("price", "REAL", lambda random: np.round(random.random(ROWS) * 1e3, 2).tolist()),
    ("date", "TEXT", _dates),
    ("day", "TEXT", _dates),
    ("quantity", "INTEGER", lambda random: random.integers(0, 50, ROWS).tolist()),
    ("number", "INTEGER", lambda random: random.integers(0, 100_000, ROWS).tolist()),
    ("percent", "INTEGER", lambda random: random.integers(0, 101, ROWS).tolist()),
    ("year", "INTEGER", lambda random: random.integers(2015, 2027, ROWS).tolist()),
    ("name", "TEXT", lambda random: _words(random, 20_000)),
    ("city", "TEXT", lambda random: _words(random, 500)),
    ("country", "TEXT", lambda random: _words(random, 40)),
    ("status", "TEXT", lambda random: _words(random, 6)),
    ("flag", "TEXT", lambda random: random.choice(["Y", "N"], ROWS).tolist()),
    ("code", "TEXT", lambda random: [f"{n:05}" for n in random.integers(0, 5_000, ROWS).tolist()]),
    ("text", "TEXT", lambda random: [" ".join(_words(random, 20_000)[:6]) for _ in range(ROWS)]),
)


def lake(name: str, seed: int = 1) -> Path:
    """The files of a lake by its name, written if they are not there; `spider2` is unpacked."""
    if name == "spider2":
        return SPIDER2
    folder = BENCH / "lakes" / name
    if not (folder / "complete").exists():
        rmtree(folder, ignore_errors=True)
        (folder / "files").mkdir(parents=True)
        if name in SMALL:
            _write_small(folder / "files", SMALL[name], seed)
        elif name in CSV:
            _write_csv(folder / "files", CSV[name], seed)
        else:
            _write_tall(folder / "files", *TALL[name], seed)
        (folder / "complete").touch()
    return folder / "files"


def _write_small(folder: Path, tables: int, seed: int) -> None:
    for system, start in enumerate(range(0, tables, _IN_SYSTEM)):
        random = np.random.default_rng((seed, system))
        with closing(sqlite3.connect(folder / f"system_{system:03}.sqlite")) as connection:
            connection.execute("PRAGMA synchronous = off")
            for first in range(0, min(_IN_SYSTEM, tables - start), _IN_MODULE):
                _add_module(connection, _MODULES[first // _IN_MODULE], random)
            connection.commit()


def _write_tall(folder: Path, tables: int, columns: int, rows: int, seed: int) -> None:
    """Keys, references, numbers, codes, words, dates, some of them null."""
    random = np.random.default_rng(seed)
    for number in range(tables):
        table = {f"c{i}": _column(i, rows, number, random) for i in range(columns)}
        pq.write_table(pa.table(table), folder / f"t{number:05d}.parquet")


def _write_csv(folder: Path, rows: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    pieces = [
        pa.table({f"c{i}": _column(i, VOCABULARY // 2, start, random) for i in range(12)})
        for start in range(0, rows, VOCABULARY // 2)
    ]
    csv.write_csv(pa.concat_tables(pieces), folder / "rows.csv")


def _column(
    position: int,
    rows: int,
    table: int,
    random: np.random.Generator,
) -> pa.Array:
    words = _WORDS.astype(str)

    def nulls(values: npt.NDArray[Any]) -> pa.Array:
        return pa.array(values, mask=random.random(rows) < 0.05)

    kinds = [
        lambda: pa.array(np.arange(rows) + table),
        lambda: pa.array(random.integers(0, rows, rows)),
        lambda: pa.array(random.integers(0, 1 << 40, rows)),
        lambda: nulls(np.round(random.random(rows) * 1e4, 2)),
        lambda: pa.array(random.normal(size=rows)),
        lambda: pa.array(words[random.integers(0, len(words), rows)]),
        lambda: nulls(words[random.integers(0, 60, rows)]),
        lambda: pa.array([f"{table:04d}-{n:06d}" for n in random.integers(0, rows, rows)]),
        lambda: pa.array(
            np.datetime64("2020-01-01", "D") + random.integers(0, 2_000, rows).astype("m8[D]")
        ),
        lambda: pa.array(np.char.add(words[random.integers(0, 20_000, rows)], words[:rows])),
    ]
    return kinds[position % len(kinds)]()


def _add_module(connection: sqlite3.Connection, module: str, random: np.random.Generator) -> None:
    entities = [f"{thing}_{part}".strip("_") for thing in _THINGS for part in _PARTS]
    names = [entities[at] for at in random.choice(len(entities), _IN_MODULE, replace=False)]
    keys = [_key(name, random) for name in names]
    for name, key in zip(names, keys, strict=True):
        columns = {"id" if random.random() < 1 / 3 else key.name: (key.kind, key.values)}
        for at in random.choice(len(keys), random.integers(0, 4), replace=False):
            values = random.choice(np.array(keys[at].values, dtype=object), ROWS).tolist()
            columns.setdefault(keys[at].name, (keys[at].kind, values))
        while len(columns) < COLUMNS:
            header, kind, values = _attribute(random)
            columns.setdefault(header, (kind, values))
        declared = ", ".join(f'"{header}" {kind}' for header, (kind, _) in columns.items())
        connection.execute(f'CREATE TABLE "{module}_{name}" ({declared})')
        rows = zip(*(values for _, values in columns.values()), strict=True)
        marks = ", ".join("?" * COLUMNS)
        connection.executemany(f'INSERT INTO "{module}_{name}" VALUES ({marks})', rows)


def _key(name: str, random: np.random.Generator) -> _Key:
    way = random.random()
    first = 1 if way < 1 / 2 else int(random.integers(10_000, 90_000_000))
    numbers = list(range(first, first + ROWS))
    if way < 3 / 4:
        return _Key(f"{name}_id", "INTEGER", numbers)
    return _Key(f"{name}_code", "TEXT", [f"{name[:3].upper()}-{number}" for number in numbers])


def _attribute(random: np.random.Generator) -> tuple[str, str, list[Any]]:
    name, kind, values = _ATTRIBUTES[random.integers(len(_ATTRIBUTES))]
    header = f"{_SUBJECTS[random.integers(len(_SUBJECTS))]}_{name}"
    if random.random() < 1 / 10:
        header = f"{_WORDS[int(len(_WORDS) ** random.random()) - 1]}_{header}"
    return header, kind, values(random)
