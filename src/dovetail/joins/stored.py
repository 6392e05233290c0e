"""Join evidence as it is stored: which file it stands in, and how its edges are read.

This is all that a question needs of joins, so it loads none of what works them out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from dovetail.catalog.files import DAMAGE
from dovetail.catalog.reader import CatalogReader
from dovetail.domain import JoinEdge, TableId
from dovetail.joins.column_arrays import DEFAULT_THRESHOLDS, Thresholds
from dovetail.joins.lazy_edges import LazyEdges

FOLDER = "joins"
# How joins are scored: evidence of another version is made again.
SCORING_VERSION = 10
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
        ("transform", pa.string()),
    ]
)


def stored_edges(
    catalog: CatalogReader, thresholds: Thresholds = DEFAULT_THRESHOLDS
) -> StoredEdges | None:
    """The join evidence that is stored with a catalog; None where it is missing or damaged."""
    return edges_in(evidence_file(catalog, thresholds), catalog)


def edges_in(file: Path, catalog: CatalogReader) -> StoredEdges | None:
    """The edges in a file; None where it is missing, damaged, or about other tables."""
    with suppress(*DAMAGE):
        edges = StoredEdges(read_rows(file))
        tables = set(catalog.ids)
        if all(left in tables and right in tables for left, right in edges.ends):
            return edges
    return None


def evidence_file(catalog: CatalogReader, thresholds: Thresholds) -> Path:
    """The file that evidence stands in, named by the catalog's contents and all that is chosen."""
    dependent = f"{SCORING_VERSION} {thresholds.resolved(catalog)}"
    digest = hashlib.sha256(dependent.encode()).hexdigest()[:8]
    return catalog.folder / FOLDER / f"{catalog.contents}-foreign_key-{digest}.parquet"


def read_rows(path: Path) -> pa.Table:
    """The rows of a stored snapshot, an edge each."""
    return pq.ParquetFile(pa.BufferReader(path.read_bytes())).read(use_threads=False)


class StoredEdges(LazyEdges):
    """The edges of a stored snapshot in their order, each made when it is asked for.

    A question needs a handful of the thousands of edges of a catalog: `ends` tells which tables
    each one joins without making it.
    """

    def __init__(self, rows: pa.Table) -> None:
        column = {name: rows[name].combine_chunks() for name in rows.column_names}
        lefts = map(TableId, *(column[f"left_{part}"].to_pylist() for part in ("source", "table")))
        rights = map(
            TableId, *(column[f"right_{part}"].to_pylist() for part in ("source", "table"))
        )
        self.ends = list(zip(lefts, rights, strict=True))
        self._rest = rows.select(
            ["columns", "score", "cardinality", "match_rate", "evidence", "transform"]
        )
        self._made: dict[int, JoinEdge] = {}

    @property
    def scores(self) -> list[float]:
        """The score of each edge, without making it."""
        found: list[float] = self._rest["score"].to_pylist()
        return found

    def edge(self, place: int) -> JoinEdge:
        """The edge at a place, made if it was not yet."""
        if place not in self._made:
            self._make(place, place + 1)
        return self._made[place]

    def __iter__(self) -> Iterator[JoinEdge]:
        if len(self._made) < len(self):
            self._make(0, len(self))
        return map(self._made.__getitem__, range(len(self)))

    def _make(self, start: int, end: int) -> None:
        """Make the edges of some rows, column by column: row by row takes three times as long."""
        rows = self._rest.slice(start, end - start)
        listed = {name: rows[name].to_pylist() for name in rows.column_names}
        for place, (pairs, score, cardinality, match_rate, evidence, transform) in enumerate(
            zip(*listed.values(), strict=True), start
        ):
            columns = tuple((one, other) for one, other in pairs)
            left, right = self.ends[place]
            self._made[place] = JoinEdge(
                left, right, columns, score, cardinality, match_rate, dict(evidence), transform
            )
