"""Which files are one table: a file, the parts of a folder, or the partitions of a Hive folder.

Programs that write tables in parts name them by number (`part-00000.parquet`) and may put the
value of a column into the name of a folder (`year=2024`). Such files are one table, named after
their folder. Files that people named stay tables of their own.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from dovetail.errors import SourceError
from dovetail.sources.descriptions import is_descriptions
from dovetail.sources.grouping import Look, grouped, stem_of
from dovetail.sources.lake_tables import LAKES, log_among, log_files
from dovetail.sources.partition import Values, is_partition, values_of
from dovetail.sources.walk import (
    Found,
    anchor,
    is_wild,
    parts_within,
    table_format,
    table_suffix,
    walk,
)
from dovetail.sources.workbook import sheets


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
    def place(self) -> str:
        """All of it but the name, as a text."""
        plain = self.format == table_format(self.root) and not (self.sheet or self.trouble)
        if self.is_one_file and plain:
            return self.root
        return json.dumps([self.format, self.root, self.parts, self.trouble, self.sheet])

    @classmethod
    def at(cls, place: str) -> FileTable:
        """The table at a place, without its name."""
        if not place.startswith("["):
            return cls("", table_format(place), place)
        kind, root, parts, trouble, sheet = json.loads(place)
        return cls("", kind, root, tuple(parts), trouble, sheet)

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
    found = [file for file in walk(location) if file.is_table and not is_descriptions(file.path)]
    wild = is_wild(location)
    if wild or (os.path.isdir(location) and not table_suffix(location)):
        top = os.path.basename(os.path.abspath(anchor(location) if wild else location))
        together, apart = grouped([file for file in found if not file.lake])
        apart += [file for file in found if file.lake]
        tables = [
            FileTable(each.name or top or "files", each.format, each.root, each.parts)
            for each in together
        ]
    else:
        tables, apart = [], found
    tables += [table for file in apart for table in _alone(file)]
    return sorted(_named_apart(tables), key=lambda table: table.name)


def remote_tables(
    found: list[Found],
    top: str,
    fetch: Callable[[str], str],
    inside: Mapping[str, list[str]],
    look: Look,
) -> list[FileTable]:
    """The tables in files that are not on this machine, each under a name of its own.

    `fetch` brings a workbook here, whose sheets only it can tell; `inside` are the files of each
    folder that is a table by its log; `look` tells the columns of a file.
    """
    folders, files = _suffixed_folders([file for file in found if not file.lake])
    together, apart = grouped(files, look)
    tables = [FileTable(each.name or top, each.format, each.root, each.parts) for each in together]
    tables += [table for file in apart for table in _remote(file, fetch)]
    for lake in (file for file in found if file.lake):
        log = log_among(inside[lake.path], lake.path, lake.lake)
        parts = tuple(file.removeprefix(f"{lake.path}/") for file in log)
        tables.append(FileTable(lake.below, lake.lake, lake.path, parts))
    return sorted(_named_apart(tables + folders), key=lambda table: table.name)


def _suffixed_folders(found: list[Found]) -> tuple[list[FileTable], list[Found]]:
    """The folders with a table's suffix, whose parts are one table each, and the other files."""
    parts: dict[str, list[Found]] = {}
    others: list[Found] = []
    for file in found:
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
        mine = [file.path for file in files if table_format(file.path) == kind]
        below = tuple(sorted(path.removeprefix(f"{root}/") for path in mine))
        if below:
            tables.append(FileTable(stem_of(folder), kind, root, below))
    return tables, others


def _remote(file: Found, fetch: Callable[[str], str]) -> list[FileTable]:
    """A file that is a table, or the sheets of a workbook."""
    table = FileTable(stem_of(file.below), table_format(file.path), file.path)
    if table.format != "excel":
        return [table]
    try:
        return _sheets(table, fetch(file.path))
    except SourceError as error:
        return [replace(table, trouble=str(error))]


def _named_apart(tables: list[FileTable]) -> Iterator[FileTable]:
    """Tables that share a name, with their suffix, or with the format of their parts."""
    times = Counter(table.name for table in tables)
    folders = Counter(table.name for table in tables if not table_suffix(table.root))
    for table in tables:
        suffix = table_suffix(table.root)
        unique = times[table.name] == 1 if suffix else folders[table.name] == 1
        yield table if unique else replace(table, name=table.name + (suffix or f".{table.format}"))


def _alone(file: Found) -> list[FileTable]:
    """A file that is a table, the sheets of a workbook, or a folder with a table's suffix."""
    if file.lake:
        return [FileTable(file.below, file.lake, file.path)]
    table = FileTable(stem_of(file.below), table_format(file.path), file.path)
    try:
        if os.path.isdir(file.path):
            inside = parts_within(file.path)
            parts = tuple(os.path.relpath(part.path, file.path) for part in inside)
            return [replace(table, parts=parts)]
        return _sheets(table, table.root) if table.format == "excel" else [table]
    except SourceError as error:
        return [replace(table, trouble=str(error))]
    except OSError as error:
        return [replace(table, trouble=error.strerror or str(error))]


def _sheets(book: FileTable, here: str) -> list[FileTable]:
    """The sheets of a workbook that lies here; a single one is named after the file."""
    found = sheets(here)
    if not found:
        raise SourceError("holds no sheet with cells")
    return [
        replace(book, name=book.name if len(found) == 1 else f"{book.name}/{sheet}", sheet=sheet)
        for sheet in found
    ]
