"""A release, unpacked: its files found by name, and what a corpus is written from them."""

from __future__ import annotations

import json
import shutil
import sqlite3
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dovetail.errors import DatasetError, NotFoundError
from dovetail.ports import Json
from dovetail.sources.duck import identifier
from dovetail_bench.gold import tables_of

Cells = Sequence[Sequence[Any]]


@dataclass(frozen=True, slots=True)
class Opened:
    """All files of a release."""

    name: str
    files: tuple[Path, ...]

    def find(self, name: str, *, below: str = "") -> Path:
        """The file of this name, in a folder of that name if one is given."""
        found = self.matching(name, below=below)
        if not found:
            place = f"{below}/{name}" if below else name
            raise NotFoundError(
                f"{self.name} has no {place}; give the release as its authors publish it"
            )
        return found[0]

    def matching(self, name: str, *, below: str = "") -> list[Path]:
        """The files of this name, the least nested first."""
        found = [
            file
            for file in self.files
            if file.name == name and (not below or below in file.parts[:-1])
        ]
        return sorted(found, key=lambda file: (len(file.parts), file))

    def rows(self, name: str) -> list[Any]:
        """The entries of a JSON or JSONL file."""
        file = self.find(name)
        text = file.read_text("utf-8")
        try:
            if file.suffix == ".jsonl":
                return [json.loads(line) for line in text.splitlines() if line.strip()]
            rows = json.loads(text)
        except json.JSONDecodeError as error:
            raise DatasetError(f"{name} of {self.name} is no JSON: {error}") from None
        return list(rows.values()) if isinstance(rows, dict) else rows


@contextmanager
def opened(path: Path) -> Iterator[Opened]:
    """The files of a folder, a file or a zip archive, and those of archives in it."""
    if not path.exists():
        raise NotFoundError(f"there is no release at {path}")
    with tempfile.TemporaryDirectory() as folder:
        files: list[Path] = []
        waiting = [path]
        while waiting:
            place = waiting.pop()
            for file in sorted(place.rglob("*")) if place.is_dir() else [place]:
                if "__MACOSX" in file.parts or file.name.startswith("._") or not file.is_file():
                    continue
                if file.suffix == ".zip":
                    waiting.append(_unpacked(file, Path(folder)))
                else:
                    files.append(file)
        yield Opened(path.name, tuple(files))


def database_file(into: Path, name: object) -> Path:
    """Where a database of a release goes; a name that would lead out of the folder is refused.

    >>> database_file(Path("databases"), "shop").as_posix()
    'databases/shop/shop.sqlite'
    """
    if not isinstance(name, str) or name in ("", "..") or name != Path(name).name or "\0" in name:
        raise DatasetError(
            f"{name!r} is no name for a database: it must be a single word of a path"
        )
    return into / name / f"{name}.sqlite"


def copy_databases(release: Opened, names: Sequence[str], into: Path) -> None:
    """Copy the SQLite files of these databases to where a corpus has them."""
    missing = [name for name in names if not release.matching(f"{name}.sqlite")]
    if missing:
        raise NotFoundError(
            f"{release.name} lacks {len(missing)} of {len(names)} databases, "
            f"{missing[0]}.sqlite among them; add the archive of its databases"
        )
    for name in names:
        file = database_file(into, name)
        file.parent.mkdir(parents=True)
        shutil.copyfile(release.find(file.name), file)


def write_database(file: Path, tables: Mapping[str, tuple[Sequence[str], Cells]]) -> None:
    """A SQLite file with these tables, by name: columns and rows."""
    file.parent.mkdir(parents=True)
    with closing(sqlite3.connect(file)) as connection, connection:
        for name, (columns, rows) in tables.items():
            declared = ", ".join(
                f"{identifier(column)} {_kind({type(row[at]) for row in rows} - {type(None)})}"
                for at, column in enumerate(columns)
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
    return "REAL" if given and given <= {int, float} else "TEXT"


def question(
    question_id: object,
    database: str,
    text: str,
    sql: str,
    *,
    gold: Sequence[str] = (),
    dialects: Sequence[str] = ("sqlite",),
    **more: object,
) -> Json:
    """A row of `questions.json`; gold that is not given is read from the SQL.

    It stays empty where the SQL cannot be read: `dovetail bench data` names such questions.
    """
    if not gold:
        try:
            gold = [name for _, name in tables_of(sql, dialects)]
        except DatasetError:
            gold = []
    row = {"question_id": question_id, "db_id": database, "question": text, "evidence": ""}
    return {**row, "difficulty": None, "sql": sql, "gold_tables": list(gold), **more}


def key(database: str, child: Sequence[str], parent: Sequence[str], **more: str) -> Json:
    """A row of `foreign_keys.json`, from the tables and columns of both sides."""
    row = {"db_id": database, "table": child[0], "column": child[1], **more}
    return {**row, "ref_table": parent[0], "ref_column": parent[1]}


def _unpacked(archive: Path, folder: Path) -> Path:
    into = Path(tempfile.mkdtemp(dir=folder))
    try:
        with zipfile.ZipFile(archive) as packed:
            packed.extractall(into)
    except (zipfile.BadZipFile, RuntimeError, NotImplementedError, EOFError, zlib.error) as error:
        raise DatasetError(f"{archive.name} cannot be unpacked: {error}") from None
    return into
