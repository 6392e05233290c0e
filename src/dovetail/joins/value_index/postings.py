"""Which columns of a lake hold a value? Looked up in runs, some of whose columns may be gone.

postings = Postings.of(catalog)
place, column = postings.columns_holding(hashes)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from dovetail.catalog.reader import CatalogReader
from dovetail.hashing import Hashes
from dovetail.joins.column_arrays import Flags, Floats, Ints, Lake, spans
from dovetail.joins.value_index.containment import nested
from dovetail.joins.value_index.index_segment import Run, make_run
from dovetail.joins.value_index.segment_store import runs_of

# Columns of a run of which it is quickly told whether any is chosen.
_SMALL = 1024

Found = TypeVar("Found", np.int64, np.float64)


class Postings:
    """The columns of a lake by what they hold."""

    def __init__(self, runs: Sequence[tuple[Run, Ints]], size: int) -> None:
        """`runs` come with the lake's number of each of their columns, -1 for one that is gone."""
        self._runs = runs
        self._size = size

    @classmethod
    def of(cls, catalog: CatalogReader, *, tidy: bool = False) -> Postings:
        """Those of a catalog, kept beside it; columns are numbered through its tables in order.

        Only the holder of the catalog's lock may `tidy`: merge what is kept, and remove the rest.
        """
        return cls(runs_of(catalog, tidy=tidy), len(catalog.records.columns))

    @classmethod
    def of_lake(cls, lake: Lake) -> Postings:
        """Those of a lake, made in memory."""
        order = np.argsort(lake.table, kind="stable")
        vectors, counts = (
            [held[column] for column in order.tolist()]
            for held in (list(lake.vectors), list(lake.counts))
        )
        run = make_run([str(table) for table in lake.ids], lake.table[order], vectors, counts)
        return cls([(run, order)], len(lake))

    def columns_holding(self, hashes: Hashes) -> tuple[Ints, Ints]:
        """Places among the hashes, each with a column that holds it, both in order."""
        found = [(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))]
        for run, number in self._runs:
            place, column = run.holders(hashes)
            column = number[column]
            found.append((place[column >= 0], column[column >= 0]))
        place, column = (np.concatenate(part) for part in zip(*found, strict=True))
        order = np.lexsort((column, place))
        return place[order], column[order]

    def counts(self, values: Hashes) -> Ints:
        """Per column, how many of some values it holds."""
        return self._each(lambda run: run.counts(values), np.int64)

    def nested(self, values: Hashes, chosen: Flags) -> tuple[Ints, Ints]:
        """Of some columns, those that hold all of some values, and those that hold no others.

        They come in any order.
        """
        found = [(np.empty(0, dtype=np.int64),) * 2]
        for run, number in self._runs:
            if len(run) < _SMALL and not chosen[number].any():
                continue  # that of the table alone whose values are asked for, most likely
            around, inside = nested(run, values, partial(_chosen, number, chosen))
            found.append((number[around], number[inside]))
        around, inside = (np.concatenate(part) for part in zip(*found, strict=True))
        return around, inside

    def drawn_in(self, values: Hashes) -> tuple[Ints, Ints]:
        """Per column, how many of its drawn values are among some sorted ones, and their rows."""

        def chosen(run: Run) -> tuple[Ints, Ints]:
            starts = np.searchsorted(run.drawn.hashes, values)
            ends = np.searchsorted(run.drawn.hashes, values, side="right")
            every = spans(starts, ends)
            return run.drawn.column[every].astype(np.int64), run.drawn.rows[every]

        by_value = self._each(lambda run: np.bincount(chosen(run)[0], minlength=len(run)), np.int64)
        by_rows = self._each(
            lambda run: np.bincount(*chosen(run), minlength=len(run)).astype(np.int64), np.int64
        )
        return by_value, by_rows

    @property
    def drawn(self) -> tuple[Ints, Ints]:
        """Per column, how many values were drawn from it, and how many rows hold them."""
        size = self._each(lambda run: np.bincount(run.drawn.column, minlength=len(run)), np.int64)
        rows = self._each(
            lambda run: np.bincount(run.drawn.column, run.drawn.rows, len(run)).astype(np.int64),
            np.int64,
        )
        return size, rows

    def commonness(self) -> Floats:
        """Per column the mean, over its drawn values, of ln(tables that hold the value)."""

        def mean(run: Run) -> Floats:
            nats = np.log(np.maximum(self._tables(run), 1))
            column = run.drawn.column
            size = np.bincount(column, minlength=len(run))
            total: Floats = np.bincount(column, nats, minlength=len(run)) / np.maximum(size, 1)
            return total

        return self._each(mean, np.float64)

    def _tables(self, mine: Run) -> Ints:
        """Beside each value drawn in a run, how many tables of the lake hold it."""
        drawn = mine.drawn
        held = drawn.tables.copy()
        for run, number in self._runs:
            gone = number < 0
            if run is not mine:
                held += _held(drawn.hashes, run, ~gone)
            elif gone.any():
                held -= _held(drawn.hashes, run, gone)
        return held

    def _each(
        self, ask: Callable[[Run], npt.NDArray[Found]], kind: type[Found]
    ) -> npt.NDArray[Found]:
        """What the runs say of their columns, by the lake's numbers."""
        found = np.zeros(self._size, dtype=kind)
        for run, number in self._runs:
            there = number >= 0
            found[number[there]] = ask(run)[there]
        return found


def _chosen(number: Ints, chosen: Flags, columns: Ints) -> Flags:
    """Which columns of a run are there and, by the lake's numbers, chosen."""
    lake: Ints = number[columns]
    return (lake >= 0) & chosen[lake]


def _held(values: Hashes, run: Run, chosen: Flags) -> Ints:
    """Per value, how many tables hold it by some columns of a run."""
    hashes, tables = run.tables_by_value(chosen, values)
    if not len(hashes):
        return np.zeros(len(values), dtype=np.int64)
    at = np.searchsorted(hashes, values)
    at[at == len(hashes)] = 0
    return np.where(hashes[at] == values, tables[at], 0)
