"""Makes a company out of clean databases that have questions and gold.

    company(read_databases([…]), seed=7, styles="held").write(folder)

Some databases become its systems, each with a spelling of its own, in files of different kinds; one
is spread over two systems, in the second of which keys look different. Older copies, flat marts,
parts by year, empty tables and dictionaries lie beside them, and applications that nobody asks
about. Questions keep their text, and their gold becomes the tables as they are called now; those
of databases that were left out cannot be answered. The same seed makes the same company.
"""

from __future__ import annotations

import csv
import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from dovetail.domain.sql import quoted
from dovetail.names.words import spelled
from dovetail_bench.corpus_folder import ABOUT, FAMILIES, FOREIGN_KEYS, QUESTIONS
from dovetail_bench.datasets import Dataset, ForeignKey
from dovetail_bench.mess.styles import CRYPTIC, STYLES, Styles, named, one_of, spell

# A database is small enough to be part of a company, and large enough to be asked about.
_LARGEST_FILE, _TABLES, _LEAST_QUESTIONS = 400_000, range(2, 13), 6
# How many databases are asked about, how many are not, and questions about each and about none.
_ASKED, _BESIDE, _QUESTIONS, _UNANSWERABLE = 4, 2, 10, 8
# The share of rows in an older copy, rows that can be parted, and by which years.
_OLDER, _LEAST_PARTED, _YEARS = 0.6, 12, (2021, 2022, 2023)
_KINDS = ("sqlite", "duckdb", "csv", "parquet")
Column = tuple[str, str]  # a table and its column, as they were


@dataclass(frozen=True, slots=True)
class Sheet:
    """A table with its rows; `origin` is the table that it was, `columns` were `was`."""

    name: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    origin: tuple[str, str] = ("", "")
    was: Sequence[str] = ()
    comments: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Database:
    """A clean database: its tables, the keys between them, and what is asked of it."""

    name: str
    file: Path
    tables: frozenset[str]
    keys: Sequence[ForeignKey]
    questions: Sequence[tuple[str, tuple[str, ...]]]

    def sheets(self) -> list[Sheet]:
        """Its tables with their rows."""
        with sqlite3.connect(f"file:{self.file}?mode=ro", uri=True) as reader:
            reader.text_factory = lambda raw: raw.decode("utf-8", "replace")
            return [_sheet(reader, self.name, name) for name in _names(reader)]


def _names(reader: sqlite3.Connection) -> list[str]:
    rows = reader.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
    return [name for (name,) in rows if not name.startswith("sqlite_")]


def _sheet(reader: sqlite3.Connection, database: str, name: str) -> Sheet:
    cursor = reader.execute(f"SELECT * FROM {quoted(name)}")
    columns = [about[0] for about in cursor.description]
    return Sheet(name, columns, cursor.fetchall(), (database, name.casefold()), columns)


def read_databases(corpora: Iterable[Dataset]) -> list[Database]:
    """The databases of corpora that are fit to be part of a company, each once."""
    databases: dict[str, Database] = {}
    for corpus in corpora:
        asked: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
        for question in corpus.question_set().questions:
            if question.gold:
                gold = tuple(table.name.casefold() for table in question.gold)
                asked.setdefault(question.gold[0].source, []).append((question.text, gold))
        keys: dict[str, list[ForeignKey]] = {}
        for key in corpus.foreign_keys():
            keys.setdefault(key.database, []).append(key)
        for name, file in corpus.sources.items():
            if file.stat().st_size > _LARGEST_FILE or name in databases:
                continue
            with sqlite3.connect(f"file:{file}?mode=ro", uri=True) as reader:
                tables = frozenset(table.casefold() for table in _names(reader))
            if len(tables) in _TABLES and len(asked.get(name, ())) >= _LEAST_QUESTIONS:
                databases[name] = Database(name, file, tables, keys.get(name, ()), asked[name])
    return [databases[name] for name in sorted(databases)]


@dataclass(frozen=True, slots=True)
class System:
    """A system of a company: its label, the kind of its files, and its tables."""

    label: str
    kind: str
    sheets: Sequence[Sheet]

    @property
    def path(self) -> str:
        return f"{self.label}.{self.kind}" if self.kind in ("sqlite", "duckdb") else self.label

    def table(self, name: str) -> str:
        """The id of one of its tables."""
        return f"{self.label}::{name}"


@dataclass(frozen=True, slots=True)
class Company:
    """Systems, questions with gold, and which columns hold the same identifiers."""

    systems: Sequence[System]
    questions: Sequence[Mapping[str, Any]]
    families: Mapping[str, Sequence[str]]
    keys: Sequence[Mapping[str, str]]

    def write(self, folder: Path) -> Path:
        """Write the files of a company, and a corpus about them, into a folder."""
        folder.mkdir(parents=True)
        for system in self.systems:
            _WRITERS[system.kind](folder / system.path, system.sheets)
        about = {
            "sources": {system.label: system.path for system in self.systems},
            "dialects": ["sqlite"],
            "pooled": False,
        }
        documents = {
            ABOUT: about, QUESTIONS: self.questions, FAMILIES: self.families,
            FOREIGN_KEYS: self.keys,
        }  # fmt: skip
        for name, document in documents.items():
            text = json.dumps(document, ensure_ascii=False, indent=1)
            (folder / name).write_text(text + "\n", "utf-8")
        return folder


def company(databases: Sequence[Database], seed: int, styles: str) -> Company:
    """The company of a seed, in styles that are `seen` or `held` out."""
    rng = Random(f"{seed}/{styles}")  # noqa: S311 - a seeded draw, no secret
    ways = STYLES[styles]
    order = rng.sample(list(databases), len(databases))
    inside = _apart(order)
    asked, labels = inside[:_ASKED], Labels(rng)
    systems: list[System] = []
    for number, database in enumerate(inside):
        split = number == 0 and bool(database.keys)
        systems += _systems(database, ways, rng, labels, split=split)
    systems = [_littered(system, ways, rng, asked) for system in systems]
    gold = _gold(systems)
    families = _families(systems)
    rows = [
        _row(text, [gold[database.name, table] for table in tables])
        for database in asked
        for text, tables in rng.sample(
            list(database.questions), min(_QUESTIONS, len(database.questions))
        )
        if all((database.name, table) in gold for table in tables)
    ]
    rows += [_row(text, []) for text in _strange(order, inside, rng)]
    return Company(
        systems,
        [{"question_id": number, **row} for number, row in enumerate(rows, start=1)],
        families,
        list(_keys(inside, systems)),
    )


def _apart(order: Sequence[Database]) -> list[Database]:
    """Databases no two of which have a table of one name: gold could be either's."""
    inside: list[Database] = []
    for database in order:
        if len(inside) < _ASKED + _BESIDE and not any(
            database.tables & other.tables for other in inside
        ):
            inside.append(database)
    return inside


def _strange(order: Sequence[Database], inside: Sequence[Database], rng: Random) -> list[str]:
    """Questions over databases that are not there, nor any of whose tables has a namesake."""
    there = frozenset().union(*(database.tables for database in inside))
    outside = [database for database in order if not database.tables & there]
    return [rng.choice(list(database.questions))[0] for database in outside[:_UNANSWERABLE]]


def _row(text: str, gold: Sequence[str]) -> dict[str, Any]:
    return {"question": text, "sql": "", "gold_tables": sorted(set(gold))}


class Labels:
    """What systems are called: nothing that tells what is in them."""

    def __init__(self, rng: Random) -> None:
        self._names = rng.sample(
            ["core", "portal", "legacy", "dwh", "branch", "cloud", "desk", "ops", "hub", "base"], 10
        )

    def next(self) -> str:
        return self._names.pop()


def _systems(
    database: Database, ways: Styles, rng: Random, labels: Labels, *, split: bool
) -> Iterator[System]:
    """The system, or the two systems, that a database becomes, with names as they are written."""
    sheets = database.sheets()
    referred = {key.ref_table.casefold() for key in database.keys}
    masters = [sheet for sheet in sheets if sheet.origin[1] in referred]
    rest = [sheet for sheet in sheets if sheet.origin[1] not in referred]
    parts = [masters, rest] if split and masters and rest else [sheets]
    keys = one_of(ways.keys, rng)
    same = _domains(database)
    for number, part in enumerate(parts):
        style, kind = one_of(ways.spellings, rng), _KINDS[rng.randrange(len(_KINDS))]
        if number:
            part = [_rekeyed(sheet, same, keys) for sheet in part]
        taken: set[str] = set()
        made = [_spelled(sheet, style, taken) for sheet in part]
        if style in CRYPTIC and kind == "duckdb":
            made = [_commented(sheet) for sheet in made]
        elif style in CRYPTIC:
            made.append(_dictionary(made, ways.dictionaries[rng.randrange(len(ways.dictionaries))]))
        yield System(labels.next(), kind, made)


def _domains(database: Database) -> set[Column]:
    """The columns that refer, or are referred to."""
    return {side for key in database.keys for side in _sides(key)}


def _sides(key: ForeignKey) -> tuple[Column, Column]:
    return (
        (key.table.casefold(), key.column.casefold()),
        (key.ref_table.casefold(), key.ref_column.casefold()),
    )


def _rekeyed(sheet: Sheet, keys: set[Column], form: str) -> Sheet:
    """A table whose keys that are whole numbers are written in another form."""
    at = [
        place
        for place, column in enumerate(sheet.was)
        if (sheet.origin[1], column.casefold()) in keys
        and all(isinstance(row[place], int) or row[place] is None for row in sheet.rows)
    ]
    rows = [
        [
            form.format(n=cell) if place in at and cell is not None else cell
            for place, cell in enumerate(row)
        ]
        for row in sheet.rows
    ]
    return replace(sheet, rows=rows)


def _spelled(sheet: Sheet, style: str, tables: set[str]) -> Sheet:
    taken: set[str] = set()
    columns = [spell(column, style, taken) for column in sheet.was]
    return replace(sheet, name=spell(sheet.origin[1], style, tables), columns=columns)


def _commented(sheet: Sheet) -> Sheet:
    """A table with comments that say what its names mean."""
    told = {new: spelled(old) for new, old in zip(sheet.columns, sheet.was, strict=True)}
    return replace(sheet, comments={"": spelled(sheet.origin[1]), **told})


def _dictionary(sheets: Sequence[Sheet], way: tuple[str, str, str, str]) -> Sheet:
    """A table that says what the names of others mean."""
    rows = [
        (sheet.name, column, spelled(was))
        for sheet in sheets
        for column, was in zip(("", *sheet.columns), (sheet.origin[1], *sheet.was), strict=True)
    ]
    return Sheet(way[0], way[1:], rows)


def _littered(system: System, ways: Styles, rng: Random, asked: Sequence[Database]) -> System:
    """A system with what lies about: copies, a mart, parts by year in place of a table, empties."""
    names = {database.name for database in asked}
    sheets = list(system.sheets)
    own = [sheet for sheet in system.sheets if sheet.origin[0] in names]
    litter: list[Sheet] = []
    for sheet in rng.sample(own, min(2, len(own))):
        older = sheet.rows[: int(_OLDER * len(sheet.rows))]
        litter.append(_beside(sheet, one_of(ways.copies, rng), older))
    if own:
        litter.append(_beside(rng.choice(own), one_of(ways.empties, rng), ()))
    by_origin = {sheet.origin: sheet for sheet in own}
    keys = [
        key
        for database in asked
        for key in database.keys
        if all((database.name, table) in by_origin for table, _ in _sides(key))
    ]
    if keys:
        key = rng.choice(keys)
        litter.append(_mart(by_origin, key, one_of(ways.marts, rng)))
    large = [sheet for sheet in own if len(sheet.rows) >= _LEAST_PARTED]
    if large and rng.random() < 0.5:
        parted, pattern = rng.choice(large), one_of(ways.parts, rng)
        sheets.remove(parted)
        sheets += [
            replace(parted, name=named(pattern, parted.name, year), rows=parted.rows[at::3])
            for at, year in enumerate(_YEARS)
        ]
    return replace(system, sheets=[*sheets, *litter])


def _beside(sheet: Sheet, pattern: str, rows: Sequence[Sequence[Any]]) -> Sheet:
    """What is no table of the company's, though it looks like one."""
    return replace(sheet, name=named(pattern, sheet.name), rows=rows, origin=("", ""))


def _mart(sheets: Mapping[tuple[str, str], Sheet], key: ForeignKey, pattern: str) -> Sheet:
    """A flat table of two that join, as somebody once exported it: its rows are not all there."""
    (child, column), (parent, ref_column) = _sides(key)
    left, right = sheets[key.database, child], sheets[key.database, parent]
    at, ref_at = (
        [was.casefold() for was in sheet.was].index(name)
        for sheet, name in ((left, column), (right, ref_column))
    )
    found = {row[ref_at]: row for row in right.rows}
    named_once = [*left.columns, *(name for name in right.columns if name not in left.columns)]
    more = [place for place, name in enumerate(right.columns) if name not in left.columns]
    rows = [
        [*row, *(found[row[at]][place] if row[at] in found else None for place in more)]
        for row in left.rows[: int(_OLDER * len(left.rows))]
    ]
    return Sheet(named(pattern, left.name), named_once, rows)


def _gold(systems: Sequence[System]) -> dict[tuple[str, str], str]:
    """The table that each table of the databases became; of parts the last."""
    return {
        sheet.origin: system.table(sheet.name)
        for system in systems
        for sheet in system.sheets
        if sheet.origin[0]
    }


def _families(systems: Sequence[System]) -> dict[str, list[str]]:
    """The tables that are parts of one."""
    parts: dict[tuple[str, str], list[str]] = {}
    for system in systems:
        for sheet in system.sheets:
            if sheet.origin[0]:
                parts.setdefault(sheet.origin, []).append(system.table(sheet.name))
    return {" ".join(origin): names for origin, names in parts.items() if len(names) > 1}


def _keys(databases: Sequence[Database], systems: Sequence[System]) -> Iterator[dict[str, str]]:
    """The keys between tables as they are called now."""
    called: dict[tuple[str, str, str], list[tuple[str, str, str]]] = {}
    for system in systems:
        for sheet in system.sheets:
            for was, column in (
                zip(sheet.was, sheet.columns, strict=True) if sheet.origin[0] else ()
            ):
                place = (*sheet.origin, was.casefold())
                called.setdefault(place, []).append((system.label, sheet.name, column))
    for database in databases:
        for child, parent in map(_sides, database.keys):
            for left in called.get((database.name, *child), ()):
                for right in called.get((database.name, *parent), ()):
                    yield {
                        "db_id": left[0], "table": left[1], "column": left[2],
                        "ref_db_id": right[0], "ref_table": right[1], "ref_column": right[2],
                    }  # fmt: skip


def _arrow(sheet: Sheet) -> pa.Table:
    """A table of Arrow: numbers where all cells are, else texts."""
    columns = [[row[at] for row in sheet.rows] for at in range(len(sheet.columns))]
    return pa.table([_array(cells) for cells in columns], names=list(sheet.columns))


def _array(cells: Sequence[Any]) -> pa.Array:
    present = [cell for cell in cells if cell is not None]
    if present and all(isinstance(cell, int) and abs(cell) < 1 << 62 for cell in present):
        return pa.array(cells, pa.int64())
    if present and all(isinstance(cell, int | float) for cell in present):
        return pa.array([None if cell is None else float(cell) for cell in cells])
    return pa.array([None if cell is None else str(cell) for cell in cells], pa.string())


def _write_sqlite(path: Path, sheets: Sequence[Sheet]) -> None:
    with sqlite3.connect(path) as writer:
        for sheet in sheets:
            columns = ", ".join(map(quoted, sheet.columns))
            writer.execute(f"CREATE TABLE {quoted(sheet.name)} ({columns})")
            marks = ", ".join("?" * len(sheet.columns))
            writer.executemany(f"INSERT INTO {quoted(sheet.name)} VALUES ({marks})", sheet.rows)
    writer.close()


def _write_duckdb(path: Path, sheets: Sequence[Sheet]) -> None:
    with duckdb.connect(str(path)) as writer:
        for sheet in sheets:
            writer.register("rows", _arrow(sheet))
            writer.execute(f"CREATE TABLE {quoted(sheet.name)} AS SELECT * FROM rows")
            writer.unregister("rows")
            for column, text in sheet.comments.items():
                told = "'" + text.replace("'", "''") + "'"
                what = f"COLUMN {quoted(sheet.name)}.{quoted(column)}" if column else ""
                writer.execute(f"COMMENT ON {what or f'TABLE {quoted(sheet.name)}'} IS {told}")


def _write_csv(path: Path, sheets: Sequence[Sheet]) -> None:
    path.mkdir()
    for sheet in sheets:
        with (path / f"{sheet.name}.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(sheet.columns)
            writer.writerows(sheet.rows)


def _write_parquet(path: Path, sheets: Sequence[Sheet]) -> None:
    path.mkdir()
    for sheet in sheets:
        pq.write_table(_arrow(sheet), path / f"{sheet.name}.parquet")


_WRITERS = {
    "sqlite": _write_sqlite, "duckdb": _write_duckdb, "csv": _write_csv, "parquet": _write_parquet,
}  # fmt: skip
