"""Join evidence as it is stored: which file it stands in, and how its edges are read.

This is all that a question needs of joins, so it loads none of what works them out.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from dovetail.catalog.files import DAMAGE
from dovetail.catalog.reader import CatalogReader
from dovetail.domain import JoinEdge, TableId
from dovetail.joins.column_arrays import DEFAULT_THRESHOLDS, Thresholds
from dovetail.joins.scoring.registry import DEFAULT_SCORING, Scoring, scoring
from dovetail.ports import Embedder

FOLDER = "joins"
SCHEMA = pa.schema(
    [
        ("left_source", pa.string()),
        ("left_table", pa.string()),
        ("right_source", pa.string()),
        ("right_table", pa.string()),
        ("columns", pa.list_(pa.list_(pa.string()))),
        ("score", pa.float64()),
        ("cardinality", pa.string()),
        ("match_rate", pa.float64()),
        ("evidence", pa.map_(pa.string(), pa.float64())),
    ]
)


def stored_edges(
    catalog: CatalogReader,
    name: str = DEFAULT_SCORING,
    thresholds: Thresholds = DEFAULT_THRESHOLDS,
    embedder: Embedder | None = None,
) -> list[JoinEdge] | None:
    """The join evidence that is stored with a catalog; None where it is missing or damaged."""
    with suppress(*DAMAGE):
        edges = edges_in(read_rows(evidence_file(catalog, scoring(name), thresholds, embedder)))
        tables = set(catalog.ids)
        if all(edge.left in tables and edge.right in tables for edge in edges):
            return edges
    return None


def evidence_file(
    catalog: CatalogReader, chosen: Scoring, thresholds: Thresholds, embedder: Embedder | None
) -> Path:
    """The file that evidence stands in, named by the catalog's contents and all that is chosen."""
    model = embedder.model_id if embedder else ""
    digest = hashlib.sha256(f"{chosen.version} {thresholds} {model}".encode()).hexdigest()[:8]
    return catalog.folder / FOLDER / f"{catalog.contents}-{chosen.name}-{digest}.parquet"


def read_rows(path: Path) -> pa.Table:
    """The rows of a stored snapshot, an edge each."""
    return pq.ParquetFile(pa.BufferReader(path.read_bytes())).read(use_threads=False)


def edges_in(rows: pa.Table) -> list[JoinEdge]:
    """The edges in their order, made column by column: row by row takes three times as long."""
    column = {name: rows[name].combine_chunks() for name in rows.column_names}
    listed = {name: column[name].to_pylist() for name in column if name != "evidence"}
    lefts = map(TableId, listed["left_source"], listed["left_table"])
    rights = map(TableId, listed["right_source"], listed["right_table"])
    columns = [tuple((left, right) for left, right in pairs) for pairs in listed["columns"]]
    names, values = column["evidence"].keys.to_pylist(), column["evidence"].items.to_pylist()
    bounds = column["evidence"].offsets.to_pylist()
    evidence = [
        dict(zip(names[at:end], values[at:end], strict=True)) for at, end in pairwise(bounds)
    ]
    scored = (listed[name] for name in ("score", "cardinality", "match_rate"))
    return list(map(JoinEdge, lefts, rights, columns, *scored, evidence))
