"""Which files are one table: a file, the parts of a folder, or the partitions of a Hive folder.

Programs that write tables in parts name them by number (`part-00000.parquet`) and may put the
value of a column into the name of a folder (`year=2024`). Such files are one table, named after
their folder. Files that people named stay tables of their own. Where names leave it open, the
columns of files tell.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

from dovetail.atomic import open_regular
from dovetail.errors import SourceError
from dovetail.sources.declarations import is_descriptions
from dovetail.sources.lake_tables import LAKES, log_among, log_files
from dovetail.sources.walk import (
    PACKED,
    PLAIN_TEXT,
    Entry,
    anchor,
    is_wild,
    parts_within,
    table_format,
    table_suffix,
    walk,
)
from dovetail.sources.workbook import sheets

_UUID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_WORD = "part|parts|data|chunk|shard|split|file|batch|segment|block"
# What programs put after the number; nothing here is tried twice, however long a name is.
_PACKING = "(?:snappy|gzip|gz|zstd|lz4|brotli)(?![^-_.])"
_REST = rf"(?>[-_.](?>{_UUID}|{_PACKING}|(?=[a-f]*\d)[0-9a-f]+|[ct]\d+|of))*+"
# `part-00000-….c000.snappy`, `data_0`, `000000_0`; then `orders-00000-of-00003`, `orders_part2`.
_NUMBERED = re.compile(rf"(?:(?:{_WORD})[-_.]?(\d+)|0\d{{3,}}|{_UUID}){_REST}", re.IGNORECASE)
_NAMED_PART = re.compile(rf"(.+?)[-_.](?:\d+[-_.]of[-_.]\d+|part[-_.]?\d+){_REST}", re.IGNORECASE)
# A number that is a year, a month or a day says what is inside, so it names a table.
_TIME = re.compile(r"(?:19|20)\d{2}(?:[01]\d(?:[0-3]\d)?)?")
# Names that only a program gives, even to a single part; and what it leaves when it is done.
_BY_PROGRAM = re.compile(rf"part-\d{{5}}.*|{_UUID}.*|0{{5,}}_\d+.*", re.IGNORECASE)
_DONE = ("_SUCCESS", "_metadata", "_common_metadata")
# Pairs of files far away whose columns are compared.
_LOOKS = 4
# How Hive spells a missing value in the name of a folder.
_NULL = "__HIVE_DEFAULT_PARTITION__"
# The partition values of a part: the columns in the order of its folders.
Values = dict[str, str | None]
# Tells what the columns of a file are called.
Look = Callable[[str], frozenset[str]]
_GLANCE = 1 << 16
_NAME = re.compile(r"[^\W\d]")


@dataclass(frozen=True, slots=True)
class FileTable:
    """A table in files: its name, its format, and its parts by their paths below a folder.

    A file on its own has one part, `''`. `trouble` says why the parts cannot be told; `sheet` is
    the part of a workbook that the table is.
    """

    name: str
    format: str
    root: str
    parts: tuple[str, ...] = ("",)
    trouble: str = ""
    sheet: str = ""

    @property
    def is_one_file(self) -> bool:
        return self.parts == ("",)

    @property
    def is_plain(self) -> bool:
        """Whether it is text that takes no more than its bytes say, however it is made."""
        packed = any(self.path(part).lower().endswith(PACKED) for part in self.parts)
        return self.format in PLAIN_TEXT and not packed

    @property
    def location(self) -> str:
        """All of it but the name, as a text."""
        plain = self.format == table_format(self.root) and not (self.sheet or self.trouble)
        if self.is_one_file and plain:
            return self.root
        return json.dumps([self.format, self.root, self.parts, self.trouble, self.sheet])

    @classmethod
    def at(cls, location: str) -> FileTable:
        """The table at a location, without its name."""
        if not location.startswith("["):
            return cls("", table_format(location), location)
        kind, root, parts, trouble, sheet = json.loads(location)
        return cls("", kind, root, tuple(parts), trouble, sheet)

    def readable(self) -> FileTable:
        """The table itself; an error where its parts cannot be told, or there are none."""
        if self.trouble or not self.parts:
            raise SourceError(self.trouble or "holds no file of its format")
        return self

    def files(self) -> list[str]:
        """The paths of the files that a change of the table shows in."""
        if self.format in LAKES and self.is_one_file:
            return log_files(self.root, self.format)
        return [self.path(part) for part in self.parts]

    def path(self, part: str) -> str:
        """The path of a part."""
        return f"{self.root}/{part}" if part else self.root

    def values(self, part: str) -> Values:
        """The values of the partition columns in a part."""
        return values_of(part.split(os.sep)[:-1])


def file_tables(location: str) -> list[FileTable]:
    """The tables in the files of a path, folder or glob, each under a name of its own."""
    files = [file for file in walk(location) if file.is_table and not is_descriptions(file.path)]
    wild = is_wild(location)
    tables: list[FileTable] = []
    apart = files
    if wild or (os.path.isdir(location) and not table_suffix(location)):
        top = os.path.basename(os.path.abspath(anchor(location) if wild else location))
        tables, apart = grouped([file for file in files if not file.lake], top or "files")
        apart += [file for file in files if file.lake]
    tables += [table for file in apart for table in _alone(file)]
    return sorted(_named_apart(tables), key=lambda table: table.name)


def remote_tables(
    entries: list[Entry],
    top: str,
    fetch: Callable[[str], str],
    inside: Mapping[str, list[str]],
    look: Look,
) -> list[FileTable]:
    """The tables in files that are not on this machine, each under a name of its own.

    `fetch` brings a workbook here, whose sheets only it can tell; `inside` are the files of each
    folder that is a table by its log; `look` tells the columns of a file.
    """
    folders, files = _suffixed_folders([file for file in entries if not file.lake])
    tables, apart = grouped(files, top, look)
    tables += [table for file in apart for table in _alone(file, fetch)]
    for lake in (file for file in entries if file.lake):
        log = log_among(inside[lake.path], lake.path, lake.lake)
        parts = tuple(file.removeprefix(f"{lake.path}/") for file in log)
        tables.append(FileTable(lake.below, lake.lake, lake.path, parts))
    return sorted(_named_apart(tables + folders), key=lambda table: table.name)


def _suffixed_folders(entries: list[Entry]) -> tuple[list[FileTable], list[Entry]]:
    """The folders with a table's suffix, whose parts are one table each, and the other files."""
    parts: dict[str, list[Entry]] = {}
    others: list[Entry] = []
    for file in entries:
        names = file.below.split("/")[:-1]
        named = (at for at, name in enumerate(names) if is_partition(name) or table_suffix(name))
        at = next(named, None)
        if at is None or is_partition(names[at]):
            others.append(file)
        else:
            parts.setdefault("/".join(names[: at + 1]), []).append(file)
    tables = []
    for folder, files in parts.items():
        root = files[0].path.removesuffix(files[0].below) + folder
        kind = table_format(folder)
        own = [file.path for file in files if table_format(file.path) == kind]
        below = tuple(sorted(path.removeprefix(f"{root}/") for path in own))
        if below:
            tables.append(FileTable(stem_of(folder), kind, root, below))
    return tables, others


def _named_apart(tables: list[FileTable]) -> Iterator[FileTable]:
    """Tables that share a name, with their suffix, or with the format of their parts."""
    times = Counter(table.name for table in tables)
    folders = Counter(table.name for table in tables if not table_suffix(table.root))
    for table in tables:
        suffix = table_suffix(table.root)
        unique = times[table.name] == 1 if suffix else folders[table.name] == 1
        yield table if unique else replace(table, name=table.name + (suffix or f".{table.format}"))


def _alone(file: Entry, fetch: Callable[[str], str] = str) -> list[FileTable]:
    """A file that is a table, the sheets of a workbook, or a folder with a table's suffix."""
    if file.lake:
        return [FileTable(file.below, file.lake, file.path)]
    table = FileTable(stem_of(file.below), table_format(file.path), file.path)
    try:
        if os.path.isdir(file.path):
            inside = parts_within(file.path)
            parts = tuple(os.path.relpath(part.path, file.path) for part in inside)
            return [replace(table, parts=parts)]
        return _sheets(table, fetch(table.root)) if table.format == "excel" else [table]
    except SourceError as error:
        return [replace(table, trouble=str(error))]
    except OSError as error:
        return [replace(table, trouble=error.strerror or str(error))]


def _sheets(book: FileTable, here: str) -> list[FileTable]:
    """The sheets of a workbook that lies here; a single one is named after the file."""
    names = sheets(here)
    if not names:
        raise SourceError("holds no sheet with cells")
    return [
        replace(book, name=book.name if len(names) == 1 else f"{book.name}/{sheet}", sheet=sheet)
        for sheet in names
    ]


def is_partition(folder: str) -> bool:
    """Whether a folder's name gives the value of a column.

    >>> is_partition("year=2024"), is_partition("=2024"), is_partition("2024")
    (True, False, False)
    """
    return folder.find("=") > 0


def values_of(folders: Sequence[str]) -> Values:
    """The values that folders give, as they are written there.

    >>> values_of(["year=2024", "inner", "city=S%C3%A3o%20Paulo"])
    {'year': '2024', 'city': 'São Paulo'}
    """
    values: Values = {}
    for folder in filter(is_partition, folders):
        name, _, value = folder.partition("=")
        values[unquote(name)] = None if value in ("", _NULL) else unquote(value)
    return values


def stem_of(path: str) -> str:
    """A path without the suffix that says it holds a table."""
    return path.removesuffix(table_suffix(path))


def part_of(stem: str) -> str | None:
    """The table that a file is a part of by its name: '' if it bears none, None if it is no part.

    >>> part_of("part-00000-c000.snappy"), part_of("orders-00001-of-00003"), part_of("data_0")
    ('', 'orders', '')
    >>> part_of("orders"), part_of("data_2024"), part_of("2024")
    (None, None, None)
    """
    numbered = _NUMBERED.fullmatch(stem)
    if numbered:
        return None if numbered[1] and _TIME.fullmatch(numbered[1]) else ""
    named = _NAMED_PART.fullmatch(stem)
    return named[1] if named else None


def grouped(
    files: Sequence[Entry], top: str, look: Look | None = None
) -> tuple[list[FileTable], list[Entry]]:
    """The tables of several files each, and the files that are tables by themselves.

    `top` is the name of the folder that they are below. `look` tells the columns of a file that is
    not on this machine, which is asked of few.
    """
    partitioned: dict[tuple[str, str, str], list[Entry]] = {}
    numbered: dict[tuple[str, str, str], list[Entry]] = {}
    apart: list[Entry] = []
    for file in files:
        kind = table_format(file.path)
        depth = _partition_depth(file.below)
        prefix = part_of(stem_of(os.path.basename(file.below)))
        if depth and kind != "excel":
            key = (_above(file.path, depth), _above(file.below, depth), kind)
            partitioned.setdefault(key, []).append(file)
        elif prefix is not None and kind != "excel" and not os.path.isdir(file.path):
            key = (os.path.dirname(file.path), _joined(_above(file.below, 1), prefix), kind)
            numbered.setdefault(key, []).append(file)
        else:
            apart.append(file)
    tables = [table for key, own in partitioned.items() for table in _hive(*key, own, top, look)]
    for (root, name, kind), own in numbered.items():
        parts, others = _alike(root, kind, own)
        apart += others
        if parts:
            below = _relative(root, [file.path for file in parts])
            tables.append(FileTable(name or top, kind, root, below))
    return tables, apart


def _hive(
    root: str, name: str, kind: str, files: Sequence[Entry], top: str, look: Look | None
) -> list[FileTable]:
    """The tables of a folder of partitions: one, unless each partition holds several by name."""
    by_stem: dict[str, list[str]] = {}
    for file in files:
        paths_of_stem = by_stem.setdefault(_table_by_name(file), [])
        paths_of_stem += [
            part for part in _files(file) if not os.path.basename(part).startswith("_")
        ]
    if len(by_stem) > 1 and (_tell(by_stem, kind) if look is None else _tell_far(by_stem, look)):
        return [
            FileTable(_joined(name, stem) or top, kind, root, _relative(root, paths))
            for stem, paths in by_stem.items()
        ]
    paths = [path for group in by_stem.values() for path in group]
    only = next(iter(by_stem)) if len(by_stem) == 1 else ""
    return [FileTable(name or only or top, kind, root, _relative(root, paths))] if paths else []


def _table_by_name(file: Entry) -> str:
    """What a file in a partition is called by whoever named it; '' if only a program did."""
    stem = stem_of(os.path.basename(file.below))
    prefix = "" if re.fullmatch(_WORD, stem, re.IGNORECASE) else part_of(stem)
    return stem if prefix is None else prefix


def _tell(by_stem: dict[str, list[str]], kind: str) -> bool:
    """Whether names tell tables apart: one partition holds two of them, with other columns."""
    first: dict[str, tuple[str, str]] = {}
    for stem, paths in by_stem.items():
        for path in paths:
            folder = os.path.dirname(path)
            other, first_path = first.setdefault(folder, (stem, path))
            if other != stem and column_names(path, kind) != column_names(first_path, kind):
                return True
    return False


def _tell_far(by_stem: dict[str, list[str]], look: Look) -> bool:
    """The same of files far away: names that several partitions hold, and few looks."""
    folders = {stem: {os.path.dirname(path) for path in paths} for stem, paths in by_stem.items()}
    again = sorted(stem for stem, inside in folders.items() if stem and len(inside) > 1)
    for one, other in list(pairwise(again))[:_LOOKS]:
        if folders[one] & folders[other]:
            columns = [look(by_stem[stem][0]) for stem in (one, other)]
            if all(columns) and columns[0] != columns[1]:
                return True
    return False


def _alike(root: str, kind: str, files: list[Entry]) -> tuple[list[Entry], list[Entry]]:
    """Numbered files that share most columns with the widest of them, and the others."""
    by_program = any(_BY_PROGRAM.fullmatch(os.path.basename(file.path)) for file in files)
    done = any(os.path.lexists(os.path.join(root, name)) for name in _DONE)
    if len(files) < 2 and not by_program and not done:
        return [], files
    columns = {file: column_names(file.path, kind) for file in files}
    widest = max(columns.values(), key=len)
    parts = [file for file in files if 2 * len(columns[file] & widest) >= len(columns[file])]
    return parts, [file for file in files if file not in parts]


def _files(file: Entry) -> list[str]:
    if not os.path.isdir(file.path):
        return [file.path]
    try:
        return [part.path for part in parts_within(file.path)]
    except (SourceError, OSError):  # which is said when the part is read
        return [file.path]


def _partition_depth(below: str) -> int:
    """How many names at the end of a path are partitions, what is in them, and the file."""
    names = below.split("/")
    first = next((at for at, name in enumerate(names[:-1]) if is_partition(name)), len(names))
    return len(names) - first


def _above(path: str, names: int) -> str:
    return "/".join(path.split("/")[:-names])


def _joined(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder and name else folder or name


def _relative(root: str, paths: Iterable[str]) -> tuple[str, ...]:
    if "://" in root:  # where two slashes are not one
        return tuple(sorted(path.removeprefix(f"{root}/") for path in paths))
    return tuple(sorted(os.path.relpath(path, root) for path in paths))


def column_names(path: str, kind: str) -> frozenset[str]:
    """What the columns of a file are called; empty where a glance does not tell."""
    if "://" in path:  # a look at a file far away is no glance
        return frozenset()
    try:
        open_regular(path).close()
        if kind == "parquet":
            return frozenset(pq.read_schema(path).names)
        with pa.input_stream(path) as stream:
            head = bytes(stream.read(_GLANCE)).decode("utf-8", "replace")
    except (OSError, UnicodeError, pa.ArrowException):
        return frozenset()
    return _keys(head) if kind == "json" else _cells(head)


def _cells(head: str) -> frozenset[str]:
    """The cells of the first line, if they read as names: a file may have no header."""
    lines = head.lstrip("\ufeff").splitlines()
    cells = [cell.strip(" \"'") for cell in re.split(r"[,;\t|]", lines[0])] if lines else []
    named = all(_NAME.match(cell) for cell in cells)
    return frozenset(cells) if named else frozenset()


def _keys(head: str) -> frozenset[str]:
    """The keys of the first object of a JSON file."""
    try:
        first, _ = json.JSONDecoder().raw_decode(head, head.index("{"))
    except (ValueError, RecursionError):
        return frozenset()
    return frozenset(first)
