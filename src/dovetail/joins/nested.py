"""Which columns of a run hold all of some values, and which hold no others?

Few columns come into question: around the values lie only columns that hold a few of them, inside
only columns whose least value is one of them. Bits of the heavy values sort out the rest, and where
a column holds others too, it is compared value by value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from dovetail.hashing import Hashes
from dovetail.joins.lake import Flags, Ints, spans
from dovetail.joins.run import Run, Words, in_words
from dovetail.joins.subset import lies_in

# Values that are not heavy, and heavy ones, with which columns are tried first.
_LIGHT, _HEAVY = 8, 64
# Columns whose bits are compared together, so few that they stay in the processor's cache.
_NEAR = 512


def nested(
    run: Run, number: Ints, values: Hashes, vectors: Sequence[Hashes], chosen: Flags
) -> tuple[Ints, Ints]:
    """Of some columns, those that hold every one of some values, and those that hold no other.

    Nothing is nested with no values at all. `number` is the lake's of each of the run's columns,
    -1 for one that is gone; `vectors` and `chosen` go by it.
    """
    chosen = (number >= 0) & chosen[number]
    rows, places = run.rows(values)
    mine = in_words(rows, len(run.heavy))
    around = _likely_around(run, np.delete(values, places), rows, chosen)
    around = around[_every(run.words, around, lambda words: mine & ~words)]
    inside = _likely_inside(run, values, len(rows), chosen)
    inside = inside[_every(run.words, inside, lambda words: words & ~mine)]
    light = run.light[inside] > 0
    around, inside, unsure = number[around], number[inside[~light]], number[inside[light]]
    if len(rows) < len(values):
        around = _those(around, lambda column: lies_in(values, vectors[column]))
    more = _those(unsure, lambda column: lies_in(vectors[column], values))
    return around, np.append(inside, more)


def _likely_around(run: Run, light: Hashes, rows: Ints, chosen: Flags) -> Ints:
    """Columns that are large enough and hold a few of the values, light and heavy ones."""
    size = len(light) + len(rows)
    starts, ends = run.lists(light[:_LIGHT])
    if not size or (starts == ends).any():
        return np.empty(0, dtype=np.int64)
    likely = chosen & (run.distinct >= size)
    if len(light):
        held = np.bincount(run.columns[spans(starts, ends)], minlength=len(run))
        likely &= held == len(starts)
    if len(rows):
        likely &= run.flags(np.bitwise_and.reduce(run.bits[rows[:_HEAVY]], axis=0))
    return np.flatnonzero(likely)


def _likely_inside(run: Run, values: Hashes, heavy: int, chosen: Flags) -> Ints:
    """Columns that are small enough and whose least value is among the values."""
    starts = np.searchsorted(run.least, values)
    held = np.flatnonzero(starts < len(run.least))
    held = held[run.least[starts[held]] == values[held]]
    ends = np.searchsorted(run.least, values[held], side="right")
    columns = run.by_least[spans(starts[held], ends)].astype(np.int64)
    columns = columns[chosen[columns] & (run.distinct[columns] <= len(values))]
    likely: Ints = columns[run.distinct[columns] - run.light[columns] <= heavy]
    return likely


def _every(words: Words, columns: Ints, missing: Callable[[Words], Words]) -> Flags:
    """The columns whose bits leave none missing."""
    found = np.zeros(len(columns), dtype=np.bool_)
    for at in range(0, len(columns), _NEAR):
        some = missing(words[columns[at : at + _NEAR]])
        found[at : at + _NEAR] = ~np.bitwise_or.reduce(some, axis=1).astype(np.bool_)
    return found


def _those(columns: Ints, right: Callable[[int], bool]) -> Ints:
    return columns[np.array([right(column) for column in columns.tolist()], dtype=np.bool_)]
