"""The segment store: index segments beside the catalog, written once and mapped into memory.

Tables that no segment knows get a segment of their own. When the writer of a catalog compacts the
store, the new segment takes in all that are not much larger, so that there are few, and those half
of whose tables are gone. A segment is named by its tables' contents, so it is never out of date.

A segment is one file: a line of JSON with its tables and the shapes of its arrays, and then the
arrays. To open a file for each array took a fifth of the time in which a table is looked up.
"""

from __future__ import annotations

import hashlib
import json
import math
import mmap
import os
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import fields
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from dovetail.arrays import Ints, spans
from dovetail.catalog.files import DAMAGE, release_pages
from dovetail.catalog.reader import CatalogReader
from dovetail.joins.value_index.index_segment import IndexSegment
from dovetail.joins.value_index.make_segment import make_segment
from dovetail.joins.value_index.numbered_segments import keep_numbers, numbered_segments
from dovetail.joins.value_index.row_sample import RowSample
from dovetail.joins.value_index.signatures import Signatures

FOLDER = "postings"
# Raised whenever the same tables would make another segment.
_VERSION = 4
_ALIGNMENT = 64
# Values from which on a segment is put together on disk.
_LARGE = 1 << 24
# Bytes of an array that are written at a time: a mapped one takes up no more memory.
_AT_ONCE = 1 << 24
# Where the shapes of the arrays begin, behind the names of the tables.
_SHAPES = b'"arrays":'
# Names that segments are stored by, and those of unfinished ones.
_MADE_HERE = re.compile(r"\.?[0-9a-f]{16,64}(?:-\d+)?(?:\.\d+)?")
_NESTED = ("sample", "signatures")
_ARRAYS = {
    "segment": [f.name for f in fields(IndexSegment) if f.name not in ("tables", *_NESTED)],
    "sample": [f.name for f in fields(RowSample)],
    "signatures": [f.name for f in fields(Signatures)],
}


# Makes a segment of the tables at some places of a catalog, given the keys of all.
MakeSegment = Callable[[CatalogReader, Sequence[str], Sequence[int]], IndexSegment]


def segments_of(
    catalog: CatalogReader, *, compact: bool = False, make: MakeSegment | None = None
) -> list[tuple[IndexSegment, Ints]]:
    """Segments that know every table of a catalog, each with the catalog's numbers of its columns.

    A column that is gone has the number -1. Segments that are missing are made and written. Only
    the holder of the catalog's lock may `compact`. A segment is made by `make`, if given.
    """
    folder = catalog.folder / FOLDER
    if not compact and (numbered := numbered_segments(folder, catalog, open_segment)):
        return numbered
    keys = table_keys(catalog)
    number = {key: place for place, key in enumerate(keys)}
    segments: list[IndexSegment] = []
    covered: set[str] = set()
    for segment in _stored(folder):
        mine = number.keys() & segment.tables
        # Of two segments that know the same tables, one of them merged, the first has them.
        if mine - covered:
            segments.append(segment)
            covered |= mine
    if compact:
        segments = _not_merged(segments, number)
        covered = {key for segment in segments for key in segment.tables}
    missing = [place for key, place in number.items() if key not in covered]
    if missing:
        segments.append((make or make_of_tables)(catalog, keys, missing))
        with suppress(OSError):  # a catalog that cannot be written to is read all the same
            save_segment(folder, segments[-1])
    if compact:
        _remove_others(folder, segments)
    found = _numbered(catalog, segments, number)
    if not compact:
        with suppress(OSError):
            keep_numbers(folder, catalog, [(_name(one.tables), column) for one, column in found])
    return found


def table_keys(catalog: CatalogReader) -> list[str]:
    """A name for each table's id and contents."""
    tables = catalog.records.tables
    parts = zip(*(tables[name].to_pylist() for name in ("source", "name", "digest")), strict=True)
    return ["\0".join(part) for part in parts]


def _not_merged(segments: Sequence[IndexSegment], number: dict[str, int]) -> list[IndexSegment]:
    """The segments that are not to be merged into the new one."""
    live = {id(segment): sum(key in number for key in segment.tables) for segment in segments}
    half_live = [segment for segment in segments if 2 * live[id(segment)] >= len(segment.tables)]
    covered = {key for segment in half_live for key in segment.tables}
    growing = len(number.keys() - covered)
    if not growing:
        return half_live
    lasting: list[IndexSegment] = []
    for segment in sorted(half_live, key=lambda segment: live[id(segment)]):
        if live[id(segment)] <= 2 * growing:
            growing += live[id(segment)]
        else:
            lasting.append(segment)
    return lasting


def make_of_tables(
    catalog: CatalogReader, keys: Sequence[str], places: Sequence[int]
) -> IndexSegment:
    """A segment of the tables at some places of a catalog; a large one is put together on disk."""
    columns, table = columns_of(catalog, places)
    value_hashes, counts = catalog.value_hashes(columns.tolist())
    chosen = tuple(keys[place] for place in places)
    if sum(map(len, value_hashes)) < _LARGE:
        return make_segment(chosen, table, value_hashes, counts)
    # What is mapped stays when its file is gone, for as long as somebody holds it.
    with _unfinished(catalog.folder / FOLDER, chosen) as folder:
        return make_segment(chosen, table, value_hashes, counts, folder)


@contextmanager
def _unfinished(folder: Path, tables: tuple[str, ...]) -> Iterator[Path | None]:
    """A folder for the parts of a segment, removed at the end; None where none can be made."""
    path = folder / f".{_name(tables)}.{os.getpid()}"
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError:  # a catalog that cannot be written to is read all the same
        yield None
        return
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def columns_of(catalog: CatalogReader, places: Sequence[int]) -> tuple[Ints, Ints]:
    """The columns of the tables at some places of a catalog, and the number of each one's table."""
    bounds = np.asarray(catalog.records.bounds)
    first, widths = bounds[list(places)], np.diff(bounds)[list(places)]
    return spans(first, first + widths), np.repeat(np.arange(len(places)), widths)


def _numbered(
    catalog: CatalogReader, segments: Sequence[IndexSegment], number: dict[str, int]
) -> list[tuple[IndexSegment, Ints]]:
    """Segments with the catalog's numbers of their columns; a table counts in the first only."""
    bounds = np.asarray(catalog.records.bounds)
    given: set[str] = set()
    found = []
    for segment in segments:
        place = np.array([number.get(k, -1) if k not in given else -1 for k in segment.tables])
        given.update(segment.tables)
        first = np.searchsorted(segment.table, np.arange(len(segment.tables)))
        within = np.arange(len(segment)) - first[segment.table]
        column = place[segment.table]
        found.append((segment, np.where(column >= 0, bounds[column] + within, -1)))
    return found


@lru_cache(maxsize=16)  # asked for more than once, and long to write out
def _name(tables: tuple[str, ...]) -> str:
    text = json.dumps([_VERSION, *tables])
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def _stored(folder: Path) -> list[IndexSegment]:
    """The stored segments, the largest first; one that cannot be read is as good as missing."""
    found = []
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        with suppress(*DAMAGE):
            segment = open_segment(path)
            if path.name == _name(segment.tables):
                found.append(segment)
    return sorted(found, key=lambda segment: (-len(segment.tables), segment.tables))


def open_segment(path: Path, *, named: bool = True) -> IndexSegment:
    """The segment in a file, mapped; its tables are left out unless it is to be `named`."""
    with path.open("rb") as file:
        line = file.readline()
        # The names of very many tables take longer to read than all the rest.
        about = json.loads(line if named else b"{" + line[line.rindex(_SHAPES) :])
        place = _aligned(file.tell())
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    of: dict[str, dict[str, Any]] = {part: {} for part in _ARRAYS}
    for part, name, kind, shape in about["arrays"]:
        size = math.prod(shape)
        array = np.frombuffer(mapped, kind, size, place) if size else np.empty(0, kind)
        of[part][name] = array.reshape(shape)
        place = _aligned(place + array.nbytes)
    sample, signatures = RowSample(**of["sample"]), Signatures(**of["signatures"])
    tables = tuple(about.get("tables", ()))
    return IndexSegment(tables=tables, sample=sample, signatures=signatures, **of["segment"])


def save_segment(folder: Path, segment: IndexSegment) -> None:
    """Write a segment; a reader sees all of it or nothing."""
    folder.mkdir(exist_ok=True)
    path = folder / _name(segment.tables)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    parts = {"segment": segment, "sample": segment.sample, "signatures": segment.signatures}
    arrays = [
        (part, name, np.ascontiguousarray(getattr(parts[part], name)))
        for part, names in _ARRAYS.items()
        for name in names
    ]
    listed = [(part, name, array.dtype.str, array.shape) for part, name, array in arrays]
    try:
        with beside.open("wb") as file:
            file.write(json.dumps({"tables": segment.tables, "arrays": listed}).encode() + b"\n")
            for _, _, array in arrays:
                file.seek(_aligned(file.tell()))
                raw = array.reshape(-1).view(np.uint8)
                for at in range(0, len(raw), _AT_ONCE):
                    file.write(raw[at : at + _AT_ONCE].data)
                    release_pages(raw)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def _aligned(place: int) -> int:
    return -(-place // _ALIGNMENT) * _ALIGNMENT


def remove_segments(catalog: Path) -> None:
    """Remove all index segments of a catalog: they are made again when they are needed."""
    _remove_others(catalog / FOLDER, ())


def _remove_others(folder: Path, segments: Sequence[IndexSegment]) -> None:
    names = {_name(segment.tables) for segment in segments}
    with suppress(OSError):
        for path in folder.iterdir():
            if path.name in names or not _MADE_HERE.fullmatch(path.name):
                continue
            if path.is_dir():  # a segment of an older version
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink()
