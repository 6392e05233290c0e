"""The steps of the benchmark of joins that run our own code, each timed by itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from dovetail.catalog.reader import CatalogReader
from dovetail_bench.programs import profiling
from dovetail_bench.programs.join_lakes import Lake, file_name, opened, summed
from dovetail_bench.programs.profiling import cpu_seconds

if TYPE_CHECKING:
    from dovetail.joins import column_arrays as joins
    from dovetail.ports import Listing, Source

MOST_COLUMNS = 10_010  # with which the slow ways are tried, and counts held against a rebuild


def lower_bound(lake: Lake) -> dict[str, Any]:
    """Decode every cell into Arrow and hash it once."""
    return {"cells": hash_every_cell(lake.path / "lake")}


def hash_every_cell(path: Path) -> int:
    """Decode every cell of what a path holds into Arrow and hash it once; how many there are."""
    from dovetail.hashing import drop_missing, hash_values
    from dovetail.plugins import open_source
    from dovetail.sources.resolve import expand, root

    cells = 0
    for spec in expand(root(str(path), Path.cwd())):
        with closing(open_source(spec)) as source:
            for listing in source.tables():
                for array in _arrays(source, listing):
                    values, _ = drop_missing(array)
                    hash_values(values)
                    cells += len(array)
    return cells


def _arrays(source: Source, listing: Listing) -> Iterator[pa.Array]:
    """The cells of a table; read again where its declared types turn out not to hold."""
    from dovetail.errors import RescanError

    while True:
        try:
            for batch in source.scan(listing).batches:
                yield from batch.columns
            return
        except RescanError:
            continue


def inclusion(lake: Lake) -> dict[str, Any]:
    """All inclusions from the catalog."""
    return inclusion_of(opened(lake))


def inclusion_of(columns: joins.ColumnArrays) -> dict[str, Any]:
    from dovetail.joins.inclusion.exact import pairs

    return summed(pairs(columns))


def whole(lake: Lake) -> dict[str, Any]:
    """Build the catalog from nothing, find all inclusions, and score every two tables by them."""
    from dovetail.joins.scoring.registry import scoring

    indexed = profiling.profile(lake)["cpu"]
    started = cpu_seconds()
    found = scoring("paper").score(opened(lake), None, None)
    scored = cpu_seconds() - started
    return {"cpu": indexed + scored, "profile": indexed, "table_pairs": len(found.score)}


def values(lake: Lake) -> dict[str, Any]:
    """Index all values."""
    from dovetail.joins.value_index.postings import Postings
    from dovetail.joins.value_index.segment_store import FOLDER as INDEX

    catalog = CatalogReader.open(lake.path / "catalog")
    rmtree(catalog.folder / INDEX, ignore_errors=True)
    started = cpu_seconds()
    Postings.of(catalog, compact=True)
    return {"cpu": cpu_seconds() - started}


def evidence(lake: Lake) -> dict[str, Any]:
    """The default evidence, up to its scores: what is read again of rows is not in it."""
    from dovetail.joins.value_index.postings import Postings

    from dovetail.joins.scoring.foreign_key import score_foreign_keys

    postings = Postings.of(CatalogReader.open(lake.path / "catalog"))
    started = cpu_seconds()
    edges, counted = score_foreign_keys(opened(lake), postings=postings)
    return {
        "cpu": cpu_seconds() - started,
        "edges": len(edges.score),
        "counted": len(counted.candidates),
    }


def one(lake: Lake) -> dict[str, Any]:
    """Add a table, and find its inclusions with all others; where that is quick, against all."""
    from dovetail.joins.value_index.postings import Postings

    from dovetail.joins.inclusion.exact import pairs_of_fresh

    with _added(lake) as (catalog, read):
        started = cpu_seconds()
        postings = Postings.of(catalog, compact=True)
        indexed = cpu_seconds() - started
        columns = opened(lake)
        fresh = np.array([file_name(lake.tables).startswith(table.name) for table in columns.ids])
        started = cpu_seconds()
        found = summed(pairs_of_fresh(columns, postings, fresh))
        cpu = cpu_seconds() - started
        if len(columns) <= MOST_COLUMNS:
            rest = columns.take([not new for new in fresh])
            total, before = (inclusion_of(part)["pairs"] for part in (columns, rest))
            if found["pairs"] != total - before:
                raise SystemExit(f"{lake.name}: {found['pairs']} added, {total - before} expected")
    note = f"beyond {read['cpu']:.2f} s of reading it and {indexed:.3f} s of indexing its values"
    return {"cpu": cpu, "added": found["pairs"], "note": note}


def settled(lake: Lake) -> dict[str, Any]:
    """Add a table, and score all evidence again from the pairs counted before."""
    from dovetail.joins.value_index.postings import Postings

    from dovetail.joins.scoring.foreign_key import score_foreign_keys
    from dovetail.joins.snapshot import Snapshot, table_versions

    catalog = CatalogReader.open(lake.path / "catalog")
    _, counted = score_foreign_keys(opened(lake), postings=Postings.of(catalog))
    before = Snapshot(table_versions(catalog), (), counted)
    with _added(lake) as (catalog, _):
        postings = Postings.of(catalog, compact=True)
        started = cpu_seconds()
        edges, _ = score_foreign_keys(
            opened(lake), postings=postings, before=before.counted_for(table_versions(catalog))
        )
        cpu = cpu_seconds() - started
    return {"cpu": cpu, "edges": len(edges.score)}


def updated(lake: Lake) -> dict[str, Any]:
    """Add a table, and bring all join evidence up to date as an update does."""
    from dovetail.joins.cache import bring_up_to_date

    bring_up_to_date(CatalogReader.open(lake.path / "catalog"))
    with _added(lake) as (catalog, _):
        started = cpu_seconds()
        edges = bring_up_to_date(catalog)
        cpu = cpu_seconds() - started
    return {"cpu": cpu, "edges": len(edges)}


@contextmanager
def _added(lake: Lake) -> Iterator[tuple[CatalogReader, dict[str, Any]]]:
    """The catalog with one table more, and what reading it took; as it was afterwards."""
    added = lake.path / "lake" / file_name(lake.tables)
    added.write_bytes((lake.path / added.name).read_bytes())
    try:
        read = profiling.again(lake)
        yield CatalogReader.open(lake.path / "catalog"), read
    finally:
        added.unlink()
        profiling.again(lake)
