"""How fast is profiling? Beside its lower bound: every cell decoded and hashed once.

    dovetail bench run profiling [--lakes small,large] [--workers 2,16] [--json]

Lakes of Parquet files are generated from a seed below .bench/ and kept there. Every figure is CPU
seconds (of the process and its children) so that a busy machine does not change it much; each
measurement runs in a process of its own, so that peak memory is its own.

lower_bound  decode every cell with DuckDB into Arrow and hash it once, and nothing else
engine       the same inside DuckDB with its own hash(): what a compiled engine needs
profile      dovetail.update into a fresh catalog: everything, including writing it
again        the same with nothing changed
one          the same after one table changed

--workers profiles once more with each number of worker processes (`workers_16` and the like).
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from dovetail_bench.programs.memory import PeakMemory

FOLDER = Path(__file__).resolve().parents[4] / ".bench" / "profiling"


@dataclass(frozen=True, slots=True)
class Lake:
    """A folder of tables: so many, each with so many columns and rows."""

    name: str
    tables: int
    columns: int
    rows: int

    @property
    def cells(self) -> int:
        return self.tables * self.columns * self.rows

    @property
    def path(self) -> Path:
        return FOLDER / self.name


LAKES = {
    "tiny": Lake("tiny", tables=100, columns=10, rows=1_000),
    "small": Lake("small", tables=1_000, columns=10, rows=1_000),
    "large": Lake("large", tables=1_000, columns=50, rows=2_000),
}


def generate(lake: Lake, seed: int = 1) -> None:
    """Write the lake: keys, references, numbers, codes, words, dates, some of them null."""
    if (lake.path / "complete").exists():
        return
    shutil.rmtree(lake.path, ignore_errors=True)
    (lake.path / "lake").mkdir(parents=True)
    random = np.random.default_rng(seed)
    syllables = np.array(["ka", "ro", "mi", "ten", "sul", "vor", "ne", "phi", "dra", "qu"])
    words = np.array(["".join(random.choice(syllables, 4)) for _ in range(20_000)])
    for number in range(lake.tables):
        columns = {
            f"c{i}": _column(i, lake.rows, number, words, random) for i in range(lake.columns)
        }
        pq.write_table(pa.table(columns), lake.path / "lake" / f"t{number:05d}.parquet")
    (lake.path / "complete").touch()


def _column(
    position: int,
    rows: int,
    table: int,
    words: npt.NDArray[np.str_],
    random: np.random.Generator,
) -> pa.Array:
    def nulls(values: npt.NDArray[Any]) -> pa.Array:
        return pa.array(values, mask=random.random(rows) < 0.05)

    kinds = [
        lambda: pa.array(np.arange(rows) + table),
        lambda: pa.array(random.integers(0, rows, rows)),
        lambda: pa.array(random.integers(0, 1 << 40, rows)),
        lambda: nulls(np.round(random.random(rows) * 1e4, 2)),
        lambda: pa.array(random.normal(size=rows)),
        lambda: pa.array(words[random.integers(0, len(words), rows)]),
        lambda: nulls(words[random.integers(0, 60, rows)]),
        lambda: pa.array([f"{table:04d}-{n:06d}" for n in random.integers(0, rows, rows)]),
        lambda: pa.array(
            np.datetime64("2020-01-01", "D") + random.integers(0, 2_000, rows).astype("m8[D]")
        ),
        lambda: pa.array(np.char.add(words[random.integers(0, 20_000, rows)], words[:rows])),
    ]
    return kinds[position % len(kinds)]()


def cpu_seconds() -> float:
    """CPU used so far by this process and its finished children."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def lower_bound(lake: Lake) -> dict[str, Any]:
    """Decode every cell into Arrow and hash it once."""
    from dovetail.hashing import drop_missing, hash_values
    from dovetail.ports import SourceSpec
    from dovetail.sources.files import FilesSource

    source = FilesSource(SourceSpec("lake", "files", str(lake.path / "lake"), "lake"))
    cells = 0
    for listing in source.tables():
        for batch in source.scan(listing).batches:
            for array in batch.columns:
                values, _ = drop_missing(array)
                hash_values(values)
                cells += len(array)
    return {"cells": cells}


def engine(lake: Lake) -> dict[str, Any]:
    """Decode and hash every cell inside DuckDB."""
    from dovetail.sources import duck

    hashes = ", ".join(f"bit_xor(hash(c{i}))" for i in range(lake.columns))
    for file in sorted((lake.path / "lake").iterdir()):
        duck.fetch(f"SELECT {hashes} FROM read_parquet({duck.literal(str(file))})")
    return {"cells": lake.cells}


def profile(lake: Lake, workers: int | None = None) -> dict[str, Any]:
    """Build the catalog from nothing."""
    shutil.rmtree(lake.path / "catalog", ignore_errors=True)
    return _update(lake, workers)


def again(lake: Lake) -> dict[str, Any]:
    """Bring it up to date with nothing to do."""
    return _update(lake)


def one(lake: Lake) -> dict[str, Any]:
    """Bring it up to date after one table lost a row."""
    file = lake.path / "lake" / "t00000.parquet"
    table = pq.read_table(file)
    pq.write_table(table.slice(1), file)
    try:
        return _update(lake)
    finally:
        pq.write_table(table, file)


def _update(lake: Lake, workers: int | None = None) -> dict[str, Any]:
    import dovetail
    from dovetail.settings import Settings

    dovetail.update  # noqa: B018 - importing is not part of the measurement
    started = cpu_seconds()
    report = dovetail.update(
        [str(lake.path / "lake")],
        into=lake.path / "catalog",
        settings=Settings(workers=workers, embedder="none"),
    )
    return {
        "cpu": cpu_seconds() - started,
        "read": len(report.added) + len(report.changed),
        "tables": len(report.catalog),
    }


_WORKERS = "workers_"
STEPS = {step.__name__: step for step in (lower_bound, engine, profile, again, one)}


def measure(lake: Lake, step: str) -> dict[str, Any]:
    """Run one step in a process of its own."""
    command = [
        sys.executable,
        "-m",
        "dovetail_bench.programs.profiling",
        "--step",
        step,
        "--lakes",
        lake.name,
    ]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def run_step(lake: Lake, step: str) -> None:
    """In the process of a step: do it, and print what it took."""
    import duckdb  # noqa: F401 - loaded before the clock starts, in every step
    import pyarrow.compute  # noqa: F401

    started, wall = cpu_seconds(), time.perf_counter()
    with PeakMemory() as peak:
        if step.startswith(_WORKERS):
            result = profile(lake, int(step.removeprefix(_WORKERS)))
        else:
            result = STEPS[step](lake)
    result.setdefault("cpu", cpu_seconds() - started)
    result |= {"wall": time.perf_counter() - wall, "peak_mb": peak.megabytes}
    print(json.dumps(result))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lakes", default="small,large", help=f"of {', '.join(LAKES)}")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--workers", help="profile with so many worker processes, too: 2,16")
    parser.add_argument("--step", help=argparse.SUPPRESS)
    options = parser.parse_args()
    lakes = [LAKES[name] for name in options.lakes.split(",")]
    if options.step:
        run_step(lakes[0], options.step)
        return
    more = [_WORKERS + count for count in options.workers.split(",")] if options.workers else []
    results = {}
    for lake in lakes:
        generate(lake)
        results[lake.name] = {step: measure(lake, step) for step in (*STEPS, *more)}
    if options.json:
        print(json.dumps(results, indent=1))
        return
    for lake in lakes:
        report(lake, results[lake.name])
    print(f"\ndovetail --help: {help_seconds():.3f} s (the quickest of five)")


def help_seconds() -> float:
    """How long the help page takes."""
    times = []
    for _ in range(5):
        started = time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "dovetail", "--help"], check=True, capture_output=True
        )
        times.append(time.perf_counter() - started)
    return min(times)


def report(lake: Lake, result: dict[str, dict[str, Any]]) -> None:
    """Print a lake's figures as a table with ratios."""
    base, whole = result["lower_bound"]["cpu"], result["profile"]["cpu"]
    print(
        f"\n{lake.name}: {lake.tables:,} tables, {lake.tables * lake.columns:,} columns, ", end=""
    )
    print(f"{lake.cells:.0e} cells")
    print("| step | CPU s | of lower bound | % of profile | peak MB | tables read |")
    print("|---|---|---|---|---|---|")
    for step, row in result.items():
        shares = f"{row['cpu'] / base:.2f} | {100 * row['cpu'] / whole:.1f}"
        rest = f"{row['peak_mb']:.0f} | {row.get('read', '')}"
        print(f"| {step} | {row['cpu']:.2f} | {shares} | {rest} |")


if __name__ == "__main__":
    main()
