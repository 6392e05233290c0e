"""A few values of each column, drawn by rows: what a column is tried with before all of it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dovetail.hashing import Hashes
from dovetail.joins.column_arrays import Counts, Ints

# Values drawn from a column.
SAMPLE = 32


@dataclass(frozen=True, slots=True)
class Drawn:
    """Drawn values of some columns, in the order of the values.

    Beside each value: the column it was drawn from, how many of its rows hold it, and how many of
    the tables that the columns are of hold it.
    """

    hashes: Hashes
    column: npt.NDArray[np.int32]
    rows: npt.NDArray[np.int64]
    tables: npt.NDArray[np.int64]


def draw(vectors: Sequence[Hashes], counts: Sequence[Counts]) -> tuple[Hashes, Ints, Ints]:
    """Values drawn from each column, in order, with their columns and rows."""
    nothing = np.empty(0, dtype=np.int64)
    values: list[Hashes] = [nothing.astype(np.uint64)]
    rows: list[Ints] = [nothing]
    for vector, times in zip(vectors, counts, strict=True):
        chosen = drawn_places(vector, times)
        values.append(vector[chosen])
        rows.append(times[chosen].astype(np.int64))
    column = np.repeat(np.arange(len(vectors)), [len(part) for part in values[1:]])
    together = np.concatenate(values)
    order = np.argsort(together, kind="stable")
    return together[order], column[order], np.concatenate(rows)[order]


def drawn_places(vector: Hashes, counts: Counts) -> Ints:
    """The places of a few values, in order; a value is the likelier the more rows hold it.

    The same ones every time: a hash is a random number u itself, and those with the smallest
    -ln(u) / rows are a sample weighted by rows.
    """
    if len(vector) <= SAMPLE:
        return np.arange(len(vector))
    if counts.max() == 1:
        return np.arange(len(vector) - SAMPLE, len(vector))
    order = -np.log((vector.astype(np.float64) + 1) / 2.0**64) / counts
    return np.sort(np.argpartition(order, SAMPLE)[:SAMPLE])
