"""Join evidence on disk: the edges, what they were worked out from, and what to keep for next time.

A file is called by the contents of the catalog and by the scoring, so it is never out of date; the
newest one of other contents is what an update starts from.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dovetail.catalog.reader import CatalogReader
from dovetail.domain import JoinEdge, TableId
from dovetail.joins.column_arrays import Ints
from dovetail.joins.inclusion.candidates import Candidates
from dovetail.joins.scoring.foreign_key import Kept

_ROWS = pa.schema(
    [
        ("left_source", pa.string()),
        ("left_table", pa.string()),
        ("right_source", pa.string()),
        ("right_table", pa.string()),
        ("columns", pa.list_(pa.list_(pa.string()))),
        ("score", pa.float64()),
        ("cardinality", pa.string()),
        ("survive", pa.float64()),
        ("evidence", pa.map_(pa.string(), pa.float64())),
    ]
)
_TABLES = b"tables"
_KEPT = ("child", "parent", "shared", "rows", "rare")

# A table by source, name, digest and number of columns.
Known = tuple[str, str, str, int]


def tables_of(catalog: CatalogReader) -> list[Known]:
    """The tables of a catalog, as evidence knows them."""
    columns = (
        catalog.records.tables[name].to_pylist() for name in ("source", "name", "digest", "columns")
    )
    return list(zip(*columns, strict=True))


@dataclass(frozen=True, slots=True)
class Past:
    """Edges, the tables that they were worked out from, and what `keylike` kept."""

    tables: Sequence[Known]
    edges: Sequence[JoinEdge]
    kept: Kept | None

    def fresh(self, now: Sequence[Known]) -> set[TableId]:
        """The tables of now that this knows nothing of."""
        known = set(self.tables)
        return {TableId(*table[:2]) for table in now if table not in known}

    def lasting(self, now: Sequence[Known]) -> list[JoinEdge]:
        """The edges both of whose tables are as they were."""
        same = {TableId(*table[:2]) for table in set(self.tables) & set(now)}
        return [edge for edge in self.edges if edge.left in same and edge.right in same]

    def kept_for(self, now: Sequence[Known]) -> Kept | None:
        """What was kept, by the column numbers of now."""
        if self.kept is None:
            return None
        number = _numbers(self.tables, now)
        there = number >= 0
        rare = np.full(sum(table[3] for table in now), np.nan)
        rare[number[there]] = self.kept.rare[there]
        counted = self.kept.counted
        lasting = counted.take(there[counted.child] & there[counted.parent])
        child, parent = number[lasting.child], number[lasting.parent]
        return Kept(Candidates(child, parent, lasting.shared, lasting.rows), rare)


def _numbers(before: Sequence[Known], now: Sequence[Known]) -> Ints:
    """The number now of each column of before, -1 for one that is gone."""
    starts = np.cumsum([0, *(table[3] for table in now)])
    first = dict(zip(now, starts.tolist(), strict=False))
    widths = np.array([table[3] for table in before], dtype=np.int64)
    place = np.array([first.get(table, -1) for table in before], dtype=np.int64)
    within = np.arange(int(widths.sum())) - np.repeat(np.cumsum(widths) - widths, widths)
    spread = np.repeat(place, widths)
    return np.where(spread >= 0, spread + within, -1)


def write(path: Path, past: Past) -> None:
    """Keep evidence; a reader sees all of it or nothing."""
    path.parent.mkdir(exist_ok=True)
    if past.kept is not None:
        beside = path.with_name(f"{path.stem}.{os.getpid()}.npz")
        found = past.kept.counted
        np.savez(
            beside,
            child=found.child,
            parent=found.parent,
            shared=found.shared,
            rows=found.rows,
            rare=past.kept.rare,
        )
        beside.replace(path.with_suffix(".npz"))
    rows = pa.Table.from_pylist([_row(edge) for edge in past.edges], _ROWS)
    rows = rows.replace_schema_metadata({_TABLES: json.dumps(past.tables)})
    beside = path.with_name(f"{path.name}.{os.getpid()}")
    pq.write_table(rows, beside, compression="zstd")
    beside.replace(path)


def _row(edge: JoinEdge) -> dict[str, Any]:
    return {
        "left_source": edge.left.source,
        "left_table": edge.left.name,
        "right_source": edge.right.source,
        "right_table": edge.right.name,
        "columns": edge.columns,
        "score": edge.score,
        "cardinality": edge.cardinality,
        "survive": edge.survive,
        "evidence": list(edge.evidence.items()),
    }


def read(path: Path) -> Past:
    """Evidence that was kept; OSError, ArrowInvalid or KeyError where there is none to read."""
    rows = pq.ParquetFile(pa.BufferReader(path.read_bytes())).read(use_threads=False)
    tables = [tuple(table) for table in json.loads(rows.schema.metadata[_TABLES])]
    kept = None
    with suppress(OSError, ValueError, KeyError):
        with np.load(path.with_suffix(".npz")) as arrays:
            *counted, rare = (arrays[name] for name in _KEPT)
        kept = Kept(Candidates(*counted), rare)
    edges = [
        JoinEdge(
            left=TableId(row["left_source"], row["left_table"]),
            right=TableId(row["right_source"], row["right_table"]),
            columns=tuple((left, right) for left, right in row["columns"]),
            score=row["score"],
            cardinality=row["cardinality"],
            survive=row["survive"],
            evidence=dict(row["evidence"]),
        )
        for row in rows.to_pylist()
    ]
    return Past(tables, edges, kept)
