"""Catalogs of very many tables whose profiles are made directly, to time what is done with them.

`tiled` repeats a small catalog under other names and with other values; `slices`, `drifting` and
`strangers` are shapes that a careless search for families is slow on.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from dovetail.catalog.generation import Manifest
from dovetail.catalog.reader import CatalogReader
from dovetail.catalog.records import ColumnRecord, Records, TableRecord
from dovetail.catalog.segment import Segment, SegmentWriter
from dovetail.domain import Column, ColumnProfile, Kind, TableId
from dovetail.hashing import Hashes

# As many as contents need to say something.
ROWS = 24
_IN_SEGMENT = 4000
# Numbers from here on have five letters or more: no code of a region.
_LONG = 26**4


def tiled(small: CatalogReader, tables: int, folder: Path) -> CatalogReader:
    """A catalog repeated until it has so many tables, each time in other sources.

    Whole numbers stay as they are, since those of strangers are equal too; other values are new.
    """
    kinds = small.records.columns["kind"].to_pylist()
    values, counts = small.value_hashes()
    segments, parts = {}, []
    for number in range(max(1, tables // len(small))):
        place = folder / f"segment{number}"
        place.mkdir()
        salt = np.uint64(random.Random(number).getrandbits(64))
        starts = []
        with SegmentWriter(place) as writer:
            for kind, held, counted in zip(kinds, values, counts, strict=True):
                new = held if kind == Kind.INTEGER else np.sort(held + salt)
                starts.append(writer.add_value_hashes([(new, counted)] if len(new) else [])[1:])
            ids = [TableId(f"{one.source}_{letters(number)}", one.name) for one in small.ids]
            records = _moved(small.records, ids, starts)
            writer.finish(records, {"part": number})
        segments[place.name] = Segment(place)
        parts.append(records.with_column("segment", [place.name] * len(records)))
    return CatalogReader(folder, small.manifest, Records.concat(parts).sorted(), segments)


def _moved(records: Records, ids: list[TableId], starts: list[tuple[int, int | None]]) -> Records:
    """Records under other ids, whose values begin elsewhere in their segment."""
    named = records.with_column("source", [one.source for one in ids])
    columns = named.columns
    for name, at in (("hashes_at", 0), ("counts_at", 1)):
        place = columns.schema.get_field_index(name)
        moved = pa.array([start[at] for start in starts], pa.int64())
        columns = columns.set_column(place, columns.schema.field(name), moved)
    return Records(named.tables, columns)


@dataclass(frozen=True, slots=True)
class Sketch:
    """A table to be: its id, and its columns by name with the values of each."""

    id: TableId
    columns: dict[str, Hashes]


def slices(tables: int, draw: np.random.Generator) -> Iterator[Sketch]:
    """One table in numbered slices, and a backup of every other slice."""
    for number in range(2 * tables // 3):
        columns = {name: _values(draw) for name in ("event_id", "kind", "payload")}
        yield Sketch(TableId("log", f"main.event_{number}"), columns)
        if number % 2:
            yield Sketch(TableId("log", f"main.event_{number}_bak"), columns)


def drifting(tables: int, draw: np.random.Generator) -> Iterator[Sketch]:
    """One name in one schema, numbered, with columns that change little by little."""
    for number in range(tables):
        names = [f"field {letters(_LONG + number // 4 + at)}" for at in range(12)]
        columns = {name: _values(draw) for name in names}
        yield Sketch(TableId("log", f"main.export_{number}"), columns)


def strangers(tables: int, draw: np.random.Generator) -> Iterator[Sketch]:
    """Tables of different names with the same columns, as many as there are."""
    for number in range(tables):
        columns = {name: _values(draw) for name in ("id", "label", "active", "owner")}
        yield Sketch(TableId("app", f"main.ref {letters(_LONG + number)}"), columns)


SHAPES: dict[str, Callable[[int, np.random.Generator], Iterator[Sketch]]] = {
    "slices": slices,
    "drifting": drifting,
    "strangers": strangers,
}


def sketched(sketches: Iterator[Sketch], folder: Path) -> CatalogReader:
    """The catalog of some tables of `ROWS` rows each, all of whose columns are keys of text."""
    segments: dict[str, Segment] = {}
    parts = []
    while part := [one for _, one in zip(range(_IN_SEGMENT), sketches, strict=False)]:
        place = folder / f"segment{len(segments)}"
        place.mkdir()
        with SegmentWriter(place) as writer:
            records = [_record(writer, one) for one in part]
            writer.finish_tables(records, {"part": len(segments)})
        segments[place.name] = Segment(place)
        made = segments[place.name].records()
        parts.append(made.with_column("segment", [place.name] * len(made)))
    manifest = Manifest(1, profile={}, roots=(), skipped=(), parts={}, segments={})
    return CatalogReader(folder, manifest, Records.concat(parts).sorted(), segments)


def _record(writer: SegmentWriter, sketch: Sketch) -> TableRecord:
    columns = []
    for name, held in sketch.columns.items():
        distinct, hashes_at, counts_at = writer.add_value_hashes([(held, _ONES)])
        profile = ColumnProfile(Kind.TEXT, 0, distinct, True, "a", "z", 1, 9, ())
        columns.append(ColumnRecord(Column(name, "TEXT", profile), hashes_at, counts_at, 0, 0))
    return TableRecord(sketch.id, "", ROWS, str(sketch.id), "", (), tuple(columns))


_ONES = np.ones(ROWS, dtype=np.uint32)


def _values(draw: np.random.Generator) -> Hashes:
    return np.sort(draw.integers(0, 2**63, ROWS, dtype=np.uint64))


def letters(number: int) -> str:
    """A number in letters, so that it is no slot.

    >>> letters(0), letters(27)
    ('a', 'bb')
    """
    text = ""
    while True:
        text, number = chr(ord("a") + number % 26) + text, number // 26
        if not number:
            return text
