"""How fast is finding every inclusion? Beside the floor and four other ways, in one run.

    python benchmarks/joins.py [--lakes s1,s2] [--pool FOLDER] [--steps floor,whole] [--json]

Lakes of Parquet files are generated from a seed below .bench/ and kept there. Every figure is CPU
seconds (of the process and its children); each step runs in a process of its own, so that peak
memory is its own, and is given up after --limit CPU seconds.

--pool takes a folder of SQLite files, at any depth, as one more lake.

floor        decode every cell with DuckDB into Arrow and hash it once, and nothing else
whole        profile into a fresh catalog, all inclusions, and the best score of every two tables
inclusion    all inclusions, from the catalog
values       the index from values to columns, from the catalog
evidence     the default evidence, from the catalog and that index: candidates, counts, settling
sets         the same from the catalog with Python sets: every pair of columns, larger ones only
duckdb       the same from the catalog in SQL: join on the hash, count by pair of columns
desbordante  the same from CSV files, with SPIDER of desbordante (where it is installed)
jar          read both columns again for every pair; a sample of pairs, extrapolated
one          add a table: its place in the index and its inclusions with all others, both ways
settled      the default evidence after that, from what was kept
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

HERE = Path(__file__).resolve()
sys.path.insert(0, str(HERE.parent.parent))

from benchmarks import profiling  # noqa: E402 - a script sees its own folder only
from benchmarks.profiling import cpu_seconds, peak_megabytes  # noqa: E402

from dovetail.catalog.reader import Catalog  # noqa: E402 - after the path is set

if TYPE_CHECKING:
    from dovetail.joins import lake as joins
    from dovetail.ports import Listing, Source

FOLDER = HERE.parent.parent / ".bench" / "joins"
SAMPLE = 200
MOST_COLUMNS = 10_010  # with which the slow ways are tried, and counts held against a rebuild
Block = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]


class Lake(profiling.Lake):
    """A folder of tables; `rows` is how many a table has on average."""

    @property
    def path(self) -> Path:
        return FOLDER / self.name

    def sizes(self, seed: int) -> npt.NDArray[np.int64]:
        """The rows of each table, and of one more."""
        spread = np.random.default_rng(seed).lognormal(-0.32, 0.8, self.tables + 1)
        return np.maximum(20, self.rows * spread).astype(np.int64)


LAKES = {
    "s1": Lake("s1", tables=100, columns=10, rows=1_000),
    "s2": Lake("s2", tables=1_000, columns=10, rows=1_000),
    "s3": Lake("s3", tables=2_500, columns=20, rows=2_000),
    "s4": Lake("s4", tables=5_000, columns=20, rows=10_000),
    "pool": Lake("pool", tables=0, columns=0, rows=0),
}


def link(folder: Path) -> None:
    """Make the SQLite files below a folder the lake called pool."""
    lake = LAKES["pool"]
    rmtree(lake.path, ignore_errors=True)
    (lake.path / "lake").mkdir(parents=True)
    for file in sorted(folder.rglob("*.sqlite")):
        (lake.path / "lake" / file.name).symlink_to(file.resolve())
    (lake.path / "complete").touch()


def floor(lake: Lake) -> dict[str, Any]:
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


def generate(lake: Lake, seed: int = 1) -> None:
    """Write the lake, the table that is added later, and what others read: CSV files."""
    if (lake.path / "complete").exists():
        return
    rmtree(lake.path, ignore_errors=True)
    (lake.path / "lake").mkdir(parents=True)
    sizes = lake.sizes(seed)
    for number in range(lake.tables):
        table = _table(lake, number, sizes, seed)
        pq.write_table(table, lake.path / "lake" / _file(number))
    pq.write_table(_table(lake, lake.tables, sizes, seed), lake.path / _file(lake.tables))
    (lake.path / "complete").touch()


def _file(number: int) -> str:
    return f"{number:05d}_{_word(number)}.parquet"


def _table(lake: Lake, number: int, sizes: npt.NDArray[np.int64], seed: int) -> pa.Table:
    """Kinds of columns repeat after ten; every table has a key, references are named after theirs.

    As text and as values the same cells are equal (no 1 beside 1.0), so that what compares text
    finds the same pairs.
    """
    random = np.random.default_rng([seed, number])
    rows = int(sizes[number])
    # Every tenth of the tables shares its sparse ids and its codes.
    domain = np.random.default_rng([seed, number % max(lake.tables // 10, 1), lake.tables])
    ids = np.unique(domain.integers(1 << 30, 1 << 50, 2 * lake.rows))
    prefix = "".join(domain.choice(list("ABCDEFGHJK"), 3))

    def some(pool: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Half of the tables hold a part of the pool, each value once; half repeat values."""
        if random.random() < 0.5:
            return np.resize(random.permutation(pool)[: min(rows, len(pool))], rows)
        return random.choice(pool[: random.integers(10, len(pool))], rows)

    def column(position: int) -> pa.Array:
        kinds: list[Callable[[], Any]] = [
            lambda: np.arange(1, rows + 1) if position == 0 else random.permutation(rows) + 1,
            lambda: random.integers(1, sizes[other[position]] + 1, rows),
            lambda: some(ids),
            lambda: _text(prefix, some(np.arange(1000, 1000 + lake.rows))),
            lambda: _text("kind ", random.integers(0, random.integers(2, 60), rows)),
            lambda: np.datetime64("2020-01-01") + random.integers(0, 2_000, rows).astype("m8[D]"),
            lambda: random.integers(0, 10_000, rows) + random.integers(1, 100, rows) / 100,
            lambda: random.normal(size=rows),
            lambda: _text("note ", random.integers(0, 1 << 50, rows)),
            lambda: random.integers(1, random.integers(3, 120), rows),
        ]
        missing = random.random(rows) < 0.05 if position % 10 in (4, 6, 8) else None
        values = kinds[position % 10]()
        if missing is None:
            return pa.array(values)
        return pc.if_else(pa.array(missing), None, pa.array(values))

    other = random.integers(0, lake.tables, lake.columns)
    shared = _word(number % max(lake.tables // 10, 1) + 4_000)
    names = [
        (
            f"{_word(number)}_id" if place == 0 else f"{_word(number)}_no{place}",
            f"{_word(int(other[place]))}_id{place}",
            f"{shared}_key{place}",
            f"{shared}_code{place}",
            *(f"{kind}{place}" for kind in ("kind", "day", "price", "score", "note", "rank")),
        )[place % 10]
        for place in range(lake.columns)
    ]
    return pa.table([column(place) for place in range(lake.columns)], names=names)


def _word(number: int) -> str:
    """A made-up noun of six letters, another for every number up to 8,000."""
    ends = [first + second for first in "bdfgklmnpr" for second in "ao"]
    return "".join(ends[number // 20**place % 20] for place in range(3))


def _text(prefix: str, numbers: npt.NDArray[Any]) -> pa.Array:
    return pc.binary_join_element_wise(prefix, pa.array(numbers).cast(pa.string()), "")


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


def _opened(lake: Lake) -> joins.Lake:
    from dovetail.joins.lake import Lake as Columns

    return Columns.of(Catalog.open(lake.path / "catalog"))


def _summed(blocks: Iterable[Block]) -> dict[str, Any]:
    """How many pairs there are, and a sum over them that no two lists are likely to share."""
    from dovetail.hashing import mix

    count, total = 0, np.uint64(0)
    with np.errstate(over="ignore"):
        for inner, outer in blocks:
            count += len(inner)
            hashed = mix((inner.astype(np.uint64) << np.uint64(32)) | outer.astype(np.uint64))
            total += hashed.sum(dtype=np.uint64)
    return {"pairs": count, "checksum": f"{int(total):016x}"}


def _valid(columns: joins.Lake, inner: Iterable[int], outer: Iterable[int]) -> Block:
    """Of some pairs those of two tables with a unique column."""
    left, right = np.fromiter(inner, np.int64), np.fromiter(outer, np.int64)
    kept = columns.table[left] != columns.table[right]
    kept &= columns.unique[left] | columns.unique[right]
    return left[kept], right[kept]


def inclusion(lake: Lake) -> dict[str, Any]:
    """All inclusions from the catalog."""
    return inclusion_of(_opened(lake))


def inclusion_of(columns: joins.Lake) -> dict[str, Any]:
    from dovetail.joins.inclusion import pairs

    return _summed(pairs(columns))


def whole(lake: Lake) -> dict[str, Any]:
    """Build the catalog from nothing, find all inclusions, and score every two tables by them."""
    from dovetail.joins.scoring import scoring

    indexed = profiling.profile(lake)["cpu"]
    started = cpu_seconds()
    found = scoring("paper").run(_opened(lake), None, None)
    scored = cpu_seconds() - started
    return {"cpu": indexed + scored, "profile": indexed, "table_pairs": len(found.score)}


def values(lake: Lake) -> dict[str, Any]:
    """Index all values."""
    from dovetail.joins.postings import Postings
    from dovetail.joins.store import FOLDER as INDEX

    catalog = Catalog.open(lake.path / "catalog")
    rmtree(catalog.path / INDEX, ignore_errors=True)
    started = cpu_seconds()
    Postings.of(catalog, tidy=True)
    return {"cpu": cpu_seconds() - started}


def evidence(lake: Lake) -> dict[str, Any]:
    """The default evidence, up to its scores: what is read again of rows is not in it."""
    from dovetail.joins import keylike
    from dovetail.joins.postings import Postings

    postings = Postings.of(Catalog.open(lake.path / "catalog"))
    started = cpu_seconds()
    edges, kept = keylike.keylike(_opened(lake), postings=postings)
    return {
        "cpu": cpu_seconds() - started,
        "edges": len(edges.score),
        "counted": len(kept.counted),
    }


def sets(lake: Lake) -> dict[str, Any]:
    """Every column against every other at least as large."""
    columns = _opened(lake)
    values = [set(vector.tolist()) for vector in columns.vectors]
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
    return _summed([_valid(columns, inner, outer)])


def duckdb(lake: Lake) -> dict[str, Any]:
    """One table of columns and hashes, joined with itself."""
    import duckdb as engine

    columns = _opened(lake)
    held = pa.table(
        {
            "place": np.repeat(np.arange(len(columns)), columns.distinct),
            "hash": np.concatenate(columns.vectors),
        }
    )
    about = pa.table(
        {
            "place": np.arange(len(columns)),
            "lake": columns.table,
            "size": columns.distinct,
            "key": columns.unique,
        }
    )
    with engine.connect(config={"memory_limit": "8GB", "threads": "2"}) as connection:
        connection.register("given", held)
        connection.register("about", about)
        connection.execute(
            "CREATE TABLE held AS SELECT place, hash, lake, size, key "
            "FROM given JOIN about USING (place)"
        )
        found = connection.execute(
            "SELECT a.place, b.place FROM held a JOIN held b "
            "ON a.hash = b.hash AND a.lake <> b.lake AND a.size <= b.size AND (a.key OR b.key) "
            "GROUP BY a.place, b.place, a.size HAVING count(*) = a.size"
        ).fetchnumpy()
        inner, outer = found.values()
    return _summed([(np.asarray(inner), np.asarray(outer))])


def desbordante(lake: Lake) -> dict[str, Any]:
    """SPIDER over the CSV files: all unary inclusions, then those that count."""
    try:
        import desbordante as rival  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        return {"note": "not installed: pip install desbordante (none for Linux on ARM)"}
    files = export(lake)
    columns = _opened(lake)
    started = cpu_seconds()
    spider = rival.ind.algorithms.Spider()
    spider.load_data(tables=[(str(file), ",", True) for file in files])
    spider.execute()
    sides = [(found.get_lhs(), found.get_rhs()) for found in spider.get_inds()]
    cpu = cpu_seconds() - started
    inner, outer = (
        [side.table_index * lake.columns + side.column_indices[0] for side in half]
        for half in zip(*sides, strict=True)
    )
    return _summed([_valid(columns, inner, outer)]) | {"cpu": cpu}


def jar(lake: Lake) -> dict[str, Any]:
    """Some pairs of columns as the published loop takes them: read both, build sets, compare."""
    random = np.random.default_rng(0)
    started, found = cpu_seconds(), 0
    for _ in range(SAMPLE):
        tables = random.choice(lake.tables, 2, replace=False)
        values = []
        for table in tables:
            path = lake.path / "lake" / _file(table)
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


def one(lake: Lake) -> dict[str, Any]:
    """Add a table, and find its inclusions with all others; where that is quick, against all."""
    from dovetail.joins.inclusion import pairs_of
    from dovetail.joins.postings import Postings

    with _added(lake) as (catalog, read):
        started = cpu_seconds()
        postings = Postings.of(catalog, tidy=True)
        indexed = cpu_seconds() - started
        columns = _opened(lake)
        fresh = np.array([_file(lake.tables).startswith(table.name) for table in columns.ids])
        started = cpu_seconds()
        found = _summed(pairs_of(columns, postings, fresh))
        cpu = cpu_seconds() - started
        if len(columns) <= MOST_COLUMNS:
            rest = columns.take([not new for new in fresh])
            total, before = (inclusion_of(part)["pairs"] for part in (columns, rest))
            if found["pairs"] != total - before:
                raise SystemExit(f"{lake.name}: {found['pairs']} added, {total - before} expected")
    note = f"beyond {read['cpu']:.2f} s of reading it and {indexed:.3f} s of indexing its values"
    return {"cpu": cpu, "added": found["pairs"], "note": note}


def settled(lake: Lake) -> dict[str, Any]:
    """Add a table, and settle all evidence again from what was kept."""
    from dovetail.joins import keylike
    from dovetail.joins.past import Past, tables_of
    from dovetail.joins.postings import Postings

    catalog = Catalog.open(lake.path / "catalog")
    _, kept = keylike.keylike(_opened(lake), postings=Postings.of(catalog))
    past = Past(tables_of(catalog), (), kept)
    with _added(lake) as (catalog, _):
        postings = Postings.of(catalog, tidy=True)
        started = cpu_seconds()
        edges, _ = keylike.keylike(
            _opened(lake), postings=postings, kept=past.kept_for(tables_of(catalog))
        )
        cpu = cpu_seconds() - started
    return {"cpu": cpu, "edges": len(edges.score)}


@contextmanager
def _added(lake: Lake) -> Iterator[tuple[Catalog, dict[str, Any]]]:
    """The catalog with one table more, and what reading it took; as it was afterwards."""
    added = lake.path / "lake" / _file(lake.tables)
    added.write_bytes((lake.path / added.name).read_bytes())
    try:
        read = profiling.again(lake)
        yield Catalog.open(lake.path / "catalog"), read
    finally:
        added.unlink()
        profiling.again(lake)


OURS: dict[str, Callable[[Lake], dict[str, Any]]] = {
    step.__name__: step for step in (floor, whole, inclusion, values, evidence)
}
RIVALS: dict[str, Callable[[Lake], dict[str, Any]]] = {
    step.__name__: step for step in (sets, duckdb, desbordante)
}
STEPS: dict[str, Callable[[Lake], dict[str, Any]]] = {
    **OURS,
    **RIVALS,
    **{step.__name__: step for step in (jar, one, settled)},
}


def measure(lake: Lake, step: str, limit: int) -> dict[str, Any]:
    """Run one step in a process of its own."""
    if step in RIVALS and lake.tables * lake.columns > MOST_COLUMNS:
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

    if step in RIVALS:
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
        "--steps", help="only these; floor, whole and inclusion are needed to print"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--limit", type=int, default=600, help="CPU seconds for another's step")
    parser.add_argument("--step", choices=STEPS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    lakes = [LAKES[name] for name in options.lakes.split(",")]
    steps = options.steps.split(",") if options.steps else list(STEPS)
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
    base, alone = result["floor"]["cpu"], result["inclusion"]["cpu"]
    every = result["whole"]["cpu"]
    print(
        f"\n{lake.name}: {lake.tables:,} tables, {lake.tables * lake.columns:,} columns, ", end=""
    )
    print(f"{lake.cells:.0e} cells, {result['inclusion']['pairs']:,} pairs\n")
    print("| step | CPU s | of floor | of inclusion | of whole | peak MB | pairs, checksum | |")
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
