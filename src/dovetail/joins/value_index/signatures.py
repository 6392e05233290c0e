"""What tells at a glance which columns may lie in which: bits of heavy values, and a few values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dovetail.hashing import Hashes
from dovetail.joins.column_arrays import Ints

# Least values of a column that are kept.
_LEAST = 8

Bits = npt.NDArray[np.uint8]
Words = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Outlines:
    """The outlines of some columns.

    They stand in the order of their `first`, that is least, values, so that what is compared with
    the same values stands together: `column` and `place` lead from one order to the other. Heavy
    values have a `rank`, the one that most columns hold first, so that columns of few values need
    few bits. Per column: a bit for each heavy value, by rank, in `words`; how many words there are
    up to the last that is not empty (`reach`); and its few `least` values. Empty columns come last,
    and have no `first`.
    """

    column: Ints
    place: Ints
    rank: Ints
    words: Words
    reach: Ints
    least: Hashes
    first: Hashes


def make_outlines(vectors: Sequence[Hashes], bits: Bits) -> Outlines:
    """Outline some columns, given a row of bits for each heavy value: the columns that hold it."""
    times = np.array([np.bitwise_count(row).sum(dtype=np.int64) for row in bits], dtype=np.int64)
    order = np.argsort(-times, kind="stable")
    least = np.zeros((len(vectors), _LEAST), dtype=np.uint64)
    for row, vector in zip(least, vectors, strict=True):
        if len(vector):
            row[:] = np.resize(vector[:_LEAST], _LEAST)
    empty = np.array([not len(vector) for vector in vectors], dtype=np.bool_)
    column = np.lexsort((least[:, 0], empty))
    words = _turned(bits[order], len(vectors))[column]
    return Outlines(
        column=column,
        place=np.argsort(column),
        rank=np.argsort(order),
        words=words,
        reach=np.max((words != 0) * np.arange(1, words.shape[1] + 1), axis=1, initial=0),
        least=least[column],
        first=least[column[: np.count_nonzero(~empty)], 0],
    )


def _turned(bits: Bits, width: int) -> Words:
    """Rows of bits the other way round: a row of words for each of their columns."""
    turned = np.zeros((8 * bits.shape[1], -(-len(bits) // 64) * 8), dtype=np.uint8)
    for at in range(0, bits.shape[1], 8):  # so few that what is turned stays near
        flags = np.ascontiguousarray(np.unpackbits(bits[:, at : at + 8], axis=1).T)
        packed = np.packbits(flags, axis=1)
        turned[8 * at : 8 * at + len(packed), : packed.shape[1]] = packed
    return turned[:width].view(np.uint64)


def in_words(ranks: Ints) -> Words:
    """A bit for each of some ranks, in no more words than they reach."""
    flags = np.zeros((int(ranks.max(initial=-1)) // 64 + 1) * 64, dtype=np.bool_)
    flags[ranks] = True
    return np.packbits(flags).view(np.uint64)
