"""Many tables in one source: it is opened once per run, and they come out as from many files."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import dovetail
from dovetail.catalog.reader import CatalogReader
from tests.support.files import update

TABLES = 400
ODD = {
    "mixed": ["CREATE TABLE mixed (a INTEGER, b DATE)", "INSERT INTO mixed VALUES ('x', 0.5)"],
    "bare": ["CREATE TABLE bare (a, b)", "INSERT INTO bare VALUES (0.1, 'x'), (7, NULL)"],
    "dated": ["CREATE TABLE dated (a DATE, b DATETIME)",
              "INSERT INTO dated VALUES ('2024-02-29', '2024-02-29 10:00:00'), (NULL, NULL)"],
    "made": ["CREATE TABLE made (a INT, b TEXT AS (a || 'x'))", "INSERT INTO made VALUES (1)"],
    "keyed": ["CREATE TABLE keyed (a TEXT PRIMARY KEY) WITHOUT ROWID",
              "INSERT INTO keyed VALUES ('b'), ('a')"],
    'quo"ted': ['CREATE TABLE "quo""ted" ("a""b" REAL)', 'INSERT INTO "quo""ted" VALUES (1)'],
    "empty": ["CREATE TABLE empty (a INT, b TEXT)"],
}  # fmt: skip


def statements() -> dict[str, list[str]]:
    plain = {
        f"t{n}": [
            f"CREATE TABLE t{n} (id INTEGER PRIMARY KEY, name TEXT, x REAL)",
            f"INSERT INTO t{n} (name, x) VALUES ('row {n}', {n}.5), ('é', NULL), (NULL, 1)",
        ]
        for n in range(TABLES)
    }
    return plain | ODD


def fill(file: Path, *groups: list[str]) -> None:
    with closing(sqlite3.connect(file)) as connection, connection:
        for statement in (statement for group in groups for statement in group):
            connection.execute(statement)


def found(catalog: CatalogReader) -> dict[str, Any]:
    """All that is known of each table, but which file it is in."""
    return {
        table.id.name: (
            table.columns,
            table.rows,
            table.sample,
            table.digest,
            [catalog.hashes(table.id, at).tolist() for at in range(len(table.columns))],
            [catalog.counts(table.id, at).tolist() for at in range(len(table.columns))],
        )
        for table in catalog
    }


@pytest.mark.parametrize("workers", [1, 2])
def test_one_file_comes_out_as_many(workers: int, tmp_path: Path) -> None:
    tables = statements()
    fill(tmp_path / "all.db", *tables.values())
    (tmp_path / "split").mkdir()
    names = sorted(tables)
    for number in range(0, len(names), 40):
        chosen = [tables[name] for name in names[number : number + 40]]
        fill(tmp_path / "split" / f"{number}.db", *chosen)
    options: dict[str, Any] = {"embedder": "none", "workers": workers}
    whole = update(tmp_path / "all.db", into=tmp_path / "one", **options)
    split = update(tmp_path / "split", into=tmp_path / "many", **options)
    assert not whole.skipped
    assert len(whole.catalog) == len(tables)
    assert found(whole.catalog.reader) == found(split.catalog.reader)
    again = update(tmp_path / "all.db", into=tmp_path / "one", **options)
    assert again.unchanged == len(tables)


def test_nothing_is_left_open_in_this_process(tmp_path: Path) -> None:
    fill(tmp_path / "a.db", ["CREATE TABLE t (a INT)", "INSERT INTO t VALUES (1)"])
    dovetail.build(
        str(tmp_path / "a.db"), into=tmp_path / "c", settings=dovetail.Settings(embedder="none")
    )
    fill(tmp_path / "a.db", ["PRAGMA journal_mode = WAL", "INSERT INTO t VALUES (2)"])
    held = [link.resolve() for link in Path("/proc/self/fd").iterdir() if link.is_symlink()]
    assert tmp_path / "a.db" not in held
