"""A few values of each column, sampled by rows: what a column is tried with before all of it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dovetail.arrays import Counts, Floats, Ints
from dovetail.hashing import Hashes

# Values sampled from a column.
SAMPLE_SIZE = 32


@dataclass(frozen=True, slots=True)
class RowSample:
    """Sampled values of some columns, sorted by hash.

    Beside each value: the column it was sampled from, how many rows of that column hold it, and how
    many of the tables that the columns belong to hold it.
    """

    hashes: Hashes
    column: npt.NDArray[np.int32]
    rows: npt.NDArray[np.int64]
    tables: npt.NDArray[np.int64]


def sample_columns(
    value_hashes: Sequence[Hashes], counts: Sequence[Counts]
) -> tuple[Hashes, Ints, Ints]:
    """Values sampled from each column, sorted, with the columns and rows they come from."""
    nothing = np.empty(0, dtype=np.int64)
    values: list[Hashes] = [nothing.astype(np.uint64)]
    rows: list[Ints] = [nothing]
    for hashes, times in zip(value_hashes, counts, strict=True):
        chosen = sample_places(hashes, times)
        values.append(hashes[chosen])
        rows.append(times[chosen].astype(np.int64))
    column = np.repeat(np.arange(len(value_hashes)), [len(part) for part in values[1:]])
    every = np.concatenate(values)
    order = np.argsort(every, kind="stable")
    return every[order], column[order], np.concatenate(rows)[order]


def mean_nats(column: npt.NDArray[np.integer[Any]], tables: Ints, size: int) -> Floats:
    """Per column the mean, over its sampled values, of ln(tables that hold the value).

    Given are the column of each sampled value, the tables that hold it, and how many columns
    there are.
    """
    # There are few numbers of tables, each of them many times: a logarithm for each is looked up.
    nats = np.log(np.maximum(np.arange(int(tables.max(initial=0)) + 1), 1))[tables]
    sampled = np.bincount(column, minlength=size)
    mean: Floats = np.bincount(column, nats, minlength=size) / np.maximum(sampled, 1)
    return mean


def sample_places(hashes: Hashes, counts: Counts) -> Ints:
    """The places of a column's sampled values, in order; more rows make a value more likely.

    The same ones every time: a hash is a random number u itself, and those with the smallest
    -ln(u) / rows are a sample weighted by rows (Efraimidis and Spirakis).
    """
    if len(hashes) <= SAMPLE_SIZE:
        return np.arange(len(hashes))
    if counts.max() == 1:
        return np.arange(len(hashes) - SAMPLE_SIZE, len(hashes))
    order = -np.log((hashes.astype(np.float64) + 1) / 2.0**64) / counts
    return np.sort(np.argpartition(order, SAMPLE_SIZE)[:SAMPLE_SIZE])
