"""Baselines that find every inclusion of a lake: Python sets, SQL, SPIDER, and JAR's loop."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dovetail_bench.programs.join_lakes import Block, Lake, file_name, opened, summed
from dovetail_bench.programs.profiling import cpu_seconds

if TYPE_CHECKING:
    from dovetail.joins import column_arrays as joins

SAMPLE = 200


def sets(lake: Lake) -> dict[str, Any]:
    """Every column against every other at least as large."""
    columns = opened(lake)
    values = [set(hashes.tolist()) for hashes in columns.value_hashes]
    order = sorted(
        (place for place, held in enumerate(values) if held), key=lambda p: len(values[p])
    )
    inner: list[int] = []
    outer: list[int] = []
    first = 0
    for place in order:
        mine = values[place]
        while len(values[order[first]]) < len(mine):
            first += 1
        found = [other for other in order[first:] if mine <= values[other]]
        inner += [place] * len(found)
        outer += found
    return summed([valid(columns, inner, outer)])


def duckdb(lake: Lake) -> dict[str, Any]:
    """One table of columns and hashes, joined with itself."""
    import duckdb as engine

    columns = opened(lake)
    held = pa.table(
        {
            "place": np.repeat(np.arange(len(columns)), columns.distinct),
            "hash": np.concatenate(columns.value_hashes),
        }
    )
    about = pa.table(
        {
            "place": np.arange(len(columns)),
            "tab": columns.table,
            "size": columns.distinct,
            "key": columns.unique,
        }
    )
    with engine.connect(config={"memory_limit": "8GB", "threads": "2"}) as connection:
        connection.register("given", held)
        connection.register("about", about)
        connection.execute(
            "CREATE TABLE held AS SELECT place, hash, tab, size, key "
            "FROM given JOIN about USING (place)"
        )
        found = connection.execute(
            "SELECT a.place, b.place FROM held a JOIN held b "
            "ON a.hash = b.hash AND a.tab <> b.tab AND a.size <= b.size AND (a.key OR b.key) "
            "GROUP BY a.place, b.place, a.size HAVING count(*) = a.size"
        ).fetchnumpy()
        inner, outer = found.values()
    return summed([(np.asarray(inner), np.asarray(outer))])


def desbordante(lake: Lake) -> dict[str, Any]:
    """SPIDER over the CSV files: all unary inclusion dependencies, then those that count."""
    try:
        import desbordante as other  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        return {"note": "not installed: pip install desbordante (none for Linux on ARM)"}
    files = export(lake)
    columns = opened(lake)
    started = cpu_seconds()
    spider = other.ind.algorithms.Spider()
    spider.load_data(tables=[(str(file), ",", True) for file in files])
    spider.execute()
    sides = [(found.get_lhs(), found.get_rhs()) for found in spider.get_inds()]
    cpu = cpu_seconds() - started
    inner, outer = (
        [side.table_index * lake.columns + side.column_indices[0] for side in half]
        for half in zip(*sides, strict=True)
    )
    return summed([valid(columns, inner, outer)]) | {"cpu": cpu}


def jar(lake: Lake) -> dict[str, Any]:
    """Some pairs of columns as the published loop takes them: read both, build sets, compare."""
    random = np.random.default_rng(0)
    started, found = cpu_seconds(), 0
    for _ in range(SAMPLE):
        tables = random.choice(lake.tables, 2, replace=False)
        values = []
        for table in tables:
            path = lake.path / "lake" / file_name(table)
            name = pq.read_schema(path).names[random.integers(lake.columns)]
            values.append(set(pq.read_table(path, columns=[name])[name].drop_null().to_pylist()))
        left, right = values
        found += left <= right or right <= left
    each = (cpu_seconds() - started) / SAMPLE
    count = lake.tables * (lake.tables - 1) // 2 * lake.columns**2
    return {
        "cpu": each * count,
        "found": found,
        "note": f"extrapolated from {SAMPLE} pairs to {count:,}",
    }


def export(lake: Lake) -> list[Path]:
    """The lake as CSV files, written once."""
    import pyarrow.csv

    folder = lake.path / "csv"
    folder.mkdir(exist_ok=True)
    files = []
    for source in sorted((lake.path / "lake").iterdir()):
        files.append(folder / f"{source.stem}.csv")
        if not files[-1].exists():
            pyarrow.csv.write_csv(pq.read_table(source), files[-1])
    return files


def valid(columns: joins.ColumnArrays, inner: Iterable[int], outer: Iterable[int]) -> Block:
    """Of some pairs those of two tables with a unique column."""
    left, right = np.fromiter(inner, np.int64), np.fromiter(outer, np.int64)
    kept = columns.table[left] != columns.table[right]
    kept &= columns.unique[left] | columns.unique[right]
    return left[kept], right[kept]
