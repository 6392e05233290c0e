"""Generated lakes of Parquet files for the benchmark of joins, and what all of its steps share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from dovetail.catalog.reader import CatalogReader
from dovetail_bench.programs import profiling

if TYPE_CHECKING:
    from dovetail.joins import column_arrays as joins

FOLDER = Path(__file__).resolve().parents[4] / ".bench" / "joins"
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


def generate(lake: Lake, seed: int = 1) -> None:
    """Write the lake, the table that is added later, and what others read: CSV files."""
    if (lake.path / "complete").exists():
        return
    rmtree(lake.path, ignore_errors=True)
    (lake.path / "lake").mkdir(parents=True)
    sizes = lake.sizes(seed)
    for number in range(lake.tables):
        table = _table(lake, number, sizes, seed)
        pq.write_table(table, lake.path / "lake" / file_name(number))
    pq.write_table(_table(lake, lake.tables, sizes, seed), lake.path / file_name(lake.tables))
    (lake.path / "complete").touch()


def file_name(number: int) -> str:
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


def opened(lake: Lake) -> joins.ColumnArrays:
    from dovetail.joins.column_arrays import ColumnArrays

    return ColumnArrays.of(CatalogReader.open(lake.path / "catalog"))


def summed(blocks: Iterable[Block]) -> dict[str, Any]:
    """How many pairs there are, and a sum over them that no two lists are likely to share."""
    from dovetail.hashing import mix

    count, total = 0, np.uint64(0)
    with np.errstate(over="ignore"):
        for inner, outer in blocks:
            count += len(inner)
            hashed = mix((inner.astype(np.uint64) << np.uint64(32)) | outer.astype(np.uint64))
            total += hashed.sum(dtype=np.uint64)
    return {"pairs": count, "checksum": f"{int(total):016x}"}
