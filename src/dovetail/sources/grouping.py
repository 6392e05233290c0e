"""Which files of a folder are parts of one table, told by their paths, and by columns if in doubt.

Programs that write a table in parts number them (`part-00000.parquet`), and may put the value of a
column into the name of a folder (`year=2024`). Files that people named are tables of their own.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from dovetail.errors import SourceError
from dovetail.sources.partition import is_partition
from dovetail.sources.peek import column_names
from dovetail.sources.walk import Found, parts_within, table_format, table_suffix

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
# Tells what the columns of a file are called.
Look = Callable[[str], frozenset[str]]


@dataclass(frozen=True, slots=True)
class Group:
    """Files that are one table; the name is '' where only the folder we started from has one."""

    name: str
    format: str
    root: str
    parts: tuple[str, ...]


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


def grouped(found: Sequence[Found], look: Look | None = None) -> tuple[list[Group], list[Found]]:
    """The groups of files that are one table each, and the files that are tables by themselves.

    `look` tells the columns of a file that is not on this machine, which is asked of few.
    """
    partitioned: dict[tuple[str, str, str], list[Found]] = {}
    numbered: dict[tuple[str, str, str], list[Found]] = {}
    apart: list[Found] = []
    for file in found:
        kind = table_format(file.path)
        depth = _partition_depth(file.below)
        prefix = part_of(stem_of(os.path.basename(file.below)))
        if depth and kind != "excel":
            place = (_above(file.path, depth), _above(file.below, depth), kind)
            partitioned.setdefault(place, []).append(file)
        elif prefix is not None and kind != "excel" and not os.path.isdir(file.path):
            place = (os.path.dirname(file.path), _joined(_above(file.below, 1), prefix), kind)
            numbered.setdefault(place, []).append(file)
        else:
            apart.append(file)
    groups = [group for place, files in partitioned.items() for group in _hive(*place, files, look)]
    for (root, name, kind), files in numbered.items():
        parts, others = _alike(root, kind, files)
        apart += others
        if parts:
            groups.append(Group(name, kind, root, _below(root, parts)))
    return groups, apart


def _hive(
    root: str, name: str, kind: str, files: Sequence[Found], look: Look | None
) -> list[Group]:
    """The tables of a folder of partitions: one, unless each partition holds several by name."""
    by_stem: dict[str, list[str]] = {}
    for file in files:
        mine = by_stem.setdefault(_table_by_name(file), [])
        mine += [part for part in _files(file) if not os.path.basename(part).startswith("_")]
    if len(by_stem) > 1 and (_tell(by_stem, kind) if look is None else _tell_far(by_stem, look)):
        return [
            Group(_joined(name, stem), kind, root, _relative(root, paths))
            for stem, paths in by_stem.items()
        ]
    paths = [path for some in by_stem.values() for path in some]
    only = next(iter(by_stem)) if len(by_stem) == 1 else ""
    return [Group(name or only, kind, root, _relative(root, paths))] if paths else []


def _table_by_name(file: Found) -> str:
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
            other, beside = first.setdefault(folder, (stem, path))
            if other != stem and column_names(path, kind) != column_names(beside, kind):
                return True
    return False


def _tell_far(by_stem: dict[str, list[str]], look: Look) -> bool:
    """The same of files far away: names that several partitions hold, and few looks."""
    folders = {stem: {os.path.dirname(path) for path in paths} for stem, paths in by_stem.items()}
    again = sorted(stem for stem, places in folders.items() if stem and len(places) > 1)
    for one, other in list(pairwise(again))[:_LOOKS]:
        if folders[one] & folders[other]:
            columns = [look(by_stem[stem][0]) for stem in (one, other)]
            if all(columns) and columns[0] != columns[1]:
                return True
    return False


def _alike(root: str, kind: str, files: list[Found]) -> tuple[list[Found], list[Found]]:
    """Numbered files that share most columns with the widest of them, and the others."""
    by_program = any(_BY_PROGRAM.fullmatch(os.path.basename(file.path)) for file in files)
    done = any(os.path.lexists(os.path.join(root, name)) for name in _DONE)
    if len(files) < 2 and not by_program and not done:
        return [], files
    columns = {file: column_names(file.path, kind) for file in files}
    widest = max(columns.values(), key=len)
    parts = [file for file in files if 2 * len(columns[file] & widest) >= len(columns[file])]
    return parts, [file for file in files if file not in parts]


def _files(file: Found) -> list[str]:
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


def _below(root: str, files: Iterable[Found]) -> tuple[str, ...]:
    return _relative(root, [file.path for file in files])


def _relative(root: str, paths: Iterable[str]) -> tuple[str, ...]:
    if "://" in root:  # where two slashes are not one
        return tuple(sorted(path.removeprefix(f"{root}/") for path in paths))
    return tuple(sorted(os.path.relpath(path, root) for path in paths))
