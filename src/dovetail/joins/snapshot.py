"""A snapshot of join evidence on disk: the edges, the tables they are of, and the counted pairs.

A file is named by the contents of the catalog and by the scoring, so it is never out of date; the
newest one of other contents is what an update starts from.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dovetail.arrays import Ints
from dovetail.catalog.files import DAMAGE
from dovetail.catalog.reader import CatalogReader
from dovetail.domain import JoinEdge
from dovetail.joins.candidates import Candidates, CountedPairs
from dovetail.joins.stored import SCHEMA, StoredEdges, read_rows

_TABLES = b"tables"
_PAIRS = ("child", "parent", "shared", "rows")
_COUNTED = (*_PAIRS, "rarity", "searched")
# The number of columns' values as they are, where others are those of normal forms.
AS_THEY_ARE = -1

# A table's contents, by source, name, digest and number of columns.
TableVersion = tuple[str, str, str, int]


def table_versions(catalog: CatalogReader) -> list[TableVersion]:
    """The tables of a catalog, as a snapshot knows them."""
    columns = (
        catalog.records.tables[name].to_pylist() for name in ("source", "name", "digest", "columns")
    )
    return list(zip(*columns, strict=True))


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Edges, the tables that they were worked out from, and the pairs that were counted for them.

    The latter are by the number of a normal form, those of columns as they are by `AS_THEY_ARE`.
    """

    tables: Sequence[TableVersion]
    edges: Sequence[JoinEdge]
    counted: Mapping[int, CountedPairs]

    def counted_for(self, now: Sequence[TableVersion]) -> dict[int, CountedPairs]:
        """The counted pairs of columns that are still there, by the column numbers of now."""
        number = _renumbered(self.tables, now)
        size = sum(table[3] for table in now)
        return {form: pairs.renumbered(number, size) for form, pairs in self.counted.items()}


def _renumbered(before: Sequence[TableVersion], now: Sequence[TableVersion]) -> Ints:
    """The number now of each column of before, -1 for one that is gone."""
    starts = np.cumsum([0, *(table[3] for table in now)])
    first = dict(zip(now, starts.tolist(), strict=False))
    widths = np.array([table[3] for table in before], dtype=np.int64)
    place = np.array([first.get(table, -1) for table in before], dtype=np.int64)
    within = np.arange(int(widths.sum())) - np.repeat(np.cumsum(widths) - widths, widths)
    spread = np.repeat(place, widths)
    return np.where(spread >= 0, spread + within, -1)


def write(path: Path, snapshot: Snapshot) -> None:
    """Write a snapshot; a reader sees all of it or nothing."""
    path.parent.mkdir(exist_ok=True)
    if snapshot.counted:
        beside = path.with_name(f"{path.stem}.{os.getpid()}.npz")
        np.savez(beside, **_arrays(snapshot.counted))
        beside.replace(path.with_suffix(".npz"))
    write_edges(path, snapshot.edges, {_TABLES: json.dumps(snapshot.tables)})


def _arrays(counted: Mapping[int, CountedPairs]) -> dict[str, Any]:
    """Counted pairs as arrays, each named by its form and what it is."""
    arrays: dict[str, Any] = {}
    for form, pairs in counted.items():
        parts = [getattr(pairs.candidates, name) for name in _PAIRS]
        named = zip(_COUNTED, [*parts, pairs.rarity, pairs.searched], strict=True)
        arrays |= {f"{form}_{name}": array for name, array in named}
    return arrays


def _counted(arrays: Mapping[str, Any]) -> dict[int, CountedPairs]:
    """The same from stored arrays."""
    counted = {}
    for form in {int(name.partition("_")[0]) for name in arrays}:
        *pairs, rarity, searched = (arrays[f"{form}_{name}"] for name in _COUNTED)
        counted[form] = CountedPairs(Candidates(*pairs), rarity, searched)
    return counted


def write_edges(
    path: Path, edges: Sequence[JoinEdge], metadata: dict[bytes, str] | None = None
) -> None:
    """Write edges, to be read by `stored.edges_in`; a reader sees all of them or nothing."""
    path.parent.mkdir(exist_ok=True)
    rows = _columns(list(edges)).replace_schema_metadata(metadata)
    beside = path.with_name(f"{path.name}.{os.getpid()}")
    pq.write_table(rows, beside, compression="zstd")
    beside.replace(path)


def _columns(edges: Sequence[JoinEdge]) -> pa.Table:
    """Edges as a table, column by column: row by row takes three times as long."""
    ends = [(edge.left, edge.right) for edge in edges]
    pairs = [pair for edge in edges for pair in edge.columns]
    names = pa.array([name for pair in pairs for name in pair], pa.string())
    in_pairs = pa.ListArray.from_arrays(_offsets([2] * len(pairs)), names)
    columns = {
        "left_source": [left.source for left, _ in ends],
        "left_table": [left.name for left, _ in ends],
        "right_source": [right.source for _, right in ends],
        "right_table": [right.name for _, right in ends],
        "columns": pa.ListArray.from_arrays(_offsets([len(e.columns) for e in edges]), in_pairs),
        "score": [edge.score for edge in edges],
        "cardinality": [edge.cardinality for edge in edges],
        "match_rate": [edge.match_rate for edge in edges],
        "evidence": pa.MapArray.from_arrays(
            _offsets([len(edge.evidence) for edge in edges]),
            pa.array([name for edge in edges for name in edge.evidence], pa.string()),
            pa.array([float(v) for edge in edges for v in edge.evidence.values()], pa.float64()),
        ),
        "transform": [edge.transform for edge in edges],
    }
    return pa.table(columns, schema=SCHEMA)


def _offsets(lengths: Sequence[int]) -> pa.Array:
    return pa.array(np.cumsum([0, *lengths], dtype=np.int32))


def read(path: Path, *, edges: bool = True) -> Snapshot:
    """A stored snapshot; OSError, ArrowInvalid or KeyError where there is none to read.

    Its edges are left out unless they are wanted: to make them takes longer than all the rest.
    """
    rows = read_rows(path) if edges else None
    schema = pq.read_schema(path) if rows is None else rows.schema
    tables = [tuple(table) for table in json.loads(schema.metadata[_TABLES])]
    counted: dict[int, CountedPairs] = {}
    counts = path.with_suffix(".npz")
    with suppress(*DAMAGE), np.load(counts, allow_pickle=False) as stored:
        counted = _counted(stored)
    return Snapshot(tables, () if rows is None else list(StoredEdges(rows)), counted)
