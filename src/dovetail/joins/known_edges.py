"""The joins of a catalog as everybody uses them: the evidence, declared keys, and past queries.

Declared keys and joins of queries are laid over stored evidence, which stays as it is: to use them
or to leave them out reads no source again. What comes of it is stored beside, under a digest of
both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from dovetail.catalog.reader import CatalogReader
from dovetail.domain import JoinEdge
from dovetail.engines.passes import Workers
from dovetail.joins.column_arrays import DEFAULT_THRESHOLDS, Thresholds
from dovetail.joins.stored import edges_in, evidence_file, stored_edges

# How declared keys and queries are laid over evidence: edges of another version are made again.
_VERSION = 2


def known_edges(
    catalog: CatalogReader, thresholds: Thresholds = DEFAULT_THRESHOLDS
) -> Sequence[JoinEdge]:
    """The edges of a catalog, the surest first; evidence not yet there is made.

    They know of the keys that the catalog's tables declare, and of the joins that past queries
    made, where there are any.
    """
    if not catalog.joins_digest:
        return _evidence(catalog, thresholds)
    file = declared_file(catalog, thresholds)
    stored = edges_in(file, catalog)
    if stored is not None:
        return stored
    return _laid_over(catalog, _evidence(catalog, thresholds), file)


def _laid_over(
    catalog: CatalogReader, evidence: Sequence[JoinEdge], file: Path
) -> Sequence[JoinEdge]:
    """Evidence with what declared keys and past queries say, stored in a file."""
    # Only who makes edges needs what works them out: to load it takes longer than a question.
    from dovetail.joins.keys.declared import with_declared
    from dovetail.joins.keys.queried import with_queries
    from dovetail.joins.snapshot import write_edges

    edges = with_declared(catalog, evidence) if catalog.keys_digest else evidence
    if catalog.usage.joins_digest:
        edges = with_queries(catalog, edges, catalog.usage)
    with suppress(OSError):  # a catalog that cannot be written to is read all the same
        write_edges(file, edges)
    return edges


def declared_file(catalog: CatalogReader, thresholds: Thresholds) -> Path:
    """The file of the edges with declared keys and joins of queries, named by all of these."""
    evidence = evidence_file(catalog, thresholds)
    return evidence.with_name(f"{evidence.stem}-{_VERSION}-{catalog.joins_digest}.parquet")


def bring_up_to_date(
    catalog: CatalogReader,
    thresholds: Thresholds,
    on_progress: Callable[[int, int], None],
    workers: Workers | None = None,
) -> None:
    """Have the edges of a catalog ready before anybody asks, and remove what is out of date.

    Only the holder of the catalog's lock may do this. Given `workers`, they pass over the values.
    """
    from dovetail.joins import cache

    edges = cache.bring_up_to_date(catalog, thresholds, on_progress, workers)
    current = declared_file(catalog, thresholds)
    if catalog.joins_digest and edges_in(current, catalog) is None:
        _laid_over(catalog, edges, current)
    evidence = evidence_file(catalog, thresholds)
    with suppress(OSError):
        for file in evidence.parent.glob(f"{evidence.stem}-*.parquet"):
            if file != current:
                file.unlink(missing_ok=True)


def _evidence(catalog: CatalogReader, thresholds: Thresholds) -> Sequence[JoinEdge]:
    stored = stored_edges(catalog, thresholds)
    if stored is not None:
        return stored
    from dovetail.joins.cache import join_edges

    return join_edges(catalog, thresholds)
