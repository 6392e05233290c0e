"""What does it cost to run a query under guard, in a process? And do hanging ones do any harm?

    dovetail bench run execution [--queries 200] [--hanging 0.05] [--seconds 5] [--json]

Over the bundled sample corpus. `warm` is the time a query takes beyond its own reading and
running: guard, pipes and rows. `soak` runs many at once, some of which never end by themselves.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import dovetail
from dovetail.answer.execute import Executor
from dovetail.answer.results import Limits
from dovetail.errors import LimitError
from dovetail_bench.corpora import write_corpus

QUERY = "SELECT status, count(*) AS n FROM orders GROUP BY status ORDER BY n"
ENDLESS = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT max(n) FROM r"


def workers() -> list[int]:
    """Processes that run queries, anywhere on this machine, and their memory in bytes."""
    listed = subprocess.run(["ps", "-eo", "rss,args"], capture_output=True, text=True, check=True)
    lines = [line for line in listed.stdout.splitlines() if "dovetail.answer.worker" in line]
    return [int(line.split()[0]) << 10 for line in lines]


def warm(executor: Executor, catalog: dovetail.Catalog, engine: str) -> dict[str, float]:
    """Milliseconds of a query in a process that is up, and the part that is not the query."""
    tables = [catalog["shop.sqlite::orders"]]
    total, overhead = [], []
    for _ in range(30):
        began = time.perf_counter()
        found = executor.run(QUERY, tables, engine=engine)
        total.append((time.perf_counter() - began) * 1000)
        overhead.append((found.seconds["guard"] + found.seconds["process"]) * 1000)
    return {
        "total_ms": statistics.median(total[5:]),
        "overhead_ms": statistics.median(overhead[5:]),
        "overhead_p95_ms": sorted(overhead[5:])[-2],
    }


def soak(catalog: dovetail.Catalog, queries: int, hanging: float, seconds: float) -> dict[str, Any]:
    """Many queries at once; how they ended, how long it took, and what was left over."""
    tables = [catalog["shop.sqlite::orders"]]
    every = round(1 / hanging)
    outcomes: Counter[str] = Counter()
    most = [0]
    done = threading.Event()

    def one(number: int) -> None:
        sql = ENDLESS if number % every == 0 else QUERY
        try:
            executor.run(sql, tables, limits=Limits(seconds=seconds))
            outcomes["rows"] += 1
        except LimitError:
            outcomes["ended"] += 1

    def watch() -> None:
        while not done.wait(0.5):
            most[0] = max(most[0], sum(workers()))

    began = time.perf_counter()
    with Executor(catalog) as executor:
        threads = [threading.Thread(target=one, args=(number,)) for number in range(queries)]
        watching = threading.Thread(target=watch)
        for thread in [watching, *threads]:
            thread.start()
        for thread in threads:
            thread.join()
        done.set()
        watching.join()
    taken = time.perf_counter() - began
    left = len(workers())
    return {
        "queries": queries, **outcomes, "seconds": taken, "most_bytes": most[0], "left_over": left,
    }  # fmt: skip


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--hanging", type=float, default=0.05)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        corpus = write_corpus(Path(folder) / "corpus")
        sources = [f"{path.name}={path}" for path in corpus]
        catalog = dovetail.build(*sources, into=Path(folder) / "catalog")
        with Executor(catalog, workers=1) as executor:
            figures: dict[str, Any] = {
                engine: warm(executor, catalog, engine) for engine in ("duckdb", "sqlite")
            }
        figures["soak"] = soak(catalog, given.queries, given.hanging, given.seconds)
    if given.json:
        print(json.dumps(figures))
        return
    for name, values in figures.items():
        shown = ", ".join(f"{key} {value:,.1f}" for key, value in values.items())
        print(f"{name:8} {shown}")


if __name__ == "__main__":
    main()
