"""A part of an index segment: all values in a range of hashes, with the columns that hold them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dovetail.arrays import Ints, firsts
from dovetail.hashing import Hashes
from dovetail.joins.value_index.index_segment import Columns, count_tables
from dovetail.joins.value_index.signatures import Bitmaps

# A value is frequent that one column in 64 holds, of 256 columns at least: from there on a bitmap,
# and its transpose, take little more room than a posting list, and are quicker.
_ONE_IN, _OF_AT_LEAST = 64, 256
# Bitmaps that are packed together.
_BITMAPS_AT_ONCE = 128


@dataclass(frozen=True, slots=True)
class IndexPart:
    """Rare values with how often each comes, and the columns of all; frequent ones with bitmaps.

    `held_by` is how many tables hold each sampled value of the range, in their order.
    """

    hashes: Hashes
    times: Ints
    columns: Columns
    frequent: Hashes
    bitmaps: Bitmaps
    held_by: Ints


def index_part(values: Hashes, columns: Columns, table: Ints, sampled: Hashes) -> IndexPart:
    """Index values that come in order, each with its column; none of them may be in another part.

    `table` is the table of each column, `sampled` are the sampled values of all columns in order.
    """
    starts = np.append(firsts(values), len(values))
    times, distinct = np.diff(starts), values[starts[:-1]]
    first, last = sampled.searchsorted(distinct[0]), sampled.searchsorted(distinct[-1], "right")
    at = distinct.searchsorted(sampled[first:last])
    held_by = count_tables(values, table[columns], starts[at], starts[at + 1])
    many = times * _ONE_IN >= max(len(table), _OF_AT_LEAST)
    spread = np.repeat(many, times)
    return IndexPart(
        hashes=distinct[~many],
        times=times[~many],
        columns=columns[~spread],
        frequent=distinct[many],
        bitmaps=_bitmaps(columns[spread], times[many], len(table)),
        held_by=held_by,
    )


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
