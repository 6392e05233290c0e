"""Which columns of a catalog hold a value? Looked up in its index segments.

postings = Postings.of(catalog)
place, column = postings.columns_holding(hashes)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from dovetail.arrays import Flags, Floats, Ints, sorted_pairs, spans
from dovetail.catalog.reader import CatalogReader
from dovetail.hashing import Hashes
from dovetail.joins.column_arrays import ColumnArrays
from dovetail.joins.value_index.containment import supersets_and_subsets
from dovetail.joins.value_index.index_segment import IndexSegment
from dovetail.joins.value_index.make_segment import make_segment
from dovetail.joins.value_index.row_sample import mean_nats
from dovetail.joins.value_index.segment_store import MakeSegment, segments_of

# How many times shorter a list must be to be looked up in the other.
_SHORT = 8
# Columns of a segment of which it is quickly told whether any is chosen.
_SMALL = 1024

Found = TypeVar("Found", np.int64, np.float64)


class Postings:
    """The inverted index from values to columns: a few segments, some of whose columns are gone."""

    def __init__(self, segments: Sequence[tuple[IndexSegment, Ints]], size: int) -> None:
        """`segments` come with the number of each of their columns, -1 for one that is gone.

        `size` is how many columns are numbered.
        """
        self._segments = segments
        self._size = size

    @classmethod
    def of(
        cls, catalog: CatalogReader, *, compact: bool = False, make: MakeSegment | None = None
    ) -> Postings:
        """The index of a catalog, kept beside it; columns are numbered through its tables in order.

        Only the holder of the catalog's lock may `compact`: merge small segments, and remove those
        that are no longer needed. Segments that are missing are made by `make`, if given.
        """
        return cls(segments_of(catalog, compact=compact, make=make), len(catalog.records.columns))

    @classmethod
    def of_arrays(cls, arrays: ColumnArrays) -> Postings:
        """The index of some columns, made in memory."""
        order = np.argsort(arrays.table, kind="stable")
        value_hashes, counts = (
            [held[column] for column in order.tolist()]
            for held in (list(arrays.value_hashes), list(arrays.counts))
        )
        tables = [str(table) for table in arrays.ids]
        segment = make_segment(tables, arrays.table[order], value_hashes, counts)
        return cls([(segment, order)], len(arrays))

    def columns_holding(self, hashes: Hashes) -> tuple[Ints, Ints]:
        """Places among the hashes, each with a column that holds it, both in order."""
        found = [(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))]
        for segment, number in self._segments:
            place, column = segment.columns_holding(hashes)
            column = number[column]
            found.append((place[column >= 0], column[column >= 0]))
        place, column = (np.concatenate(part) for part in zip(*found, strict=True))
        return sorted_pairs(place, column)

    def tally(self, values: Hashes, rows: Ints) -> tuple[Ints, Ints]:
        """Per column, how many of some values it holds, and the sum of the rows beside those."""
        by_value, by_rows = np.zeros((2, self._size), dtype=np.int64)
        for segment, number in self._segments:
            there = number >= 0
            of_value, of_rows = segment.tally(values, rows)
            by_value[number[there]], by_rows[number[there]] = of_value[there], of_rows[there]
        return by_value, by_rows

    def counts(self, values: Hashes) -> Ints:
        """Per column, how many of some values it holds."""
        return self._per_column(lambda segment: segment.counts(values), np.int64)

    def holding_any(self, values: Hashes) -> Flags:
        """Per column, whether it holds any of some values."""
        found = np.zeros(self._size, dtype=np.bool_)
        for segment, number in self._segments:
            there = number >= 0
            found[number[there]] = segment.holding_any(values)[there]
        return found

    def supersets_and_subsets(
        self, values: Hashes, chosen: Flags, value_hashes: Sequence[Hashes]
    ) -> tuple[Ints, Ints]:
        """Of the chosen columns, those that hold all of the values, and those that hold no others.

        They come in any order. `value_hashes` are those of all columns.
        """
        found = [(np.empty(0, dtype=np.int64),) * 2]
        for segment, number in self._segments:
            if len(segment) < _SMALL and not chosen[number].any():
                continue  # that of the table alone whose values are asked for, most likely
            wanted = partial(_chosen, number, chosen)
            own = partial(_values_of, number, value_hashes)
            supersets, subsets = supersets_and_subsets(segment, values, wanted, own)
            found.append((number[supersets], number[subsets]))
        supersets, subsets = (np.concatenate(part) for part in zip(*found, strict=True))
        return supersets, subsets

    def sampled_among(self, values: Hashes) -> tuple[Ints, Ints]:
        """Per column, how many of its sampled values are among some sorted ones, and their rows."""

        by_value, by_rows = np.zeros((2, self._size), dtype=np.int64)
        for segment, number in self._segments:
            starts = np.searchsorted(segment.sample.hashes, values)
            ends = np.searchsorted(segment.sample.hashes, values, side="right")
            every = spans(starts, ends)
            column = number[segment.sample.column[every]]
            there = column >= 0
            column, rows = column[there], segment.sample.rows[every][there]
            by_value += np.bincount(column, minlength=self._size)
            by_rows += np.bincount(column, rows, self._size).astype(np.int64)
        return by_value, by_rows

    @property
    def sample_sizes(self) -> tuple[Ints, Ints]:
        """Per column, how many values were sampled from it, and how many rows hold them."""

        def rows(segment: IndexSegment) -> Ints:
            sample = segment.sample
            return np.bincount(sample.column, sample.rows, len(segment)).astype(np.int64)

        size = self._per_column(
            lambda segment: np.bincount(segment.sample.column, minlength=len(segment)), np.int64
        )
        return size, self._per_column(rows, np.int64)

    def commonness(self) -> Floats:
        """Per column the mean, over its sampled values, of ln(tables that hold the value)."""

        def mean(segment: IndexSegment) -> Floats:
            return mean_nats(segment.sample.column, self._table_counts(segment), len(segment))

        return self._per_column(mean, np.float64)

    def _table_counts(self, mine: IndexSegment) -> Ints:
        """For each value of a segment's sample, how many tables of the catalog hold it."""
        sample = mine.sample
        held = sample.tables.copy()
        for segment, number in self._segments:
            gone = number < 0
            if segment is not mine:
                held += _tables_holding(sample.hashes, segment, ~gone)
            elif gone.any():
                held -= _tables_holding(sample.hashes, segment, gone)
        return held

    def _per_column(
        self, ask: Callable[[IndexSegment], npt.NDArray[Found]], kind: type[Found]
    ) -> npt.NDArray[Found]:
        """What the segments say of their columns, in the order of the columns' numbers."""
        found = np.zeros(self._size, dtype=kind)
        for segment, number in self._segments:
            there = number >= 0
            found[number[there]] = ask(segment)[there]
        return found


def _chosen(number: Ints, chosen: Flags, columns: Ints) -> Flags:
    """Which columns of a segment are not gone and, by their numbers, chosen."""
    numbered: Ints = number[columns]
    return (numbered >= 0) & chosen[numbered]


def _values_of(number: Ints, value_hashes: Sequence[Hashes], column: int) -> Hashes:
    """The values of a column of a segment, by the number it has in the catalog."""
    return value_hashes[int(number[column])]


def _tables_holding(values: Hashes, segment: IndexSegment, chosen: Flags) -> Ints:
    """Per value, in order, how many tables hold it by the chosen columns of a segment."""
    found = np.zeros(len(values), dtype=np.int64)
    rest = np.arange(len(values))
    sample = segment.sample
    if len(values) < len(sample.hashes) and chosen.all():  # most of them the sample has counted
        at, known = _places(sample.hashes, values)
        found[known] = sample.tables[at[known]]
        rest = np.flatnonzero(~known)
    if not len(rest):
        return found
    hashes, tables = segment.tables_by_value(chosen, values[rest])
    if _SHORT * len(hashes) < len(rest):  # of two sorted lists the shorter is looked up
        starts, ends = (np.searchsorted(values[rest], hashes, side) for side in ("left", "right"))
        found[rest[spans(starts, ends)]] = np.repeat(tables, ends - starts)
        return found
    at, known = _places(hashes, values[rest])
    found[rest[known]] = tables[at[known]]
    return found


def _places(hashes: Hashes, values: Hashes) -> tuple[Ints, Flags]:
    """The first place of each value in sorted hashes, and whether it is there."""
    if not len(hashes):
        return np.zeros(len(values), dtype=np.int64), np.zeros(len(values), dtype=np.bool_)
    at = np.searchsorted(hashes, values)
    at[at == len(hashes)] = 0
    return at, hashes[at] == values
