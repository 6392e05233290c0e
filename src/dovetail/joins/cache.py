"""Join evidence beside the catalog it was worked out from, found again by what it depends on.

The file's name is a digest of the scoring (with its version) and of every table's id, columns and
contents: evidence is never stale, an update that changes nothing keeps it, and whoever needs it
first, `dovetail index` or a reader, works it out. A file that cannot be read is made again.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dovetail.catalog.reader import Catalog
from dovetail.domain import JoinEdge, TableId
from dovetail.joins.lake import DEFAULT as USUAL
from dovetail.joins.lake import Lake, Thresholds
from dovetail.joins.rows import RowReader
from dovetail.joins.scoring import DEFAULT, Scored, Scoring, scoring
from dovetail.joins.structure import structured_edges

FOLDER = "joins"
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


def join_edges(
    catalog: Catalog, name: str = DEFAULT, thresholds: Thresholds = USUAL
) -> list[JoinEdge]:
    """The join evidence of a catalog: every pair of columns that a scoring has something to say of.

    Sorted by score, the surest first; ties by ids and columns.
    """
    chosen = scoring(name)
    path = catalog.path / FOLDER / f"{_key(catalog, chosen, thresholds)}.parquet"
    with suppress(OSError, pa.ArrowInvalid, KeyError):
        return _read(path)
    edges, complete = _work_out(catalog, name, thresholds)
    if complete:
        with suppress(OSError):  # a catalog that cannot be written to is read all the same
            _write(path, edges)
    return edges


def work_out(
    catalog: Catalog, name: str = DEFAULT, thresholds: Thresholds = USUAL
) -> list[JoinEdge]:
    """The join evidence of a catalog, not looked up but made.

    `keylike` goes beyond single columns: composite keys, hierarchies and bridges.
    """
    return _work_out(catalog, name, thresholds)[0]


def _work_out(catalog: Catalog, name: str, thresholds: Thresholds) -> tuple[list[JoinEdge], bool]:
    """The evidence, and whether no source was missing for it: only then may it be kept."""
    lake = Lake.of(catalog, thresholds)
    edges = edges_of(lake, scoring(name).run(lake, None))
    if name != DEFAULT:
        return edges, True
    with closing(RowReader(catalog)) as rows:
        edges = structured_edges(lake, edges, rows)
        return sorted(edges, key=_order), rows.complete


def forget_others(catalog: Catalog) -> None:
    """Remove evidence that was worked out from other contents than the catalog's."""
    contents = catalog.contents
    with suppress(OSError):
        for file in (catalog.path / FOLDER).iterdir():
            if not file.name.startswith(contents):
                file.unlink(missing_ok=True)


def _key(catalog: Catalog, chosen: Scoring, thresholds: Thresholds) -> str:
    way = hashlib.sha256(f"{chosen.version} {thresholds}".encode()).hexdigest()[:8]
    return f"{catalog.contents}-{chosen.name}-{way}"


def edges_of(lake: Lake, scored: Scored) -> list[JoinEdge]:
    """Scored candidates as edges, with their counts as evidence."""
    child, parent = scored.candidates.child, scored.candidates.parent
    counted = _counts(lake, scored) | scored.evidence
    names = list(counted)
    values = np.column_stack([counted[name] for name in names])
    survive = scored.candidates.rows / np.maximum(lake.rows[lake.table[child]], 1)
    edges = []
    for place, (left, right) in enumerate(zip(child.tolist(), parent.tolist(), strict=True)):
        edges.append(
            JoinEdge(
                left=lake.ids[lake.table[left]],
                right=lake.ids[lake.table[right]],
                columns=((lake.name[left], lake.name[right]),),
                score=round(float(scored.score[place]), 6),
                cardinality=_cardinality(bool(lake.unique[left]), bool(lake.unique[right])),
                survive=round(float(survive[place]), 6),
                evidence=dict(zip(names, np.round(values[place], 6).tolist(), strict=True)),
            )
        )
    return sorted(edges, key=_order)


def _cardinality(left: bool, right: bool) -> str:
    """How many rows of one side meet how many of the other, given which sides are unique."""
    if right:
        return "1:1" if left else "n:1"
    return "1:n" if left else "n:m"


def _counts(lake: Lake, scored: Scored) -> dict[str, np.ndarray[tuple[int], np.dtype[np.float64]]]:
    found = scored.candidates
    own, other = lake.distinct[found.child], lake.distinct[found.parent]
    return {
        "containment": found.shared / np.maximum(own, 1),
        "row_containment": found.rows / np.maximum(lake.filled[found.child], 1),
        "coverage": found.shared / np.maximum(other, 1),
        "jaccard": found.shared / np.maximum(own + other - found.shared, 1),
        "uniqueness": other / np.maximum(lake.filled[found.parent], 1),
    }


def _order(edge: JoinEdge) -> tuple[float, TableId, TableId, tuple[tuple[str, str], ...]]:
    return -edge.score, edge.left, edge.right, edge.columns


def _write(path: Path, edges: Sequence[JoinEdge]) -> None:
    rows = [
        {
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
        for edge in edges
    ]
    path.parent.mkdir(exist_ok=True)
    beside = path.with_name(f"{path.name}.{os.getpid()}")
    pq.write_table(pa.Table.from_pylist(rows, _ROWS), beside, compression="zstd")
    beside.replace(path)


def _read(path: Path) -> list[JoinEdge]:
    rows = pq.ParquetFile(pa.BufferReader(path.read_bytes())).read(use_threads=False).to_pylist()
    return [
        JoinEdge(
            left=TableId(row["left_source"], row["left_table"]),
            right=TableId(row["right_source"], row["right_table"]),
            columns=tuple((left, right) for left, right in row["columns"]),
            score=row["score"],
            cardinality=row["cardinality"],
            survive=row["survive"],
            evidence=dict(row["evidence"]),
        )
        for row in rows
    ]
