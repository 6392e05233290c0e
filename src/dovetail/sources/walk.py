"""Which files a path, folder or glob stands for, found in one pass, and whether they changed."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import time
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from glob import glob
from pathlib import Path

from dovetail.errors import SourceError
from dovetail.ports import Fingerprint
from dovetail.sources.lake_tables import lake_format

WILD = frozenset("*?[")
_ANY_DEPTH = "**"
DATABASE_SUFFIXES = (".db", ".db3", ".sqlite", ".sqlite3", ".duckdb", ".ddb")
_TABLE_SUFFIXES = (".csv", ".tsv", ".parquet", ".pq", ".json", ".jsonl", ".ndjson")
PLAIN_TEXT, PACKED = ("csv", "tsv", "json"), (".gz", ".zst")
_WORKBOOKS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
_ARROW = (".arrow", ".arrows", ".feather", ".ipc")
TABLE_SUFFIXES = (
    *(suffix + packed for suffix in _TABLE_SUFFIXES for packed in ("", *PACKED)),
    *_WORKBOOKS,
    *_ARROW,
    ".avro",
)
_FORMATS = {
    "pq": "parquet",
    "jsonl": "json",
    "ndjson": "json",
    **dict.fromkeys((suffix[1:] for suffix in _WORKBOOKS), "excel"),
    **dict.fromkeys((suffix[1:] for suffix in _ARROW), "arrow"),
}
# What stands in the folder of a catalog from its first moment: its files are no tables.
_CATALOG = frozenset(("lock", "segments", "generations", "staging"))
# Folders in which the writers of tables keep their own records.
_RECORDS = frozenset(
    ("_delta_log", "_temporary", "_spark_metadata", "_symlink_format_manifest", "_change_data")
)
_SECOND = 1_000_000_000
# A file system's clock ticks about this often; one that keeps whole seconds is given two.
_TICK, _COARSE_TICK = _SECOND // 50, 2 * _SECOND


def fits(path: str, pattern: str) -> bool:
    """Whether a pattern stands for a path; `**` is any number of folders, none of them hidden.

    >>> [fits(path, "in/*.csv") for path in ("in/a.csv", "in/b/a.csv", "in/.a.csv")]
    [True, False, False]
    >>> [fits(path, "in/**/*.csv") for path in ("in/a.csv", "in/b/a.csv", "in/.b/a.csv")]
    [True, True, False]
    """
    wanted = pattern.split("/")
    positions = _ahead({0}, wanted)
    for name in path.split("/"):
        positions = _ahead({then for at in positions for then in _after(name, at, wanted)}, wanted)
    return len(wanted) in positions


def _after(name: str, at: int, wanted: Sequence[str]) -> Iterable[int]:
    """Where in a pattern a name leads from one position."""
    if at == len(wanted):
        return ()
    hidden = name.startswith(".")
    if wanted[at] == _ANY_DEPTH:
        last = at == len(wanted) - 1
        return () if hidden else (at, at + 1) if last else (at,)
    fit = fnmatchcase(name, wanted[at]) and (not hidden or wanted[at].startswith("."))
    return (at + 1,) if fit else ()


def _ahead(positions: set[int], wanted: Sequence[str]) -> set[int]:
    """The positions that are reached without a name: `**` before others may be no folder at all."""
    reached = set(positions)
    for at in range(len(wanted) - 1):
        if at in reached and wanted[at] == _ANY_DEPTH:
            reached.add(at + 1)
    return reached


@dataclass(frozen=True, slots=True)
class Entry:
    """A file (or a folder of parts, which is one table) and its path below where we looked.

    A folder that may not be looked into is `shut`. `lake` is the format of a folder that is a
    table by its log: 'delta' or 'iceberg'.
    """

    path: str
    below: str
    shut: bool = False
    lake: str = ""

    @property
    def is_database(self) -> bool:
        return not self.shut and self.path.lower().endswith(DATABASE_SUFFIXES)

    @property
    def is_table(self) -> bool:
        return not self.shut and not self.is_database


def table_suffix(path: str) -> str:
    """The end of a file name that says it holds a table: '.csv', '.json.gz', or ''.

    >>> table_suffix("a.b.CSV.gz"), table_suffix("notes.txt")
    ('.CSV.gz', '')
    """
    lower = path.lower()
    suffix = next((suffix for suffix in TABLE_SUFFIXES if lower.endswith(suffix)), "")
    return path[len(path) - len(suffix) :]


def is_wild(location: str) -> bool:
    """Whether a location that does not exist as written is a pattern."""
    return not WILD.isdisjoint(location) and not os.path.lexists(location)


def anchor(location: str) -> str:
    """The folder before the first wildcard, or the location itself."""
    if not is_wild(location):
        return location
    parts = Path(location).parts
    wild = next(number for number, part in enumerate(parts) if not WILD.isdisjoint(part))
    return str(Path(*parts[:wild])) if wild else "."


def walk(location: str) -> list[Entry]:
    """The database and table files a location stands for, in order; hidden ones are left out."""
    if is_wild(location):
        entries = _matched(location, anchor(location))
    elif not os.path.lexists(location):
        raise SourceError("there is no such file or folder")
    elif kind := lake_format(location):
        name = os.path.basename(os.path.abspath(location))
        entries = [Entry(location, readable(name), lake=kind)]
    elif os.path.isdir(location) and not table_suffix(location):
        entries = _walk(location, "")
    else:
        entries = [Entry(location, readable(os.path.basename(location)))]
    return sorted(entries, key=lambda file: file.below)


def _matched(location: str, base: str) -> list[Entry]:
    """What a pattern stands for; a file of a table with a log stands for the table."""
    formats: dict[str, str] = {}
    entries: dict[str, Entry] = {}
    for path in glob(location, recursive=True):
        below = os.path.relpath(path, base)
        is_folder = os.path.isdir(path)
        inner = below.split(os.sep) if is_folder else below.split(os.sep)[:-1]
        folders = [os.path.join(base, *inner[:depth]) for depth in range(len(inner) + 1)]
        for folder in folders:
            if folder not in formats:
                formats[folder] = _lake(folder)
        if lake := next((folder for folder in folders if formats[folder]), ""):
            top = os.path.dirname(os.path.abspath(base)) if lake == base else base
            entries[lake] = Entry(lake, readable(os.path.relpath(lake, top)), lake=formats[lake])
        elif _is_table_like(path, is_folder):
            entries[path] = Entry(path, readable(below))
    # What is in a folder with a table's suffix is its part, and no table beside it.
    tables = {path + os.sep for path, file in entries.items() if os.path.isdir(file.path)}
    return [file for path, file in entries.items() if not _is_below(path, tables)]


def _is_below(path: str, folders: Container[str]) -> bool:
    return any(path[: at + 1] in folders for at, char in enumerate(path) if char == os.sep)


def _walk(folder: str, below: str, above: frozenset[tuple[int, int]] = frozenset()) -> list[Entry]:
    state = os.stat(folder)
    if (state.st_dev, state.st_ino) in above:  # by a link to a folder that we are in
        return []
    above |= {(state.st_dev, state.st_ino)}
    with os.scandir(folder) as listing:
        entries = [entry for entry in listing if not is_hidden(entry.name)]
    if _CATALOG.issubset(entry.name for entry in entries):
        return []
    files = []
    for entry in entries:
        path = below + readable(entry.name)
        is_folder = _is_folder(entry)
        if is_folder and (kind := _lake(entry.path)):
            files.append(Entry(entry.path, path, lake=kind))
            continue
        if not is_folder or table_suffix(entry.name):
            if _is_table_like(entry.path, is_folder):
                files.append(Entry(entry.path, path))
            continue
        try:
            files += _walk(entry.path, path + "/", above)
        except OSError:
            files.append(Entry(entry.path, path, shut=True))
    return files


def is_hidden(name: str) -> bool:
    """Whether a file or folder is left out by its name, wherever it is."""
    return name.startswith((".", "~$")) or name in _RECORDS


def _lake(folder: str) -> str:
    try:
        return lake_format(folder)
    except OSError:  # which looking into the folder says again
        return ""


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link to where we may not look, or in a circle
        return False


def readable(name: str) -> str:
    """A file's name as text; bytes in it that are not UTF-8 are written as escapes.

    >>> readable(os.fsdecode(b"caf\\xe9.csv"))
    'caf\\\\xe9.csv'
    """
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def first_bytes(path: str, size: int) -> bytes:
    """How a file begins; anything but a file raises an error, as reading might never end."""
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise SourceError("is neither a file nor a folder")
    with open(path, "rb") as file:
        return file.read(size)


def _is_table_like(path: str, is_folder: bool) -> bool:
    return bool(table_suffix(path)) or (path.lower().endswith(DATABASE_SUFFIXES) and not is_folder)


def parts_within(path: str) -> list[Entry]:
    """What a folder with a table's suffix holds of its format, by name."""
    inside = sorted(_walk(path, ""), key=lambda entry: entry.path)
    for entry in inside:
        if entry.shut:
            raise SourceError(f"its folder {entry.below} cannot be looked into")
    return [entry for entry in inside if table_format(entry.path) == table_format(path)]


def table_format(path: str) -> str:
    """The format of a table file: csv, tsv, parquet, json, excel, arrow or avro."""
    suffix = table_suffix(path).lower().lstrip(".").split(".")[0]
    return _FORMATS.get(suffix, suffix)


def fingerprint_files(
    files: Sequence[str], previous: str | None, *, parts: bool = False
) -> Fingerprint:
    """Fingerprint files that stand for one table or database; those that are gone are left out.

    So are, among `parts`, those that are no files: whoever reads the others says so.
    """
    stats = _stats(files, parts=parts)
    before = json.loads(previous) if previous else {}
    if before and before.get("files") == stats:
        return Fingerprint(previous or "", unchanged=True)
    sha256 = _sha256(tuple((str(path), *state) for path, *state in stats))
    token = json.dumps({"files": stats, "sha256": sha256}, separators=(",", ":"))
    return Fingerprint(token, unchanged=before.get("sha256") == sha256)


def _stats(files: Sequence[str], *, parts: bool) -> list[list[object]]:
    states: list[list[object]] = []
    for file in files:
        try:
            state = os.stat(file)
        except FileNotFoundError:
            continue
        if not stat.S_ISREG(state.st_mode):  # reading a pipe might never end
            if parts:
                continue
            raise SourceError(f"{file} is no regular file")
        # Whoever writes a file may set when its content changed, and so hide that it did: archives
        # and copies do. When anything of it changed, the system says.
        times = state.st_mtime_ns, state.st_ctime_ns
        for changed in times:
            _outlast(changed)
        states.append([file, state.st_size, *times])
    return states


def _outlast(changed: int) -> None:
    """Wait until a further change of the file could no longer get the same time stamp."""
    tick = _TICK if changed % _SECOND else _COARSE_TICK
    left = changed + tick - time.time_ns()
    if 0 < left <= _COARSE_TICK:
        time.sleep(left / _SECOND)


@lru_cache(maxsize=256)
def _sha256(stats: tuple[tuple[object, ...], ...]) -> str:
    digest = hashlib.sha256()
    for path, *_ in stats:
        with open(str(path), "rb") as file:
            while chunk := file.read(1 << 20):
                digest.update(chunk)
    return digest.hexdigest()
