"""Which columns of a run hold all of some values, and which hold no others?

Few columns come into question: around the values lie only columns that hold a few of them, inside
only columns whose least values are among them. Bits decide over heavy values; the others are looked
up where a column is left that they could decide over.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dovetail.hashing import Hashes
from dovetail.joins.lake import Flags, Ints, found_in, spans
from dovetail.joins.run import Run, Words, in_words

# Values that are not heavy, and heavy ones, with which columns are tried first.
_LIGHT, _HEAVY = 16, 64
# Columns whose bits are compared together, so few that they stay in the processor's cache.
_NEAR = 256


def nested(run: Run, values: Hashes, chosen: Flags) -> tuple[Ints, Ints]:
    """Of some columns, those that hold every one of some values, and those that hold no other.

    Nothing is nested with no values at all.
    """
    rows, places = run.rows(values)
    light = np.delete(values, places)
    around = _around(run, light, rows, chosen)
    inside = _inside(run, values, rows, chosen)
    unsure = run.light[inside] > 0
    if unsure.any() or (len(around) and len(light) > _LIGHT):
        held = _held(run, light)
        around = around[held[around] == len(light)]
        inside = inside[held[inside] == run.light[inside]]
    return around, inside


def _held(run: Run, light: Hashes) -> Ints:
    """Per column, how many of some values that are not heavy it holds."""
    return np.bincount(run.columns[spans(*run.lists(light))], minlength=len(run))


def _around(run: Run, light: Hashes, rows: Ints, chosen: Flags) -> Ints:
    """Columns that hold the heavy values and a few of the others."""
    likely = chosen & (run.distinct >= len(light) + len(rows)) & (len(light) + len(rows) > 0)
    if len(light):
        few = light[:_LIGHT]
        likely &= _held(run, few) == len(few)
    if len(rows):
        likely &= run.flags(np.bitwise_and.reduce(run.bits[rows[:_HEAVY]], axis=0))
    columns = np.flatnonzero(likely)
    if len(rows) > _HEAVY:
        mine = in_words(rows, len(run.heavy))
        columns = columns[_none(run.words, columns, lambda words: mine & ~words)]
    return columns


def _inside(run: Run, values: Hashes, rows: Ints, chosen: Flags) -> Ints:
    """Columns that hold no other heavy values, and whose least values are among the values."""
    starts = np.searchsorted(run.first, values)
    held = np.flatnonzero(starts < len(run.first))
    held = held[run.first[starts[held]] == values[held]]
    ends = np.searchsorted(run.first, values[held], side="right")
    columns = run.by_first[spans(starts[held], ends)].astype(np.int64)
    columns = columns[chosen[columns] & (run.distinct[columns] <= len(values))]
    columns = np.sort(columns[run.distinct[columns] - run.light[columns] <= len(rows)])
    others = ~in_words(rows, len(run.heavy))
    columns = columns[_none(run.words, columns, lambda words: words & others)]
    unsure = np.flatnonzero(run.light[columns])
    least = found_in(run.least[columns[unsure]], values)
    return np.delete(columns, unsure[~least.all(axis=1)])


def _none(words: Words, columns: Ints, chosen: Callable[[Words], Words]) -> Flags:
    """The columns none of whose bits are chosen."""
    found = np.zeros(len(columns), dtype=np.bool_)
    for at in range(0, len(columns), _NEAR):
        some = chosen(words.take(columns[at : at + _NEAR], axis=0))
        found[at : at + _NEAR] = np.bitwise_or.reduce(some, axis=1) == 0
    return found
