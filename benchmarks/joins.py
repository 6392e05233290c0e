"""How fast is finding every inclusion dependency? Beside a lower bound and four baselines.

    python benchmarks/joins.py [--lakes s1,s2] [--pool FOLDER] [--steps lower_bound,whole] [--json]

Lakes of Parquet files are generated from a seed below .bench/ and kept there. Every figure is CPU
seconds (of the process and its children); each step runs in a process of its own, so that peak
memory is its own, and is given up after --limit CPU seconds.

--pool takes a folder of SQLite files, at any depth, as one more lake.

lower_bound  decode every cell with DuckDB into Arrow and hash it once, and nothing else
whole        profile into a fresh catalog, all inclusions, and the best score of every two tables
inclusion    all inclusion dependencies, from the catalog
values       the inverted index from values to columns, from the catalog
evidence     the default evidence, from the catalog and that index: candidates, counts, scores
sets         the same from the catalog with Python sets: every pair of columns, larger ones only
duckdb       the same from the catalog in SQL: join on the hash, count by pair of columns
desbordante  the same from CSV files, with SPIDER of desbordante (where it is installed)
jar          read both columns again for every pair; a sample of pairs, extrapolated
one          add a table: its place in the index and its inclusions with all others, both ways
settled      the default evidence after that, from the pairs that were counted before
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

HERE = Path(__file__).resolve()
sys.path.insert(0, str(HERE.parent.parent))

from benchmarks.join_baselines import desbordante, duckdb, jar, sets  # noqa: E402
from benchmarks.join_lakes import LAKES, Lake, file_name, generate, link, opened, summed  # noqa: E402
from benchmarks.profiling import cpu_seconds, peak_megabytes  # noqa: E402

from benchmarks import profiling  # noqa: E402 - a script sees its own folder only
from dovetail.catalog.reader import CatalogReader  # noqa: E402 - after the path is set

if TYPE_CHECKING:
    from dovetail.joins import column_arrays as joins
    from dovetail.ports import Listing, Source

MOST_COLUMNS = 10_010  # with which the slow ways are tried, and counts held against a rebuild


def lower_bound(lake: Lake) -> dict[str, Any]:
    """Decode every cell into Arrow and hash it once."""
    from dovetail.hashing import Comparison, drop_missing, hash_values
    from dovetail.plugins import open_source
    from dovetail.sources.resolve import expand, root

    cells = 0
    for spec in expand(root(str(lake.path / "lake"), Path.cwd())):
        with closing(open_source(spec)) as source:
            for listing in source.tables():
                for array in _arrays(source, listing):
                    values, _ = drop_missing(array, Comparison.COERCED)
                    hash_values(values, Comparison.COERCED)
                    cells += len(array)
    return {"cells": cells}


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
    found = scoring("paper").run(opened(lake), None, None)
    scored = cpu_seconds() - started
    return {"cpu": indexed + scored, "profile": indexed, "table_pairs": len(found.score)}


def values(lake: Lake) -> dict[str, Any]:
    """Index all values."""
    from dovetail.joins.value_index.postings import Postings
    from dovetail.joins.value_index.segment_store import FOLDER as INDEX

    catalog = CatalogReader.open(lake.path / "catalog")
    rmtree(catalog.path / INDEX, ignore_errors=True)
    started = cpu_seconds()
    Postings.of(catalog, compact=True)
    return {"cpu": cpu_seconds() - started}


def evidence(lake: Lake) -> dict[str, Any]:
    """The default evidence, up to its scores: what is read again of rows is not in it."""
    from dovetail.joins.scoring.foreign_key import score_foreign_keys
    from dovetail.joins.value_index.postings import Postings

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
    from dovetail.joins.inclusion.exact import pairs_of_fresh
    from dovetail.joins.value_index.postings import Postings

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
    """Add a table, and score_jointly all evidence again from what was kept."""
    from dovetail.joins.scoring.foreign_key import score_foreign_keys
    from dovetail.joins.snapshot import Snapshot, table_versions
    from dovetail.joins.value_index.postings import Postings

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


OURS: dict[str, Callable[[Lake], dict[str, Any]]] = {
    step.__name__: step for step in (lower_bound, whole, inclusion, values, evidence)
}
BASELINES: dict[str, Callable[[Lake], dict[str, Any]]] = {
    step.__name__: step for step in (sets, duckdb, desbordante)
}
STEPS: dict[str, Callable[[Lake], dict[str, Any]]] = {
    **OURS,
    **BASELINES,
    **{step.__name__: step for step in (jar, one, settled)},
}


def measure(lake: Lake, step: str, limit: int) -> dict[str, Any]:
    """IndexSegment one step in a process of its own."""
    if step in BASELINES and lake.tables * lake.columns > MOST_COLUMNS:
        return {"note": "not tried above 10,000 columns"}
    if lake.name == "pool" and step in ("desbordante", "jar", "one", "settled"):
        return {"note": "for generated lakes only"}
    command = [sys.executable, str(HERE), "--step", step, "--lakes", lake.name]
    done = subprocess.run(
        [*command, "--limit", str(limit)], stdout=subprocess.PIPE, text=True, check=False
    )
    if done.returncode == 0:
        result: dict[str, Any] = json.loads(done.stdout)
        return result
    if step in OURS:
        raise SystemExit(f"{lake.name}: {step} failed")
    return {"note": f"given up: {limit} CPU seconds, or memory"}


def run_step(lake: Lake, step: str, limit: int) -> None:
    """In the process of a step: do it, and print what it took."""
    import duckdb  # noqa: F401 - loaded before the clock starts, in every step

    pa.array([1]).to_numpy()  # which has pyarrow load pandas, where it is installed
    if step in BASELINES:
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
    started, wall = cpu_seconds(), time.perf_counter()
    result = STEPS[step](lake)
    if "note" not in result:
        result.setdefault("cpu", cpu_seconds() - started)
    result |= {"wall": time.perf_counter() - wall, "peak_mb": peak_megabytes()}
    print(json.dumps(result))


def agree(lake: Lake, results: dict[str, dict[str, Any]]) -> None:
    """Whoever found the pairs found the same ones."""
    found = {step: (r["pairs"], r["checksum"]) for step, r in results.items() if "pairs" in r}
    if len(set(found.values())) > 1:
        raise SystemExit(f"{lake.name}: the steps do not agree: {found}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--lakes", default="s1,s2,s3", help=f"of {', '.join(LAKES)}; s4 is 1e9 cells"
    )
    parser.add_argument("--pool", type=Path, help="a folder with SQLite files: one more lake")
    parser.add_argument(
        "--steps", help="only these; lower_bound, whole and inclusion are needed to print"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--limit", type=int, default=600, help="CPU seconds for a baseline")
    parser.add_argument("--step", choices=STEPS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    lakes = [LAKES[name] for name in options.lakes.split(",")]
    # A step had another name before.
    asked = options.steps.replace("floor", "lower_bound") if options.steps else ",".join(STEPS)
    steps = asked.split(",")
    if options.pool:
        link(options.pool)
        lakes.append(LAKES["pool"])
    if options.step:
        run_step(lakes[0], options.step, options.limit)
        return
    results: dict[str, dict[str, dict[str, Any]]] = {}
    for lake in lakes:
        generate(lake)
        results[lake.name] = {}
        for step in steps:
            results[lake.name][step] = measure(lake, step, options.limit)
            print(lake.name, step, results[lake.name][step], file=sys.stderr, flush=True)
        agree(lake, results[lake.name])
        if not options.json:
            report(lake, results[lake.name])
    if options.json:
        print(json.dumps(results, indent=1))


def report(lake: Lake, result: dict[str, dict[str, Any]]) -> None:
    """Print a lake's figures as a table with ratios."""
    base, alone = result["lower_bound"]["cpu"], result["inclusion"]["cpu"]
    every = result["whole"]["cpu"]
    print(
        f"\n{lake.name}: {lake.tables:,} tables, {lake.tables * lake.columns:,} columns, ", end=""
    )
    print(f"{lake.cells:.0e} cells, {result['inclusion']['pairs']:,} pairs\n")
    print(
        "| step | CPU s | of lower bound | of inclusion | of whole | peak MB | pairs, checksum | |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for step, row in result.items():
        figures = ["", "", "", "", ""]
        if "cpu" in row:
            cpu = row["cpu"]
            ratios = [f"{cpu / part:,.2f}" for part in (base, alone, every)]
            figures = [f"{cpu:,.2f}", *ratios, f"{row['peak_mb']:,.0f}"]
        same = "the same" if "pairs" in row else ""
        print(f"| {step} | {' | '.join(figures)} | {same} | {row.get('note', '')} |", flush=True)


if __name__ == "__main__":
    main()
