"""Bitmap signatures: what tells without a lookup that one column's values cannot contain another's.

A signature is a column's bits over the frequent values, with its few smallest hashes. If a frequent
value of one column is missing from another, the first is not contained in the second.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dovetail.arrays import Flags, Ints
from dovetail.hashing import Hashes

# The smallest hashes of a column that its signature holds.
_SMALLEST = 8

Bitmaps = npt.NDArray[np.uint8]
BitWords = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Signatures:
    """The signatures of some columns.

    They are sorted by `first`, the smallest hash of a column, so that columns compared with the
    same values stand together: `column` leads from a signature to its column, `place` from a column
    to its signature. Frequent values have a `rank`, the one that most columns hold first, so that
    columns of few values need few bits.

    Per signature: a bit for each frequent value, by rank, in `words`; the number of words up to the
    last that is not empty (`width`); and the few `smallest` hashes. Empty columns come last and
    have no `first`.
    """

    column: Ints
    place: Ints
    rank: Ints
    words: BitWords
    width: Ints
    smallest: Hashes
    first: Hashes


# Bitmaps whose bits are counted at a time.
_AT_ONCE = 1 << 12


def smallest_hashes(value_hashes: Sequence[Hashes]) -> Hashes:
    """The few smallest hashes of each column, again and again where it has fewer."""
    smallest = np.zeros((len(value_hashes), _SMALLEST), dtype=np.uint64)
    for row, hashes in zip(smallest, value_hashes, strict=True):
        if len(hashes):
            row[:] = np.resize(hashes[:_SMALLEST], _SMALLEST)
    return smallest


def make_signatures(smallest: Hashes, empty: Flags, bitmaps: Bitmaps) -> Signatures:
    """The signatures of some columns, given for each frequent value the bitmap of its columns.

    `smallest` are the few smallest hashes of each column; `empty` flags those without values.
    """
    holders = np.zeros(len(bitmaps), dtype=np.int64)
    for at in range(0, len(bitmaps), _AT_ONCE):
        part = slice(at, at + _AT_ONCE)
        holders[part] = np.bitwise_count(bitmaps[part]).sum(axis=1, dtype=np.int64)
    order = np.argsort(-holders, kind="stable")
    column = np.lexsort((smallest[:, 0], empty))
    words = _transposed(bitmaps[order], len(smallest))[column]
    return Signatures(
        column=column,
        place=np.argsort(column),
        rank=np.argsort(order),
        words=words,
        width=np.max((words != 0) * np.arange(1, words.shape[1] + 1), axis=1, initial=0),
        smallest=smallest[column],
        first=smallest[column[: np.count_nonzero(~empty)], 0],
    )


def _transposed(bitmaps: Bitmaps, columns: int) -> BitWords:
    """Bitmaps of values over columns as bitmaps of columns over values, in words of 64 bits."""
    found = np.zeros((8 * bitmaps.shape[1], -(-len(bitmaps) // 64) * 8), dtype=np.uint8)
    for at in range(0, bitmaps.shape[1], 8):  # so few bytes that they stay in the cache
        flags = np.ascontiguousarray(np.unpackbits(bitmaps[:, at : at + 8], axis=1).T)
        packed = np.packbits(flags, axis=1)
        found[8 * at : 8 * at + len(packed), : packed.shape[1]] = packed
    return found[:columns].view(np.uint64)


def as_words(ranks: Ints) -> BitWords:
    """A bit for each of some ranks, in as many words as the highest rank needs."""
    flags = np.zeros((int(ranks.max(initial=-1)) // 64 + 1) * 64, dtype=np.bool_)
    flags[ranks] = True
    return np.packbits(flags).view(np.uint64)
