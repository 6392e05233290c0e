"""Join evidence beside the catalog it was worked out from, found again by what it depends on.

The file's name is a digest of the scoring (with its version) and of every table's id, columns and
contents: evidence is never stale, an update that changes nothing keeps it, and whoever needs it
first, `dovetail index` or a reader, works it out: from the evidence before, where there is some.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from contextlib import closing, suppress
from pathlib import Path

import numpy as np
import pyarrow as pa

from dovetail.catalog.reader import CatalogReader
from dovetail.domain import JoinEdge, TableId
from dovetail.joins.column_arrays import DEFAULT as USUAL
from dovetail.joins.column_arrays import Floats, Lake, Thresholds
from dovetail.joins.keys.structure import structured_edges
from dovetail.joins.naming.header_embedding import semantic_of
from dovetail.joins.row_hashes import RowReader
from dovetail.joins.scoring.registry import DEFAULT, SCORINGS, Scored, Scoring, Since, scoring
from dovetail.joins.snapshot import Past, read, tables_of, write
from dovetail.joins.value_index.postings import Postings
from dovetail.ports import Embedder

FOLDER = "joins"
# With a greater share of fresh tables everything is worked out anew.
_MOST_FRESH = 0.2


def _unseen(done: int, total: int) -> None:
    """Nobody watches."""


def join_edges(
    catalog: CatalogReader,
    name: str = DEFAULT,
    thresholds: Thresholds = USUAL,
    embedder: Embedder | None = None,
) -> list[JoinEdge]:
    """The join evidence of a catalog: every pair of columns that a scoring has something to say of.

    Sorted by score, the surest first; ties by ids and columns.
    """
    chosen = scoring(name)
    path = _path(catalog, chosen, thresholds, embedder)
    with suppress(OSError, pa.ArrowInvalid, KeyError, ValueError):
        return list(read(path).edges)
    past, complete = _work_out(catalog, chosen, thresholds, embedder, _newest(path))
    if complete:
        with suppress(OSError):  # a catalog that cannot be written to is read all the same
            write(path, past)
    return list(past.edges)


def edges_among(
    catalog: CatalogReader,
    tables: Iterable[TableId],
    name: str = DEFAULT,
    thresholds: Thresholds = USUAL,
    embedder: Embedder | None = None,
) -> list[JoinEdge]:
    """Those edges of `join_edges` that lie among a few tables.

    Where the scoring is pairwise and the catalog's evidence is not there yet, only theirs is worked
    out: the same numbers, in no time.
    """
    wanted = set(tables)
    chosen = scoring(name)
    if chosen.pairwise and not _path(catalog, chosen, thresholds, embedder).exists():
        lake = Lake.of(catalog, thresholds).take([table in wanted for table in catalog.ids])
        return edges_of(lake, chosen.run(lake, semantic_of(lake, embedder), None))
    edges = join_edges(catalog, name, thresholds, embedder)
    return [edge for edge in edges if edge.left in wanted and edge.right in wanted]


def work_out(
    catalog: CatalogReader,
    name: str = DEFAULT,
    thresholds: Thresholds = USUAL,
    embedder: Embedder | None = None,
) -> list[JoinEdge]:
    """The join evidence of a catalog, not looked up but made.

    `keylike` goes beyond single columns: composite keys, hierarchies and bridges.
    """
    return list(_work_out(catalog, scoring(name), thresholds, embedder, None)[0].edges)


def _work_out(
    catalog: CatalogReader,
    chosen: Scoring,
    thresholds: Thresholds,
    embedder: Embedder | None,
    past: Past | None,
) -> tuple[Past, bool]:
    """The evidence, and whether no source was missing for it: only then may it be kept."""
    lake = Lake.of(catalog, thresholds)
    now = tables_of(catalog)
    since, lasting = None, []
    if past is not None:
        fresh = past.fresh(now)
        if len(fresh) <= _MOST_FRESH * len(now):
            flags = np.array([table in fresh for table in lake.ids], dtype=np.bool_)
            since = Since(Postings.of(catalog), flags, past.kept_for(now))
            lasting = past.lasting(now) if chosen.pairwise else []
    if since is None and not chosen.pairwise:
        since = Since(Postings.of(catalog), np.ones(len(now), dtype=np.bool_))
    scored = chosen.run(lake, semantic_of(lake, embedder), since)
    edges = sorted([*edges_of(lake, scored), *lasting], key=_order)
    if chosen.name != DEFAULT:
        return Past(now, edges, None), True
    with closing(RowReader(catalog)) as rows:
        edges = structured_edges(lake, edges, rows)
        return Past(now, sorted(edges, key=_order), scored.kept), rows.complete


def bring_up_to_date(
    catalog: CatalogReader,
    thresholds: Thresholds = USUAL,
    watch: Callable[[int, int], None] = _unseen,
) -> None:
    """Have the evidence of a catalog ready before anybody asks: the default's, and that of every
    scoring that was asked for before. Only the holder of the catalog's lock may do this.
    """
    wanted = [
        known.name
        for known in SCORINGS
        if known.name == DEFAULT or _newest(_path(catalog, known, thresholds, None)) is not None
    ]
    watch(0, 1 + len(wanted))
    Postings.of(catalog, tidy=True)
    for done, name in enumerate(wanted, 1):
        watch(done, 1 + len(wanted))
        join_edges(catalog, name, thresholds)
    _forget_others(catalog)


def _forget_others(catalog: CatalogReader) -> None:
    """Remove evidence that was worked out from other contents than the catalog's."""
    contents = catalog.contents
    with suppress(OSError):
        for file in (catalog.path / FOLDER).iterdir():
            if not file.name.startswith(contents):
                file.unlink(missing_ok=True)


def _path(
    catalog: CatalogReader, chosen: Scoring, thresholds: Thresholds, embedder: Embedder | None
) -> Path:
    model = embedder.model_id if embedder else ""
    way = hashlib.sha256(f"{chosen.version} {thresholds} {model}".encode()).hexdigest()[:8]
    return catalog.path / FOLDER / f"{catalog.contents}-{chosen.name}-{way}.parquet"


def _newest(path: Path) -> Past | None:
    """The last evidence of the same kind as would stand in a file, of whatever contents."""
    kind = path.name.partition("-")[2]
    files = path.parent.glob(f"*-{kind}") if path.parent.is_dir() else ()
    for file in sorted(files, key=lambda file: (-file.stat().st_mtime_ns, file.name)):
        with suppress(OSError, pa.ArrowInvalid, KeyError, ValueError):
            return read(file)
    return None


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


def _counts(lake: Lake, scored: Scored) -> dict[str, Floats]:
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
