"""Which columns of a run hold all of some values, and which hold no others?

Few columns come into question: around the values lie only columns that hold a few of them, inside
only columns whose least values are among them. Bits decide over heavy values; the others are looked
up where a column is left that they could decide over.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dovetail.hashing import Hashes
from dovetail.joins.column_arrays import Flags, Ints, found_in, spans
from dovetail.joins.value_index.index_segment import Run
from dovetail.joins.value_index.signatures import Words, in_words

# Values that are not heavy, and heavy ones, with which columns are tried first.
_LIGHT, _HEAVY = 16, 64
# Columns whose bits are compared together, so few that they stay in the processor's cache.
_NEAR = 512

# Says of some columns of a run which are wanted.
Wanted = Callable[[Ints], Flags]


def nested(run: Run, values: Hashes, wanted: Wanted) -> tuple[Ints, Ints]:
    """Of some columns, those that hold all of some values, and those that hold no others.

    Nothing is nested with no values at all.
    """
    rows, places = run.rows(values)
    light = np.delete(values, places)
    around = _around(run, light, rows, wanted)
    inside = _inside(run, values, rows, wanted)
    if run.light[inside].any() or (len(around) and len(light) > _LIGHT):
        held = run.listed(light)
        around = around[held[around] == len(light)]
        inside = inside[held[inside] == run.light[inside]]
    return around, inside


def _around(run: Run, light: Hashes, rows: Ints, wanted: Wanted) -> Ints:
    """Columns that hold the heavy values and a few of the others."""
    starts, ends = run.lists(light[:_LIGHT])
    if not len(light) + len(rows) or (starts == ends).any():
        return np.empty(0, dtype=np.int64)
    if len(light):
        held = np.bincount(run.columns[spans(starts, ends)], minlength=len(run))
        columns = np.flatnonzero(held == len(starts))
    else:
        few = np.bitwise_and.reduce(run.bits[rows[:_HEAVY]], axis=0)
        columns = np.flatnonzero(run.flags(few))
    columns = columns[run.distinct[columns] >= len(light) + len(rows)]
    columns = columns[wanted(columns)]
    if len(columns) and (len(light) or len(rows) > _HEAVY):
        mine = in_words(run.outlines.rank[rows])
        places = run.outlines.place[columns]
        columns = columns[_none(run.outlines.words, places, lambda words: mine & ~words, len(mine))]
    return columns


def _inside(run: Run, values: Hashes, rows: Ints, wanted: Wanted) -> Ints:
    """Columns that hold no other heavy values, and whose least values are among the values."""
    outlines = run.outlines
    starts = np.searchsorted(outlines.first, values)
    held = np.flatnonzero(starts < len(outlines.first))
    held = held[outlines.first[starts[held]] == values[held]]
    ends = np.searchsorted(outlines.first, values[held], side="right")
    places = spans(starts[held], ends)
    if not len(places):
        return places
    mine = in_words(outlines.rank[rows])
    places = places[outlines.reach[places] <= len(mine)]
    columns = outlines.column[places]
    likely = (run.distinct[columns] <= len(values)) & wanted(columns)
    places, columns = places[likely], columns[likely]
    fits = _none(outlines.words, places, lambda words: words & ~mine, len(mine))
    places, columns = places[fits], columns[fits]
    unsure = np.flatnonzero(run.light[columns])
    least = found_in(outlines.least[places[unsure]], values)
    return np.delete(columns, unsure[~least.all(axis=1)])


def _none(words: Words, places: Ints, chosen: Callable[[Words], Words], reach: int) -> Flags:
    """The places none of whose bits, up to some word, are chosen."""
    found = np.zeros(len(places), dtype=np.bool_)
    for at in range(0, len(places), _NEAR):
        some = chosen(words[:, :reach][places[at : at + _NEAR]])
        found[at : at + _NEAR] = np.bitwise_or.reduce(some, axis=1) == 0
    return found
