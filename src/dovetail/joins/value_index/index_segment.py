"""A run: an index from hashes to the columns of some tables, made once and never changed.

A value that many columns hold (the number 1) has a bit for each column, any other the list of its
columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dovetail.hashing import Hashes
from dovetail.joins.column_arrays import Counts, Flags, Ints, firsts, spans
from dovetail.joins.value_index.row_sample import Drawn, draw
from dovetail.joins.value_index.signatures import Bits, Outlines, make_outlines

# Values that are sorted together, which bounds the memory that takes.
_PART = 1 << 23
# From one column in 64 on bits, both ways, take little more room than a list, and are quicker.
_MANY, _FEW = 64, 256
# Rows of bits that are unpacked together, so few that a byte holds their sum.
_ROWS = 128
# Lists of so many columns on average are quicker taken one by one than all at once.
_LONG = 64

Columns = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Run:
    """The values of some tables' columns; columns are numbered from 0 through all of them.

    `hashes` are in order; the `columns` that hold the first begin at the first of `lines`, and so
    on. `steps` are the places where their first bits change. Values that many columns hold are
    apart in `heavy`, with a row of `bits` each. Per column: its `table`, how many `distinct` values
    it holds, and how many of them are not heavy (`light`).
    """

    tables: tuple[str, ...]
    table: Ints
    distinct: Ints
    light: Ints
    hashes: Hashes
    lines: Ints
    columns: Columns
    steps: Ints
    heavy: Hashes
    bits: Bits
    drawn: Drawn
    outlines: Outlines

    def __len__(self) -> int:
        return len(self.table)

    def lists(self, values: Hashes) -> tuple[Ints, Ints]:
        """Where the lists of some values begin and end; those of heavy values are empty."""
        bits = (len(self.steps) - 1).bit_length() - 1
        step = (values >> np.uint64(64 - bits)).astype(np.int64)
        low, high = self.steps[step], self.steps[step + 1]
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
        starts[there], ends[there] = self.lines[low[there]], self.lines[low[there] + 1]
        return starts, ends

    def listed(self, values: Hashes) -> Ints:
        """Per column, how many of some values it holds that are not heavy."""
        starts, ends = self.lists(values)
        if not len(values) or (ends - starts).sum() < _LONG * len(values):
            return np.bincount(self.columns[spans(starts, ends)], minlength=len(self))
        lists = [self.columns[a:b] for a, b in zip(starts.tolist(), ends.tolist(), strict=True)]
        return np.bincount(np.concatenate(lists), minlength=len(self))

    def rows(self, values: Hashes) -> tuple[Ints, Ints]:
        """The rows of those values that are heavy, and their places among the values."""
        nothing = np.empty(0, dtype=np.int64)
        if not len(self.heavy):
            return nothing, nothing
        rows = np.searchsorted(self.heavy, values)
        rows[rows == len(self.heavy)] = 0
        found = np.flatnonzero(self.heavy[rows] == values)
        return rows[found], found

    def flags(self, bits: Bits) -> Flags:
        """Rows of bits as flags, one for each column."""
        return np.unpackbits(bits, axis=-1, count=len(self)).view(np.bool_)

    def holders(self, values: Hashes) -> tuple[Ints, Ints]:
        """Places among the values, each with a column that holds the value, both in order."""
        starts, ends = self.lists(values)
        place = np.repeat(np.arange(len(values)), ends - starts)
        column = self.columns[spans(starts, ends)].astype(np.int64)
        rows, at = self.rows(values)
        if len(rows):
            row, more = np.nonzero(self.flags(self.bits[rows]))
            place, column = np.append(place, at[row]), np.append(column, more)
            order = np.argsort(place, kind="stable")
            place, column = place[order], column[order]
        return place, column

    def counts(self, values: Hashes) -> Ints:
        """Per column, how many of some values it holds."""
        return self.listed(values) + self._sums(self.rows(values)[0])

    def _sums(self, rows: Ints) -> Ints:
        """Per column the set bits of some rows."""
        found = np.zeros(len(self), dtype=np.int64)
        for at in range(0, len(rows), _ROWS):
            some = self.bits.take(rows[at : at + _ROWS], axis=0)
            flags = np.unpackbits(some, axis=1, count=len(self))
            found += flags.sum(axis=0, dtype=np.uint8)
        return found

    def tables_by_value(self, chosen: Flags, among: Hashes) -> tuple[Hashes, Ints]:
        """How many tables hold a value by some columns: those of `among`, if not more, in order."""
        if 8 * len(among) < len(self.columns):
            wanted = np.unique(among)
            place, column = self.holders(wanted)
            kept = chosen[column]
            return _tables_by_value(wanted[place[kept]], self.table[column[kept]])
        listed = chosen[self.columns]
        every = np.repeat(self.hashes, np.diff(self.lines))
        hashes, counted = _tables_by_value(every[listed], self.table[self.columns[listed]])
        columns = np.flatnonzero(chosen)
        flags = (self.bits[:, columns >> 3] >> (7 - columns & 7).astype(np.uint8) & 1).view(
            np.bool_
        )
        row, column = np.nonzero(flags)
        heavy, more = _tables_by_value(self.heavy[row], self.table[columns[column]])
        hashes, counted = np.append(hashes, heavy), np.append(counted, more)
        order = np.argsort(hashes, kind="stable")
        return hashes[order], counted[order]


def _tables_by_value(values: Hashes, table: Ints) -> tuple[Hashes, Ints]:
    """Distinct values in order, and how many tables each stands beside; both come grouped."""
    starts = np.append(firsts(values), len(values))
    return values[starts[:-1]], _tables(values, table, starts[:-1], starts[1:])


def make_run(
    tables: Sequence[str], table: Ints, vectors: Sequence[Hashes], counts: Sequence[Counts]
) -> Run:
    """Index the columns of some tables; they come in the order of their tables."""
    hashes, column, rows = draw(vectors, counts)
    held = np.zeros(len(hashes), dtype=np.int64)
    listed: list[tuple[Hashes, Ints, Columns]] = []
    rowed: list[tuple[Hashes, Bits]] = []
    for values, columns in in_order(vectors):
        starts = np.append(firsts(values), len(values))
        times, distinct = np.diff(starts), values[starts[:-1]]
        first, last = hashes.searchsorted(distinct[0]), hashes.searchsorted(distinct[-1], "right")
        drawn = distinct.searchsorted(hashes[first:last])
        held[first:last] = _tables(values, table[columns], starts[drawn], starts[drawn + 1])
        many = times * _MANY >= max(len(vectors), _FEW)
        spread = np.repeat(many, times)
        listed.append((distinct[~many], times[~many], columns[~spread]))
        rowed.append((distinct[many], _bits(columns[spread], times[many], len(vectors))))
    light = np.zeros(len(vectors), dtype=np.int64)
    for _, _, columns in listed:
        light += np.bincount(columns, minlength=len(vectors))
    nothing = np.empty(0, dtype=np.uint64)
    light_hashes = np.concatenate([nothing, *(part for part, _, _ in listed)])
    width = (len(vectors) + 7) // 8
    bits = np.concatenate([np.empty((0, width), dtype=np.uint8), *(part for _, part in rowed)])
    return Run(
        tables=tuple(tables),
        table=table,
        distinct=np.array([len(vector) for vector in vectors], dtype=np.int64),
        light=light,
        hashes=light_hashes,
        lines=np.cumsum(np.concatenate([[0], *(part for _, part, _ in listed)]), dtype=np.int64),
        columns=np.concatenate([np.empty(0, dtype=np.int32), *(part for _, _, part in listed)]),
        steps=_steps(light_hashes),
        heavy=np.concatenate([nothing, *(part for part, _ in rowed)]),
        bits=bits,
        drawn=Drawn(hashes, column.astype(np.int32), rows, held),
        outlines=make_outlines(vectors, bits),
    )


def _tables(values: Hashes, table: Ints, starts: Ints, ends: Ints) -> Ints:
    """How many tables stand beside the values of each range; a range is one value's."""
    fresh = np.append(True, (values[1:] != values[:-1]) | (table[1:] != table[:-1]))
    seen = np.append(0, np.cumsum(fresh, dtype=np.int32))
    found: Ints = (seen[ends] - seen[starts]).astype(np.int64)
    return found


def _steps(hashes: Hashes) -> Ints:
    """Where the values begin whose first bits are 0, 1, 2 and so on; and where the last end."""
    bits = max(len(hashes).bit_length() - 3, 1)
    times = np.bincount((hashes >> np.uint64(64 - bits)).astype(np.int64), minlength=1 << bits)
    return np.append(0, np.cumsum(times))


def in_order(vectors: Sequence[Hashes]) -> Iterator[tuple[Hashes, Columns]]:
    """All values in order, each with its column, a bounded part of them at a time."""
    parts = 1 + sum(len(vector) for vector in vectors) // _PART
    # Values are hashes: equal ranges of them hold about equally many.
    cuts = np.array([part * 2**64 // parts for part in range(1, parts)], dtype=np.uint64)
    bounds = np.array([[0, *np.searchsorted(v, cuts), len(v)] for v in vectors], dtype=np.int64)
    for part in range(parts if len(vectors) else 0):
        starts, ends = bounds[:, part], bounds[:, part + 1]
        slices = [v[a:b] for v, a, b in zip(vectors, starts, ends, strict=True)]
        if (starts < ends).any():
            yield _merged(slices, ends - starts)


def _merged(slices: Sequence[Hashes], lengths: Ints) -> tuple[Hashes, Columns]:
    """The values of some columns in order, with their columns.

    Sorting values is several times quicker than sorting places by value. So the columns are sorted
    in place of the values' last bits, beside the values; what differs in its last bits alone is
    too little to matter, but is put right.
    """
    values = np.concatenate(slices)
    bits = np.uint64(max(len(slices) - 1, 1).bit_length())
    packed = values >> bits << bits
    packed |= np.repeat(np.arange(len(slices), dtype=np.uint64), lengths)
    values.sort()
    packed.sort()
    columns = (packed & np.uint64((1 << int(bits)) - 1)).astype(np.int32)
    same = values[1:] >> bits == values[:-1] >> bits
    for at in np.flatnonzero(same & (values[1:] != values[:-1])).tolist():
        prefix = values[at] >> bits
        first, last = np.searchsorted(values, [prefix << bits, (prefix + np.uint64(1)) << bits])
        last = last if last > first else len(values)
        pairs = [
            (value, column)
            for value in np.unique(values[first:last])
            for column in np.unique(columns[first:last])
            if value in slices[column]
        ]
        columns[first:last] = [column for _, column in pairs]
    return values, columns


def _bits(columns: Columns, times: Ints, width: int) -> Bits:
    """A row of bits for each value: those of its columns, which come one value after the other."""
    bits = np.zeros((len(times), (width + 7) // 8), dtype=np.uint8)
    ends = np.cumsum(times)
    for at in range(0, len(times), _ROWS):
        some = times[at : at + _ROWS]
        flags = np.zeros((len(some), width), dtype=np.bool_)
        first = ends[at] - times[at]
        row = np.repeat(np.arange(len(some)), some)
        flags[row, columns[first : first + len(row)]] = True
        bits[at : at + len(some)] = np.packbits(flags, axis=1)
    return bits
