"""Join evidence beside the catalog it was worked out from, found again by what it depends on.

The file's name is a digest of the scoring (with its version) and of every table's id, columns and
contents: evidence is never stale, an update that changes nothing keeps it, and whoever needs it
first, `dovetail index` or a reader, works it out: from the last snapshot, where there is one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, closing, suppress
from pathlib import Path

import numpy as np

from dovetail.catalog.files import DAMAGE
from dovetail.catalog.layout import staging_folder
from dovetail.catalog.reader import CatalogReader
from dovetail.domain import JoinEdge, TableId
from dovetail.engines.workers import Workers
from dovetail.joins.column_arrays import DEFAULT_THRESHOLDS, ColumnArrays, Thresholds
from dovetail.joins.distributed.column_values import opened_here
from dovetail.joins.distributed.distributed_columns import DistributedColumns, ValuePasses
from dovetail.joins.distributed.distributed_rows import DistributedRows
from dovetail.joins.distributed.segments import DistributedSegments
from dovetail.joins.edges import edges_of, in_order
from dovetail.joins.keys.row_checks import ChecksHere
from dovetail.joins.keys.structural import structural_edges
from dovetail.joins.keys.transformed import transformed_edges
from dovetail.joins.keys.view_candidates import KnownPairs
from dovetail.joins.keys.views import ViewedColumns
from dovetail.joins.naming.header_embedding import header_similarity
from dovetail.joins.row_hashes import RowReader
from dovetail.joins.scoring.registry import DEFAULT_SCORING, SCORINGS, Scoring, scoring
from dovetail.joins.scoring.scored_pairs import IncrementalState
from dovetail.joins.scoring.weights import DEFAULT_WEIGHTS
from dovetail.joins.snapshot import Snapshot, read, table_versions, write
from dovetail.joins.stored import FOLDER, evidence_file, stored_edges
from dovetail.joins.value_index.postings import Postings
from dovetail.joins.value_index.segment_store import remove_segments
from dovetail.ports import Embedder

# With a greater share of fresh tables everything is worked out anew.
_MOST_FRESH = 0.2
# What arrays that do not belong together raise when they are worked with.
_CONFUSED = (IndexError, KeyError, OverflowError, TypeError, ValueError)


def _ignored(done: int, total: int) -> None:
    """Nobody wants to know of progress."""


def join_edges(
    catalog: CatalogReader,
    name: str = DEFAULT_SCORING,
    thresholds: Thresholds = DEFAULT_THRESHOLDS,
    embedder: Embedder | None = None,
    passes: ValuePasses | None = None,
) -> list[JoinEdge]:
    """The join evidence of a catalog: an edge for every pair of columns that a scoring scores.

    Read from the catalog's folder; worked out and written there if it is missing. Sorted by score,
    the surest first; ties by ids and columns. With `passes`, workers pass over the values.
    """
    chosen = scoring(name)
    stored = stored_edges(catalog, name, thresholds, embedder)
    if stored is not None:
        return list(stored)
    path = evidence_file(catalog, chosen, thresholds, embedder)
    try:
        before = _newest(path, edges=chosen.pairwise)
        found, complete = _work_out(catalog, chosen, thresholds, embedder, before, passes)
    except _CONFUSED:  # what was stored for next time may be damaged: once more without any of it
        remove_segments(catalog.folder)
        found, complete = _work_out(catalog, chosen, thresholds, embedder, None, passes)
    if complete:
        with suppress(OSError):  # a catalog that cannot be written to is read all the same
            write(path, found)
    return list(found.edges)


def edges_among(
    catalog: CatalogReader,
    tables: Iterable[TableId],
    name: str = DEFAULT_SCORING,
    thresholds: Thresholds = DEFAULT_THRESHOLDS,
    embedder: Embedder | None = None,
) -> list[JoinEdge]:
    """Those edges of `join_edges` both of whose tables are among a few.

    Where the scoring is pairwise and the catalog's evidence is not there yet, only theirs is worked
    out: the same numbers, in no time.
    """
    wanted = set(tables)
    chosen = scoring(name)
    if chosen.pairwise and not evidence_file(catalog, chosen, thresholds, embedder).exists():
        every = ColumnArrays.of(catalog, thresholds)
        arrays = every.take([table in wanted for table in catalog.ids])
        return edges_of(arrays, chosen.score(arrays, header_similarity(arrays, embedder), None))
    edges = join_edges(catalog, name, thresholds, embedder)
    return [edge for edge in edges if edge.left in wanted and edge.right in wanted]


def work_out(
    catalog: CatalogReader,
    name: str = DEFAULT_SCORING,
    thresholds: Thresholds = DEFAULT_THRESHOLDS,
    embedder: Embedder | None = None,
) -> list[JoinEdge]:
    """The join evidence of a catalog, not looked up but made.

    `foreign_key` goes beyond single columns: composite keys, self-references, junction tables.
    """
    return list(_work_out(catalog, scoring(name), thresholds, embedder, None)[0].edges)


def _work_out(
    catalog: CatalogReader,
    chosen: Scoring,
    thresholds: Thresholds,
    embedder: Embedder | None,
    before: Snapshot | None,
    passes: ValuePasses | None = None,
) -> tuple[Snapshot, bool]:
    """The evidence, and whether no source was missing for it: only then may it be stored."""
    distributed = DistributedColumns(passes) if passes else None
    arrays = ColumnArrays.of(catalog, thresholds, distributed)
    now = table_versions(catalog)
    state, unchanged, known = None, [], None
    if before is not None:
        fresh = before.fresh(now)
        if len(fresh) <= _MOST_FRESH * len(now):
            flags = np.array([table in fresh for table in arrays.ids], dtype=np.bool_)
            state = IncrementalState(Postings.of(catalog), flags, before.counted_for(now))
            unchanged = before.unchanged(now) if chosen.pairwise else []
            pairs = before.viewed_for(now)
            known = KnownPairs(pairs, flags[arrays.table]) if pairs else None
    if state is None and not chosen.pairwise:
        state = IncrementalState(Postings.of(catalog), np.ones(len(now), dtype=np.bool_))
    scored = chosen.score(arrays, header_similarity(arrays, embedder), state)
    edges = in_order([*edges_of(arrays, scored), *unchanged])
    if chosen.name != DEFAULT_SCORING:
        return Snapshot(now, edges, None), True
    with closing(RowReader(catalog)) as rows:
        checks = DistributedRows(catalog, rows, passes) if passes else ChecksHere(rows)
        edges = structural_edges(arrays, edges, checks)
        viewed = ViewedColumns.of(catalog, arrays)
        postings = state.postings if state else Postings.of(catalog)
        edges, pairs = transformed_edges(
            arrays, viewed, edges, postings, DEFAULT_WEIGHTS, scored.unlikely, known
        )
        return Snapshot(now, in_order(edges), scored.counted, pairs), rows.complete


def bring_up_to_date(
    catalog: CatalogReader,
    thresholds: Thresholds = DEFAULT_THRESHOLDS,
    on_progress: Callable[[int, int], None] = _ignored,
    workers: Workers | None = None,
) -> Sequence[JoinEdge]:
    """Have the evidence of a catalog ready before anybody asks: the default's, and that of every
    scoring that was asked for before. Only the holder of the catalog's lock may do this.

    Returned are the edges of the default scoring.

    `on_progress` is called with the steps done, and how many there are. Given `workers`, they pass
    over the values.
    """
    with ExitStack() as stack:
        passes = None
        if workers is not None:
            scratch = stack.enter_context(staging_folder(catalog.folder))
            stack.enter_context(opened_here())
            passes = ValuePasses(catalog, workers, scratch)
        return _bring_up_to_date(catalog, thresholds, on_progress, passes)


def _bring_up_to_date(
    catalog: CatalogReader,
    thresholds: Thresholds,
    on_progress: Callable[[int, int], None],
    passes: ValuePasses | None,
) -> Sequence[JoinEdge]:
    wanted = [
        known.name
        for known in SCORINGS
        if known.name == DEFAULT_SCORING
        or _newest(evidence_file(catalog, known, thresholds, None)) is not None
    ]
    on_progress(0, 1 + len(wanted))
    make = DistributedSegments(passes) if passes else None
    try:
        Postings.of(catalog, compact=True, make=make)
    except _CONFUSED:  # a stored segment is damaged
        remove_segments(catalog.folder)
        Postings.of(catalog, compact=True, make=make)
    found: Sequence[JoinEdge] = ()
    for done, name in enumerate(wanted, 1):
        on_progress(done, 1 + len(wanted))
        edges = join_edges(catalog, name, thresholds, passes=passes)
        found = edges if name == DEFAULT_SCORING else found
    _remove_others(catalog)
    return found


def _remove_others(catalog: CatalogReader) -> None:
    """Remove evidence that was worked out from other contents than the catalog's."""
    contents = catalog.contents
    with suppress(OSError):
        for file in (catalog.folder / FOLDER).iterdir():
            if not file.name.startswith(contents) and file.suffix in (".parquet", ".npz"):
                file.unlink(missing_ok=True)


def _newest(path: Path, *, edges: bool = False) -> Snapshot | None:
    """The last snapshot of the same kind as would stand in a file, of whatever contents.

    It comes without its edges unless these are wanted.
    """
    kind = path.name.partition("-")[2]
    files = path.parent.glob(f"*-{kind}") if path.parent.is_dir() else ()
    for file in sorted(files, key=lambda file: (-file.stat().st_mtime_ns, file.name)):
        with suppress(*DAMAGE):
            return read(file, edges=edges)
    return None
