"""What does indexing cost per column and per cell, stage by stage, beside its lower bound?

    dovetail bench run index [--lakes 10k,spider2,tall-1e7,csv-75] [--embedder none] [--json]

Lakes are generated (`lakes.py`), or spider2 (5,105 tables, 193,113 columns), which make bench-data
unpacks. Every lake is indexed in a process of its own, so that peak memory is its own. CPU seconds
count all processes. A cost that does not depend on how many other tables there are is the same per
column in every lake. How large the sources and the catalog are is told in MB.

lower_bound  every cell decoded and hashed once, and nothing else; the stages are told in times it
again        the whole update once more with nothing changed
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pyarrow as pa

import dovetail
from dovetail.errors import RescanError
from dovetail.hashing import drop_missing, hash_values
from dovetail.plugins import open_source
from dovetail.ports import Listing, Source
from dovetail.settings import Settings
from dovetail.sources.resolve import expand, root
from dovetail_bench.programs.lakes import CSV, SMALL, TALL, lake

Times = dict[str, float]


class PeakMemory:
    """The peak while it is entered: of all memory, and of that which is not mapped from files.

    Counted are this process and all that it started, every half second; a page that several of
    them map counts once (`Pss` of Linux).
    """

    def __init__(self) -> None:
        self.megabytes = 0.0
        self.own_megabytes = 0.0
        self._done = Event()
        self._watching = Thread(target=self._watch, daemon=True)

    def __enter__(self) -> PeakMemory:
        self._watching.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._watching.join()

    def _watch(self) -> None:
        while True:
            processes = _family(os.getpid())
            every, own = (
                sum(_kilobytes(process, kind) for process in processes) / 1024
                for kind in ("Pss:", "Pss_Anon:")
            )
            self.megabytes = max(self.megabytes, every)
            self.own_megabytes = max(self.own_megabytes, own)
            if self._done.wait(0.5):
                return


def _family(process: int) -> list[int]:
    """A process and all that it started."""
    found = [process]
    for children in Path(f"/proc/{process}/task").glob("*/children"):
        with suppress(OSError):
            for child in children.read_text().split():
                found += _family(int(child))
    return found


def _kilobytes(process: int, kind: str) -> int:
    with suppress(OSError):
        for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines():
            if line.startswith(kind):
                return int(line.split()[1])
    return 0


def cpu_seconds() -> float:
    """CPU used so far by this process and its finished children."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def index(path: Path, settings: Settings) -> dict[str, Any]:
    """Index a lake into a new catalog, then once more with nothing changed."""
    with tempfile.TemporaryDirectory(prefix="dovetail-") as folder:
        into = Path(folder) / "catalog"
        with PeakMemory() as peak:
            summary = dovetail.update([str(path)], into=into, settings=settings)
        began = _now()
        dovetail.update([str(path)], into=into, settings=settings)
        again = _elapsed(began)
        began = _now()
        cells = hash_every_cell(path)
        stages = {each.stage: _times(each.seconds, each.cpu_seconds) for each in summary.stages}
        return {
            "tables": len(summary.catalog),
            "columns": summary.catalog.reader.records.columns.num_rows,
            "cells": cells,
            "source_mb": _megabytes(path),
            "catalog_mb": _megabytes(into),
            "peak_mb": peak.megabytes,
            "own_mb": peak.own_megabytes,
            "stages": {"lower_bound": _elapsed(began), **stages, "again": again},
        }


def _megabytes(path: Path) -> float:
    """The size of a file, or of all in a folder."""
    files = [path, *path.rglob("*")]
    return sum(file.stat().st_size for file in files if file.is_file()) / 1e6


def hash_every_cell(path: Path) -> int:
    """Decode every cell of what a path holds into Arrow and hash it once; how many there are."""
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
    while True:
        try:
            for batch in source.scan(listing).batches:
                yield from batch.columns
            return
        except RescanError:
            continue


def _now() -> tuple[float, float]:
    return time.perf_counter(), cpu_seconds()


def _elapsed(began: tuple[float, float]) -> Times:
    return _times(time.perf_counter() - began[0], cpu_seconds() - began[1])


def _times(seconds: float, cpu: float) -> Times:
    return {"seconds": seconds, "cpu": cpu}


def measure(path: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Index a lake in a process of its own."""
    command = [sys.executable, "-m", "dovetail_bench.programs.index", "--path", str(path)]
    command += ["--embedder", options.embedder, "--workers", str(options.workers)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def report(name: str, result: dict[str, Any]) -> None:
    """Print a lake's figures."""
    print(
        f"{name}: {result['tables']:,} tables, {result['columns']:,} columns, "
        f"{result['cells']:,} cells, {result['source_mb']:,.0f} MB make a catalog of "
        f"{result['catalog_mb']:,.0f} MB, peak {result['peak_mb']:,.0f} MB, "
        f"{result['own_mb']:,.0f} of it not mapped from files"
    )
    bound = result["stages"]["lower_bound"]["cpu"]
    for stage, took in result["stages"].items():
        print(
            f"  {stage:<14}{took['seconds']:9.1f} s{took['cpu']:9.1f} CPU s"
            f"{1e6 * took['cpu'] / max(result['columns'], 1):9.0f} µs per column"
            f"{took['cpu'] / max(bound, 1e-9):9.1f} times the lower bound"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    there = ", ".join([*SMALL, *TALL, *CSV, "spider2"])
    parser.add_argument("--lakes", default="10k,50k,tall-1e6", help=f"of {there}")
    parser.add_argument("--embedder", default="minilm", help="none leaves embedding out")
    parser.add_argument("--workers", type=int, default=1, help="worker processes")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--path", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.path:
        settings = Settings(embedder=options.embedder, workers=options.workers)
        print(json.dumps(index(options.path, settings)))
        return
    results = {}
    for name in options.lakes.split(","):
        results[name] = measure(lake(name), options)
        if not options.json:
            report(name, results[name])
    if options.json:
        print(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
