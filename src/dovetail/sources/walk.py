"""Which files a path, folder or glob stands for, found in one pass."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from glob import glob
from pathlib import Path

from dovetail.errors import SourceError

DATABASE_SUFFIXES = (".db", ".db3", ".sqlite", ".sqlite3", ".duckdb", ".ddb")
_TABLE_SUFFIXES = (".csv", ".tsv", ".parquet", ".pq", ".json", ".jsonl", ".ndjson")
_PACKED_SUFFIXES = ("", ".gz", ".zst")
TABLE_SUFFIXES = tuple(known + packed for known in _TABLE_SUFFIXES for packed in _PACKED_SUFFIXES)
_WILD = frozenset("*?[")


@dataclass(frozen=True, slots=True)
class Found:
    """A file (or a folder of parts, which is one table) and its path below where we looked."""

    path: str
    below: str

    @property
    def is_database(self) -> bool:
        return self.path.lower().endswith(DATABASE_SUFFIXES)


def table_suffix(path: str) -> str:
    """The end of a file name that says it holds a table: '.csv', '.json.gz', or ''.

    >>> table_suffix("a.b.CSV.gz"), table_suffix("notes.txt")
    ('.CSV.gz', '')
    """
    lower = path.lower()
    known = next((suffix for suffix in TABLE_SUFFIXES if lower.endswith(suffix)), "")
    return path[len(path) - len(known) :]


def is_wild(location: str) -> bool:
    """Whether a location that does not exist as written is a pattern."""
    return not _WILD.isdisjoint(location) and not os.path.lexists(location)


def anchor(location: str) -> str:
    """The folder before the first wildcard, or the location itself."""
    if not is_wild(location):
        return location
    parts = Path(location).parts
    wild = next(number for number, part in enumerate(parts) if not _WILD.isdisjoint(part))
    return str(Path(*parts[:wild])) if wild else "."


def walk(location: str) -> list[Found]:
    """The database and table files a location stands for, in order; hidden ones are left out."""
    if is_wild(location):
        base = anchor(location)
        matched = glob(location, recursive=True)
        found = [Found(path, os.path.relpath(path, base)) for path in matched]
        found = [file for file in found if _is_table_like(file.path, os.path.isdir(file.path))]
    elif not os.path.lexists(location):
        raise SourceError("there is no such file or folder")
    elif os.path.isdir(location) and not table_suffix(location):
        found = list(_walk(location, ""))
    else:
        found = [Found(location, os.path.basename(location))]
    return sorted(found, key=lambda file: file.below)


def _walk(folder: str, below: str) -> Iterator[Found]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith("."):
                continue
            path = below + entry.name
            is_folder = entry.is_dir()
            if is_folder and not table_suffix(entry.name):
                yield from _walk(entry.path, path + "/")
            elif _is_table_like(entry.path, is_folder):
                yield Found(entry.path, path)


def _is_table_like(path: str, is_folder: bool) -> bool:
    return bool(table_suffix(path)) or (path.lower().endswith(DATABASE_SUFFIXES) and not is_folder)


def parts(path: str) -> list[str]:
    """The files of a table: the file itself, or what a folder of parts holds of its format."""
    if not os.path.isdir(path):
        return [path]
    inside = sorted(found.path for found in _walk(path, ""))
    return [part for part in inside if table_format(part) == table_format(path)]


def table_format(path: str) -> str:
    """The format of a table file: 'csv', 'tsv', 'parquet' or 'json'."""
    suffix = table_suffix(path).lower().lstrip(".").split(".")[0]
    return {"pq": "parquet", "jsonl": "json", "ndjson": "json"}.get(suffix, suffix)
