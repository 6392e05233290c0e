"""Join evidence beside the catalog it was worked out from, found again by what it depends on.

The file's name is a digest of the scoring's version and of every table's id, columns and
contents: evidence is never stale, an update that changes nothing keeps it, and whoever needs it
first, `dovetail index` or a reader, works it out: from the last snapshot, where there is one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

from dovetail.catalog.files import DAMAGE
from dovetail.catalog.reader import CatalogReader
from dovetail.domain import JoinEdge
from dovetail.engines.passes import Workers
from dovetail.joins.column_arrays import (
    DEFAULT_THRESHOLDS,
    CatalogPasses,
    ColumnArrays,
    Thresholds,
    catalog_passes,
)
from dovetail.joins.edges import edges_of, in_order
from dovetail.joins.keys.row_checks import RowQuestions
from dovetail.joins.keys.structural import structural_edges
from dovetail.joins.scoring.foreign_key import foreign_key
from dovetail.joins.scoring.weights import DEFAULT_WEIGHTS
from dovetail.joins.snapshot import AS_THEY_ARE, Snapshot, read, table_versions, write
from dovetail.joins.stored import FOLDER, evidence_file, stored_edges
from dovetail.joins.transforms import transformed_edges

# What arrays that do not belong together raise when they are worked with.
_CONFUSED = (IndexError, KeyError, OverflowError, TypeError, ValueError)


def _ignored(done: int, total: int) -> None:
    """Nobody wants to know of progress."""


def join_edges(
    catalog: CatalogReader,
    thresholds: Thresholds = DEFAULT_THRESHOLDS,
    passes: CatalogPasses | None = None,
) -> list[JoinEdge]:
    """The join evidence of a catalog: an edge for every pair of columns that may join.

    Read from the catalog's folder; worked out and written there if it is missing. Sorted by score,
    the surest first; ties by ids and columns. With `passes`, workers pass over the values.
    """
    stored = stored_edges(catalog, thresholds)
    if stored is not None:
        return list(stored)
    path = evidence_file(catalog, thresholds)
    try:
        found, complete = _work_out(catalog, thresholds, _newest(path), passes)
    except _CONFUSED:  # what was stored for next time may be damaged: once more without any of it
        found, complete = _work_out(catalog, thresholds, None, passes)
    if complete:
        with suppress(OSError):  # a catalog that cannot be written to is read all the same
            write(path, found)
    return list(found.edges)


def work_out(catalog: CatalogReader, thresholds: Thresholds = DEFAULT_THRESHOLDS) -> list[JoinEdge]:
    """The join evidence of a catalog, not looked up but made."""
    return list(_work_out(catalog, thresholds, None)[0].edges)


def _work_out(
    catalog: CatalogReader,
    thresholds: Thresholds,
    before: Snapshot | None,
    passes: CatalogPasses | None = None,
) -> tuple[Snapshot, bool]:
    """The evidence, and whether no source was missing for it: only then may it be stored."""
    with ExitStack() as stack:
        passes = passes or stack.enter_context(catalog_passes(catalog))
        arrays = ColumnArrays.of(catalog, thresholds, passes)
        now = table_versions(catalog)
        known = before.counted_for(now) if before else {}
        scored = foreign_key(arrays, known.get(AS_THEY_ARE))
        edges = edges_of(arrays, scored)
        rows = RowQuestions(passes)
        edges = structural_edges(arrays, edges, rows)
        edges, counted = transformed_edges(
            arrays, passes.values.normalized, edges, DEFAULT_WEIGHTS, scored.unlikely, known
        )
        if scored.counted is not None:
            counted[AS_THEY_ARE] = scored.counted
        return Snapshot(now, in_order(edges), counted), rows.complete


def bring_up_to_date(
    catalog: CatalogReader,
    thresholds: Thresholds = DEFAULT_THRESHOLDS,
    on_progress: Callable[[int, int], None] = _ignored,
    workers: Workers | None = None,
) -> Sequence[JoinEdge]:
    """Have the evidence of a catalog ready before anybody asks.

    Only the holder of the catalog's lock may do this. `on_progress` is called with the steps done,
    and how many there are. Given `workers`, they pass over the values.
    """
    on_progress(0, 1)
    with catalog_passes(catalog, workers) as passes:
        found = join_edges(catalog, thresholds, passes)
    on_progress(1, 1)
    _remove_others(catalog)
    return found


def _remove_others(catalog: CatalogReader) -> None:
    """Remove evidence that was worked out from other contents than the catalog's."""
    contents = catalog.contents
    with suppress(OSError):
        for file in (catalog.folder / FOLDER).iterdir():
            if not file.name.startswith(contents) and file.suffix in (".parquet", ".npz"):
                file.unlink(missing_ok=True)


def _newest(path: Path) -> Snapshot | None:
    """The last snapshot of the same kind as would stand in a file, of whatever contents, without
    its edges."""
    kind = path.name.partition("-")[2]
    files = path.parent.glob(f"*-{kind}") if path.parent.is_dir() else ()
    for file in sorted(files, key=lambda file: (-file.stat().st_mtime_ns, file.name)):
        with suppress(*DAMAGE):
            return read(file, edges=False)
    return None
