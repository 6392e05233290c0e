"""Makes an index segment of some tables' columns: sorts all of their values, a part at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from dovetail.hashing import Hashes
from dovetail.joins.column_arrays import Counts, Ints, firsts
from dovetail.joins.value_index.index_segment import Columns, IndexSegment, count_tables
from dovetail.joins.value_index.row_sample import RowSample, sample_columns
from dovetail.joins.value_index.signatures import Bitmaps, make_signatures

# Values that are sorted together, which bounds the memory that takes.
_PART = 1 << 23
# A value is frequent that one column in 64 holds, of 256 columns at least: from there on a bitmap,
# and its transpose, take little more room than a posting list, and are quicker.
_ONE_IN, _OF_AT_LEAST = 64, 256
# Bitmaps that are packed together.
_BITMAPS_AT_ONCE = 128


def make_segment(
    tables: Sequence[str], table: Ints, value_hashes: Sequence[Hashes], counts: Sequence[Counts]
) -> IndexSegment:
    """Index the columns of some tables, given by their sorted value hashes and counts of rows.

    Columns come in the order of their tables.
    """
    hashes, column, rows = sample_columns(value_hashes, counts)
    held_by = np.zeros(len(hashes), dtype=np.int64)
    rare: list[tuple[Hashes, Ints, Columns]] = []
    frequent: list[tuple[Hashes, Bitmaps]] = []
    for values, columns in in_order(value_hashes):
        starts = np.append(firsts(values), len(values))
        times, distinct = np.diff(starts), values[starts[:-1]]
        first, last = hashes.searchsorted(distinct[0]), hashes.searchsorted(distinct[-1], "right")
        sampled = distinct.searchsorted(hashes[first:last])
        held_by[first:last] = count_tables(
            values, table[columns], starts[sampled], starts[sampled + 1]
        )
        many = times * _ONE_IN >= max(len(value_hashes), _OF_AT_LEAST)
        spread = np.repeat(many, times)
        rare.append((distinct[~many], times[~many], columns[~spread]))
        bitmaps = _bitmaps(columns[spread], times[many], len(value_hashes))
        frequent.append((distinct[many], bitmaps))
    rare_count = np.zeros(len(value_hashes), dtype=np.int64)
    for _, _, columns in rare:
        rare_count += np.bincount(columns, minlength=len(value_hashes))
    nothing = np.empty(0, dtype=np.uint64)
    rare_hashes = np.concatenate([nothing, *(part for part, _, _ in rare)])
    width = (len(value_hashes) + 7) // 8
    every = np.concatenate([np.empty((0, width), dtype=np.uint8), *(part for _, part in frequent)])
    return IndexSegment(
        tables=tuple(tables),
        table=table,
        distinct=np.array([len(each) for each in value_hashes], dtype=np.int64),
        rare_count=rare_count,
        hashes=rare_hashes,
        offsets=np.cumsum(np.concatenate([[0], *(part for _, part, _ in rare)]), dtype=np.int64),
        columns=np.concatenate([np.empty(0, dtype=np.int32), *(part for _, _, part in rare)]),
        prefixes=_prefixes(rare_hashes),
        frequent=np.concatenate([nothing, *(part for part, _ in frequent)]),
        bitmaps=every,
        sample=RowSample(hashes, column.astype(np.int32), rows, held_by),
        signatures=make_signatures(value_hashes, every),
    )


def _prefixes(hashes: Hashes) -> Ints:
    """Where the hashes begin whose first bits are 0, 1, 2 and so on; and where the last end."""
    bits = max(len(hashes).bit_length() - 3, 1)
    times = np.bincount((hashes >> np.uint64(64 - bits)).astype(np.int64), minlength=1 << bits)
    return np.append(0, np.cumsum(times))


def in_order(value_hashes: Sequence[Hashes]) -> Iterator[tuple[Hashes, Columns]]:
    """All values in order, each with its column, a bounded part of them at a time."""
    parts = 1 + sum(len(hashes) for hashes in value_hashes) // _PART
    # Values are hashes: equal ranges of them hold about equally many.
    cuts = np.array([part * 2**64 // parts for part in range(1, parts)], dtype=np.uint64)
    bounds = np.array(
        [[0, *np.searchsorted(h, cuts), len(h)] for h in value_hashes], dtype=np.int64
    )
    for part in range(parts if len(value_hashes) else 0):
        starts, ends = bounds[:, part], bounds[:, part + 1]
        slices = [h[a:b] for h, a, b in zip(value_hashes, starts, ends, strict=True)]
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


def _bitmaps(columns: Columns, times: Ints, width: int) -> Bitmaps:
    """The bitmap of each value over the columns; those come one value after the other."""
    bitmaps = np.zeros((len(times), (width + 7) // 8), dtype=np.uint8)
    ends = np.cumsum(times)
    for at in range(0, len(times), _BITMAPS_AT_ONCE):
        some = times[at : at + _BITMAPS_AT_ONCE]
        flags = np.zeros((len(some), width), dtype=np.bool_)
        first = ends[at] - times[at]
        row = np.repeat(np.arange(len(some)), some)
        flags[row, columns[first : first + len(row)]] = True
        bitmaps[at : at + len(some)] = np.packbits(flags, axis=1)
    return bitmaps
