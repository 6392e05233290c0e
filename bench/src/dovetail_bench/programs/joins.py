"""How fast is finding every inclusion dependency? Beside a lower bound and four baselines.

    dovetail bench run joins [--lakes s1,s2] [--pool FOLDER] [--steps lower_bound,whole] [--json]

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
updated      all join evidence after that, as an update makes it: with keys of several columns,
             joins through transforms and what is written
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

from dovetail_bench.programs.join_baselines import desbordante, duckdb, jar, sets
from dovetail_bench.programs.join_lakes import LAKES, Lake, generate, link
from dovetail_bench.programs.join_steps import (
    MOST_COLUMNS,
    evidence,
    inclusion,
    lower_bound,
    one,
    settled,
    updated,
    values,
    whole,
)
from dovetail_bench.programs.memory import PeakMemory
from dovetail_bench.programs.profiling import cpu_seconds

OURS: dict[str, Callable[[Lake], dict[str, Any]]] = {
    step.__name__: step for step in (lower_bound, whole, inclusion, values, evidence)
}
BASELINES: dict[str, Callable[[Lake], dict[str, Any]]] = {
    step.__name__: step for step in (sets, duckdb, desbordante)
}
STEPS: dict[str, Callable[[Lake], dict[str, Any]]] = {
    **OURS,
    **BASELINES,
    **{step.__name__: step for step in (jar, one, settled, updated)},
}


def measure(lake: Lake, step: str, limit: int) -> dict[str, Any]:
    """Run one step in a process of its own."""
    if step in BASELINES and lake.tables * lake.columns > MOST_COLUMNS:
        return {"note": "not tried above 10,000 columns"}
    if lake.name == "pool" and step in ("desbordante", "jar", "one", "settled", "updated"):
        return {"note": "for generated lakes only"}
    command = [
        sys.executable,
        "-m",
        "dovetail_bench.programs.joins",
        "--step",
        step,
        "--lakes",
        lake.name,
    ]
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
    with PeakMemory() as peak:
        result = STEPS[step](lake)
    if "note" not in result:
        result.setdefault("cpu", cpu_seconds() - started)
    result |= {
        "wall": time.perf_counter() - wall,
        "peak_mb": peak.megabytes,
        "own_mb": peak.own_megabytes,
    }
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
        "| step | CPU s | of lower bound | of inclusion | of whole | peak MB | without mapped "
        "| pairs, checksum | |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for step, row in result.items():
        figures = [""] * 6
        if "cpu" in row:
            cpu = row["cpu"]
            ratios = [f"{cpu / part:,.2f}" for part in (base, alone, every)]
            memory = [f"{row[kind]:,.0f}" for kind in ("peak_mb", "own_mb")]
            figures = [f"{cpu:,.2f}", *ratios, *memory]
        same = "the same" if "pairs" in row else ""
        print(f"| {step} | {' | '.join(figures)} | {same} | {row.get('note', '')} |", flush=True)


if __name__ == "__main__":
    main()
