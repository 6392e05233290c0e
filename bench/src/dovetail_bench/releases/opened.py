"""A release, unpacked: its files found by name, wherever its archives put them."""

from __future__ import annotations

import json
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dovetail.errors import DatasetError, NotFoundError
from dovetail_bench.gold import tables_of


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


def gold_tables(sql: str, dialects: Sequence[str]) -> list[str]:
    """The gold of a question from its SQL; empty where it cannot be read (see `bench data`)."""
    try:
        return [name for _, name in tables_of(sql, dialects)]
    except DatasetError:
        return []


def _unpacked(archive: Path, folder: Path) -> Path:
    into = Path(tempfile.mkdtemp(dir=folder))
    try:
        with zipfile.ZipFile(archive) as packed:
            packed.extractall(into)
    except (zipfile.BadZipFile, RuntimeError, NotImplementedError, EOFError, zlib.error) as error:
        raise DatasetError(f"{archive.name} cannot be unpacked: {error}") from None
    return into
