"""An index segment: the inverted index from value hashes to the columns of some tables.

A segment is made once and never changed (`make_segment.py`). A frequent value, one that many
columns hold (the number 1), has a bitmap over the columns; a rare value has a posting list.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dovetail.arrays import Flags, Ints, firsts, sorted_distinct, spans
from dovetail.hashing import Hashes
from dovetail.joins.value_index.row_sample import RowSample
from dovetail.joins.value_index.signatures import Bitmaps, Signatures

# Bitmaps that are unpacked together, so few that a byte holds their sum.
_BITMAPS_AT_ONCE = 128
# Values that are looked up together, so few that what is known of them stays in the cache.
_VALUES_AT_ONCE = 1 << 15
# Posting lists of so many columns on average are quicker taken one by one than all at once.
_LONG = 64

Columns = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class IndexSegment:
    """The values of some tables' columns; columns are numbered from 0 through all of them.

    `hashes` are the rare values, sorted. The `columns` that hold the first of them begin at the
    first of `offsets`, and so on: these are the posting lists. `prefixes` are the places in
    `hashes` where their first bits change, from which a lookup starts. `frequent` values stand
    apart, sorted, with a row of `bitmaps` each. Per column: its `table`, how many `distinct` values
    it holds, and how many of them are rare (`rare_count`).
    """

    tables: tuple[str, ...]
    table: Ints
    distinct: Ints
    rare_count: Ints
    hashes: Hashes
    offsets: Ints
    columns: Columns
    prefixes: Ints
    frequent: Hashes
    bitmaps: Bitmaps
    sample: RowSample
    signatures: Signatures

    def __len__(self) -> int:
        return len(self.table)

    def posting_ranges(self, values: Hashes) -> tuple[Ints, Ints]:
        """Where in `columns` the posting lists of some values begin and end.

        Lists of frequent and of unknown values are empty.
        """
        bits = (len(self.prefixes) - 1).bit_length() - 1
        prefix = (values >> np.uint64(64 - bits)).astype(np.int64)
        low, high = self.prefixes[prefix], self.prefixes[prefix + 1]
        end = high
        while (low < high).any():
            middle = (low + high) >> 1
            # Where the search is over, `middle` may be past the end, and is not looked at.
            right = self.hashes[np.minimum(middle, len(self.hashes) - 1)] < values
            right &= low < high
            low = np.where(right, middle + 1, low)
            high = np.where(right, high, np.maximum(middle, low))
        starts, ends = np.zeros((2, len(values)), dtype=np.int64)
        there = np.flatnonzero(low < end)
        there = there[self.hashes[low[there]] == values[there]]
        starts[there], ends[there] = self.offsets[low[there]], self.offsets[low[there] + 1]
        return starts, ends

    def count_rare(self, values: Hashes) -> Ints:
        """Per column, how many of some values it holds, frequent ones not counted."""
        starts, ends = self.posting_ranges(values)
        if not len(values) or (ends - starts).sum() < _LONG * len(values):
            return np.bincount(self.columns[spans(starts, ends)], minlength=len(self))
        lists = [self.columns[a:b] for a, b in zip(starts.tolist(), ends.tolist(), strict=True)]
        return np.bincount(np.concatenate(lists), minlength=len(self))

    def holding_any(self, values: Hashes) -> Flags:
        """Which columns hold any of some values."""
        found = np.zeros(len(self), dtype=np.bool_)
        for at in range(0, len(values), _VALUES_AT_ONCE):
            some = values[at : at + _VALUES_AT_ONCE]
            found[self.columns[spans(*self.posting_ranges(some))]] = True
        rows, _ = self.frequent_rows(values)
        for at in range(0, len(rows), _BITMAPS_AT_ONCE):
            block = self.bitmaps[rows[at : at + _BITMAPS_AT_ONCE]]
            found |= self.unpacked(np.bitwise_or.reduce(block, axis=0))
        return found

    def frequent_rows(self, values: Hashes) -> tuple[Ints, Ints]:
        """The rows in `bitmaps` of those values that are frequent, and the values' places."""
        nothing = np.empty(0, dtype=np.int64)
        if not len(self.frequent):
            return nothing, nothing
        rows = np.searchsorted(self.frequent, values)
        rows[rows == len(self.frequent)] = 0
        found = np.flatnonzero(self.frequent[rows] == values)
        return rows[found], found

    def unpacked(self, bitmaps: Bitmaps) -> Flags:
        """Bitmaps as flags, one for each column."""
        return np.unpackbits(bitmaps, axis=-1, count=len(self)).view(np.bool_)

    def columns_holding(self, values: Hashes) -> tuple[Ints, Ints]:
        """Places among the values, each with a column that holds the value, both in order."""
        starts, ends = self.posting_ranges(values)
        place = np.repeat(np.arange(len(values)), ends - starts)
        column = self.columns[spans(starts, ends)].astype(np.int64)
        rows, at = self.frequent_rows(values)
        if len(rows):
            row, more = np.nonzero(self.unpacked(self.bitmaps[rows]))
            place, column = np.append(place, at[row]), np.append(column, more)
            order = np.argsort(place, kind="stable")
            place, column = place[order], column[order]
        return place, column

    def tally(self, values: Hashes, rows: Ints) -> tuple[Ints, Ints]:
        """Per column, how many of some values it holds, and the sum of the rows beside those."""
        starts, ends = self.posting_ranges(values)
        columns, size = self.columns[spans(starts, ends)], len(self)
        by_value = np.bincount(columns, minlength=size)
        weights = np.repeat(rows, ends - starts)
        by_rows = np.bincount(columns, weights, minlength=size).astype(np.int64)
        bitmaps, at = self.frequent_rows(values)
        for row, weight in zip(bitmaps.tolist(), rows[at].tolist(), strict=True):
            flags = self.unpacked(self.bitmaps[row])
            by_value += flags
            by_rows += weight * flags
        return by_value, by_rows

    def counts(self, values: Hashes) -> Ints:
        """Per column, how many of some values it holds."""
        return self.count_rare(values) + self._bit_sums(self.frequent_rows(values)[0])

    def _bit_sums(self, rows: Ints) -> Ints:
        """Per column the set bits of some bitmaps."""
        found = np.zeros(len(self), dtype=np.int64)
        for at in range(0, len(rows), _BITMAPS_AT_ONCE):
            block = self.bitmaps.take(rows[at : at + _BITMAPS_AT_ONCE], axis=0)
            flags = np.unpackbits(block, axis=1, count=len(self))
            found += flags.sum(axis=0, dtype=np.uint8)
        return found

    def tables_by_value(self, chosen: Flags, among: Hashes) -> tuple[Hashes, Ints]:
        """Values held by the chosen columns, sorted, each with how many tables hold it by them.

        At least those of `among`: all values, where looking a few up would not be quicker.
        """
        if 8 * len(among) < len(self.columns):
            wanted = sorted_distinct(among)
            place, column = self.columns_holding(wanted)
            there = chosen[column]
            return _tables_by_value(wanted[place[there]], self.table[column[there]])
        listed = chosen[self.columns]
        every = np.repeat(self.hashes, np.diff(self.offsets))
        hashes, tables = _tables_by_value(every[listed], self.table[self.columns[listed]])
        columns = np.flatnonzero(chosen)
        bytes_of = self.bitmaps[:, columns >> 3]
        flags = (bytes_of >> (7 - columns & 7).astype(np.uint8) & 1).view(np.bool_)
        row, column = np.nonzero(flags)
        frequent, more = _tables_by_value(self.frequent[row], self.table[columns[column]])
        hashes, tables = np.append(hashes, frequent), np.append(tables, more)
        order = np.argsort(hashes, kind="stable")
        return hashes[order], tables[order]


def _tables_by_value(values: Hashes, table: Ints) -> tuple[Hashes, Ints]:
    """Distinct values in order, and how many tables each stands beside; both come grouped."""
    starts = np.append(firsts(values), len(values))
    return values[starts[:-1]], count_tables(values, table, starts[:-1], starts[1:])


def count_tables(values: Hashes, table: Ints, starts: Ints, ends: Ints) -> Ints:
    """How many tables stand beside the values of each range; a range is that of one value."""
    fresh = np.append(True, (values[1:] != values[:-1]) | (table[1:] != table[:-1]))
    seen = np.append(0, np.cumsum(fresh, dtype=np.int32))
    found: Ints = (seen[ends] - seen[starts]).astype(np.int64)
    return found
