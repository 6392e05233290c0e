"""The value hashes of a catalog's columns, where passes over them are for workers to make.

In this process a column is read when it is asked for, and no pass over all of them is made: what
comes back of one is a few numbers per column, or per pair of columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast, overload

import numpy as np
import numpy.typing as npt

from dovetail.arrays import Counts, Flags, Floats, Ints, spans
from dovetail.catalog.reader import CatalogReader
from dovetail.engines.workers import Done, Workers
from dovetail.hashing import Hashes
from dovetail.joins.column_arrays import Values
from dovetail.joins.distributed.column_values import ColumnValues, about
from dovetail.joins.distributed.shared_arrays import write_shared
from dovetail.joins.value_index.row_sample import mean_nats
from dovetail.ports import Json

_TASKS = "dovetail.joins.distributed.tasks"
# Values that a job passes over, about, and columns at most. Both depend on the catalog alone.
_VALUES, _COLUMNS = 1 << 22, 1 << 13
# What a part of an index segment is made of.
PARTS = ("hashes", "times", "columns", "frequent", "bitmaps", "held_by")
# Below so many values to search, a count of pairs is done here.
_FEW = 1 << 16
# What a column or a pair costs besides its values, in values.
_EACH = 64


@dataclass(frozen=True, slots=True)
class SetFacts:
    """What workers say of each column's value set.

    `digest` are two numbers that only equal sets have in common. The sampled values of the first
    column begin at the first of `starts`, and so on: their `hashes`, and the `rows` of each.
    `smallest` are the few smallest hashes of each column.
    """

    digest: npt.NDArray[np.uint64]
    starts: Ints
    hashes: Hashes
    rows: Ints
    smallest: Hashes

    def sample(self, column: int) -> tuple[Hashes, Ints]:
        """A column's sampled values, sorted, and the rows that hold each."""
        part = slice(self.starts[column], self.starts[column + 1])
        return self.hashes[part], self.rows[part]


class ValuePasses:
    """Has workers pass over a catalog's values; `scratch` is a folder in that of the catalog."""

    def __init__(self, catalog: CatalogReader, workers: Workers, scratch: Path) -> None:
        self.values = ColumnValues(catalog)
        self._about = about(catalog)
        self._workers, self._scratch = workers, scratch
        self._made = 0
        self._facts: SetFacts | None = None

    @property
    def facts(self) -> SetFacts:
        """The facts of every column, found once."""
        if self._facts is None:
            jobs = [{"first": a, "last": b} for a, b in _ranges(self.values.distinct)]
            parts = [_loaded(done) for done in self.mapped("set_facts", jobs, {})]
            digest, sizes, hashes, rows, smallest = (
                np.concatenate([part[name] for part in parts])
                for name in ("digest", "sizes", "hashes", "rows", "smallest")
            )
            starts = np.append(0, np.cumsum(sizes))
            self._facts = SetFacts(digest, starts, hashes, rows, smallest)
            self.values.trust()  # workers have compared all of them with their checksums
        return self._facts

    def holding(self, columns: Ints, values: Hashes) -> list[Ints]:
        """For sorted values and some columns: place of a value x columns + place of a holder."""
        jobs = [{"first": a, "last": b} for a, b in _ranges(self.values.distinct[columns])]
        given = {"columns": columns, "values": values}
        return [_loaded(done)["held"] for done in self.mapped("holding", jobs, given)]

    def sampled(self, columns: Ints) -> tuple[Hashes, Ints, Ints]:
        """The sampled values of some columns, as `sample_columns` gives them."""
        facts = self.facts
        starts, ends = facts.starts[columns], facts.starts[columns + 1]
        every = spans(starts, ends)
        column = np.repeat(np.arange(len(columns)), ends - starts)
        order = np.argsort(facts.hashes[every], kind="stable")
        return facts.hashes[every][order], column[order], facts.rows[every][order]

    def commonness(self, columns: Ints, table: Ints) -> Floats:
        """Per column the mean, over its sampled values, of ln(tables that hold the value).

        Only some columns count, each with the number of its table.
        """
        hashes, column, _ = self.sampled(columns)
        values = np.unique(hashes)
        nothing = np.empty(0, dtype=np.int64)
        held = np.concatenate([nothing, *self.holding(columns, values)])
        width, tables = max(len(columns), 1), int(table.max(initial=0)) + 1
        pairs = np.unique(held // width * tables + table[held % width])
        holders = np.bincount(pairs // tables, minlength=len(values))
        return mean_nats(column, holders[np.searchsorted(values, hashes)], len(columns))

    def count_shared(self, child: Ints, outer: Ints) -> tuple[Ints, Ints]:
        """Per pair of columns: distinct values in common, and the child's rows found."""
        jobs = [{"first": a, "last": b} for a, b in _ranges(self.values.distinct[child])]
        found = [
            _loaded(done)
            for done in self.mapped("count_pairs", jobs, {"child": child, "outer": outer})
        ]
        nothing = np.empty(0, dtype=np.int64)
        shared, rows = (
            np.concatenate([nothing, *(part[name] for part in found)])
            for name in ("shared", "rows")
        )
        return shared, rows

    def likely_pairs(
        self, ranges: Sequence[tuple[int, int]], search: Any, bounds: Any
    ) -> tuple[Ints, Ints]:
        """The pairs of columns that a search finds in some of its ranges, within bounds.

        Both are dataclasses of arrays, which the jobs share.
        """
        jobs = [{"first": first, "last": last} for first, last in ranges]
        done = self.mapped("likely_pairs", jobs, {"search": search, "bounds": bounds})
        nothing = np.empty((2, 0), dtype=np.int64)
        child, parent = np.concatenate(
            [nothing, *(_loaded(each)["pairs"] for each in done)], axis=1
        )
        return child, parent

    def sharing(self, columns: Ints, known: Ints) -> Flags:
        """Which of some columns have a value in common with any of some others."""
        values = int(self.values.distinct[np.append(columns, known)].sum())
        given = {"columns": columns, "known": known}
        found = np.zeros(len(columns), dtype=np.bool_)
        for done in self.mapped("sharing", list(_hash_ranges(values)), given):
            found |= _loaded(done)["found"]
        return found

    def index_parts(
        self, columns: Ints, table: Ints, sampled: Hashes
    ) -> Iterator[dict[str, npt.NDArray[Any]]]:
        """The parts of an index segment, in the order of their hashes."""
        jobs = list(_hash_ranges(int(self.values.distinct[columns].sum())))
        given = {"columns": columns, "table": table, "sampled": sampled}
        for done in self.mapped("index_range", jobs, given):
            if done.result["values"]:
                yield _loaded(done)

    def worth_distributing(self, child: Ints) -> bool:
        """Whether counting pairs of these columns takes longer than having it done."""
        return int((self.values.distinct[child] + _EACH).sum()) >= _FEW

    def folder(self) -> Path:
        """A new folder that is removed with the passes."""
        self._made += 1
        folder = self._scratch / str(self._made)
        folder.mkdir()
        return folder

    def mapped(
        self,
        task: str,
        jobs: Sequence[Json],
        given: Mapping[str, Any],
        here: Callable[[Json, Path], Json] | None = None,
    ) -> list[Done]:
        """Have jobs done that share some arrays; what they answer, in the order of the jobs.

        What is given is an array, or a dataclass of arrays (`shared_arrays.py`).
        `here` does what workers left undone, instead of the task.
        """
        folder = self.folder()
        for name, thing in given.items():
            if isinstance(thing, np.ndarray):
                np.save(folder / f"{name}.npy", thing)
            else:
                write_shared(thing, folder / name)
        every = [{**self._about, **job, "given": str(folder.absolute())} for job in jobs]
        done = self._workers.map(f"{_TASKS}:{task}", every, folder, here)
        return sorted(done, key=lambda each: each.job)


class DistributedColumns(Sequence[Hashes]):
    """Some columns of a catalog, by their numbers there; all of them unless told."""

    def __init__(self, passes: ValuePasses, columns: Ints | None = None) -> None:
        self.passes = passes
        self.columns: Ints = np.arange(len(passes.values)) if columns is None else columns

    def take(self, places: Ints) -> DistributedColumns:
        """Those at some places."""
        return DistributedColumns(self.passes, self.columns[places])

    def sample(self, place: int) -> tuple[Hashes, Ints]:
        """The sampled values of the column at a place, sorted, and the rows that hold each."""
        return self.passes.facts.sample(int(self.columns[place]))

    def __len__(self) -> int:
        return len(self.columns)

    @overload
    def __getitem__(self, at: int) -> Hashes: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Hashes]: ...
    def __getitem__(self, at: int | slice) -> Hashes | Sequence[Hashes]:
        if isinstance(at, slice):
            return DistributedColumns(self.passes, self.columns[at])
        return self.passes.values.hashes(int(self.columns[at]))


class DistributedCounts(Sequence[Counts]):
    """The row counts of some columns of a catalog, read when they are asked for."""

    def __init__(self, columns: DistributedColumns) -> None:
        self._of = columns

    def take(self, places: Ints) -> DistributedCounts:
        """Those of the columns at some places."""
        return DistributedCounts(self._of.take(places))

    def __len__(self) -> int:
        return len(self._of)

    @overload
    def __getitem__(self, at: int) -> Counts: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Counts]: ...
    def __getitem__(self, at: int | slice) -> Counts | Sequence[Counts]:
        if isinstance(at, slice):
            return self.take(np.arange(len(self))[at])
        return self._of.passes.values.counts(int(self._of.columns[at]))


def take(arrays: Sequence[Values], places: Ints) -> Sequence[Values]:
    """The arrays at some places; none is read that would not be read by itself."""
    if isinstance(arrays, DistributedColumns | DistributedCounts):
        return cast(Sequence[Values], arrays.take(places))
    return [arrays[place] for place in places.tolist()]


def _loaded(done: Done) -> dict[str, npt.NDArray[Any]]:
    """The arrays that a job wrote, mapped."""
    return {
        file.stem: np.load(file, mmap_mode="r", allow_pickle=False)
        for file in done.folder.glob("*.npy")
    }


def _hash_ranges(values: int) -> Iterator[Json]:
    """Equal ranges of hashes, which hold about equally many of so many values."""
    count = 1 + values // _VALUES
    bounds = [number * 2**64 // count for number in range(count)]
    for low, high in zip(bounds, [*bounds[1:], None], strict=True):
        yield {"low": low, "high": high}


def _ranges(values: Ints) -> Iterator[tuple[int, int]]:
    """Cut things of so many values each into ranges of about equal work."""
    ends = np.cumsum(values + _EACH)
    first, before = 0, 0
    while first < len(values):
        last = int(np.searchsorted(ends, before + _VALUES, side="right"))
        last = min(max(last, first + 1), first + _COLUMNS)
        yield first, last
        first, before = last, int(ends[last - 1])
