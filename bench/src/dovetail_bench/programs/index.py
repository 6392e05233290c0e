"""What does indexing cost per column, stage by stage? With all tables in one SQLite file.

    dovetail bench run index [--lakes 10k,spider2] [--stages profile,joins,search] [--json]

Lakes of tiny tables (20 columns, five rows) are generated from a seed below .bench/ and kept there;
spider2 (5,105 tables, 193,113 columns) is taken from .bench/data where `make bench-data` unpacked
it, or from the file that --spider2 names. systems-200k, systems-2m and the like are tables of ten
rows with everyday names and keys, a thousand to a file (`small_tables.py`). Every lake is indexed
in a process of its own, so that peak memory is its own. CPU seconds count all processes. A cost
that does not depend on how many other tables there are is the same per column in every lake.

lower_bound   every cell decoded and hashed once, and nothing else; the stages are told in times it
profile       tables listed, read and profiled, the catalog written
joins         join evidence
embeddings    tables and headers embedded
search_index  the search index made and written
again         the whole update once more with nothing changed

--server URL names a PostgreSQL, MariaDB or MySQL server on which a database of --server-tables
tables is made, indexed and dropped: a schema like SAP's (`server_tables.py`).
"""

from __future__ import annotations

import argparse
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from dovetail.ports import Listing, Source
from dovetail_bench.programs import server_tables, small_tables
from dovetail_bench.programs.memory import PeakMemory

HERE = Path(__file__).resolve()
BENCH = HERE.parents[4] / ".bench"
SPIDER2 = BENCH / "data" / "spider2" / "databases" / "snowflake" / "snowflake.sqlite"
COLUMNS, ROWS = 20, 5
# The synthetic lakes, by the number of their tables.
LAKES = {"1k": 50, "10k": 500, "50k": 2_500, "200k": 10_000}
# The same of small tables in many files, whose names and keys are as companies have them.
SYSTEMS = {
    "systems-10k": 500,
    "systems-50k": 2_500,
    "systems-200k": 10_000,
    "systems-2m": 100_000,
}
STAGES = ("profile", "joins", "search")


def generate(name: str, seed: int = 1) -> Path:
    """Write a lake: keys, references, numbers, codes, words and dates, as SQLite declares them."""
    if name in SYSTEMS:
        small_tables.generate(BENCH / "index" / name, SYSTEMS[name], seed)
        return BENCH / "index" / name / "lake"
    path = BENCH / "index" / f"{name}.sqlite"
    if path.exists():
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(seed)
    syllables = np.array(["ka", "ro", "mi", "ten", "sul", "vor", "ne", "phi", "dra", "qu"])
    words = np.array(["".join(random.choice(syllables, 3)) for _ in range(2_000)])
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        unfinished = Path(folder) / path.name
        with closing(sqlite3.connect(unfinished)) as connection:
            connection.execute("PRAGMA synchronous = off")
            for number in range(LAKES[name]):
                _add_table(connection, number, words, random)
            connection.commit()
        unfinished.rename(path)
    return path


def _add_table(
    connection: sqlite3.Connection, number: int, words: Any, random: np.random.Generator
) -> None:
    table = f"{words[number % len(words)]}_{number}"
    headers = [f"{words[i]}_{i}" for i in random.choice(len(words), COLUMNS, replace=False)]
    columns = [_column(place, number, words, random) for place in range(COLUMNS)]
    declared = ", ".join(
        f'"{header}" {kind}' for header, (kind, _) in zip(headers, columns, strict=True)
    )
    connection.execute(f'CREATE TABLE "{table}" ({declared})')
    marks = ", ".join("?" * COLUMNS)
    rows = zip(*(values for _, values in columns), strict=True)
    connection.executemany(f'INSERT INTO "{table}" VALUES ({marks})', rows)


def _column(
    place: int, number: int, words: Any, random: np.random.Generator
) -> tuple[str, list[Any]]:
    if place % 5 == 0:
        return "INTEGER", [number * ROWS + row for row in range(ROWS)]
    if place % 5 == 1:
        return "BIGINT", random.integers(0, 1_000, ROWS).tolist()
    if place % 5 == 2:
        return "REAL", np.round(random.random(ROWS) * 1e4, 2).tolist()
    if place % 5 == 3:
        return "TEXT", random.choice(words, ROWS).tolist()
    days = random.integers(1, 29, ROWS).tolist()
    return "TEXT", [None if day % 7 == 0 else f"2024-02-{day:02d}" for day in days]


def index(path: Path | str, stages: list[str]) -> dict[str, Any]:
    """Index one file into a new catalog, then once more with nothing changed."""
    import dovetail
    from dovetail.settings import Settings

    with tempfile.TemporaryDirectory(prefix="dovetail-") as folder:

        def update() -> Any:
            return dovetail.update(
                [str(path)],
                into=Path(folder) / "catalog",
                settings=Settings() if "search" in stages else Settings(embedder="none"),
            )

        with PeakMemory() as peak:
            summary = update()
        began, spent = time.perf_counter(), sum(os.times()[:4])
        update()
        again = {"seconds": time.perf_counter() - began, "cpu": sum(os.times()[:4]) - spent}
        columns = summary.catalog.records.columns.num_rows
        times = {
            stage.stage: {"seconds": stage.seconds, "cpu": stage.cpu_seconds}
            for stage in summary.stages
        }
        bound = {"lower_bound": _lower_bound(path)} if isinstance(path, Path) else {}
        return {
            "tables": len(summary.catalog),
            "columns": columns,
            "skipped": len(summary.skipped),
            "peak_mb": peak.megabytes,
            "own_mb": peak.own_megabytes,
            "stages": {**bound, **times, "again": again},
        }


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


def _lower_bound(path: Path) -> dict[str, float]:
    began, spent = time.perf_counter(), sum(os.times()[:4])
    hash_every_cell(path)
    return {"seconds": time.perf_counter() - began, "cpu": sum(os.times()[:4]) - spent}


def index_server(url: str, tables: int) -> dict[str, Any]:
    """Make the tables in a database of their own, list them, and profile them."""
    from dovetail.plugins import open_source
    from dovetail.sources.resolve import root

    with server_tables.database(url, tables) as own:
        began, spent = time.perf_counter(), sum(os.times()[:4])
        source: Any = open_source(root(own, Path.cwd()))  # of a server, so that it declares keys
        with closing(source):
            source.declarations(source.tables())
        listing = {"seconds": time.perf_counter() - began, "cpu": sum(os.times()[:4]) - spent}
        result = index(own, ["profile"])
        result["stages"] = {"listing": listing, **result["stages"]}
        return result


def measure(path: Path, stages: str) -> dict[str, Any]:
    """Index a file in a process of its own."""
    command = [
        sys.executable,
        "-m",
        "dovetail_bench.programs.index",
        "--file",
        str(path),
        "--stages",
        stages,
    ]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def report(name: str, result: dict[str, Any]) -> None:
    """Print a lake's figures."""
    print(
        f"{name}: {result['tables']:,} tables, {result['columns']:,} columns, "
        f"peak {result['peak_mb']:,.0f} MB, {result['own_mb']:,.0f} of it not mapped from files"
    )
    bound = result["stages"].get("lower_bound", {}).get("cpu")
    for stage, took in result["stages"].items():
        times = f"{took['cpu'] / bound:9.1f} times the lower bound" if bound else ""
        per_column = 1e6 * took["cpu"] / max(result["columns"], 1)
        per_table = 1e3 * took["seconds"] / max(result["tables"], 1)
        print(
            f"  {stage:<14}{took['seconds']:9.1f} s{took['cpu']:9.1f} CPU s"
            f"{per_column:9.0f} µs per column{per_table:9.2f} ms per table{times}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--lakes", default="10k,50k,200k,spider2", help=f"of {', '.join([*LAKES, *SYSTEMS])}"
    )
    parser.add_argument("--stages", default=",".join(STAGES), help="profile comes first, always")
    parser.add_argument("--spider2", type=Path, default=SPIDER2, help="that corpus as one file")
    parser.add_argument("--server", metavar="URL", help="index a server, nothing else")
    parser.add_argument("--server-tables", type=int, default=5_000, help="its tables: 80000 as SAP")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.file:
        print(json.dumps(index(options.file, options.stages.split(","))))
        return
    if options.server:
        found = index_server(options.server, options.server_tables)
        if options.json:
            print(json.dumps(found, indent=1))
        else:
            report("server", found)
        return
    results = {}
    for name in options.lakes.split(","):
        if name == "spider2" and not options.spider2.exists():
            print(f"spider2 is left out: no {options.spider2}; see make bench-data")
            continue
        path = options.spider2 if name == "spider2" else generate(name)
        results[name] = measure(path, options.stages)
        if not options.json:
            report(name, results[name])
    if options.json:
        print(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
