"""Token overlap of headers: the words two headers have in common, for millions of pairs."""

from __future__ import annotations

from collections import Counter

import numpy as np
import numpy.typing as npt

from dovetail.arrays import Floats, Ints
from dovetail.joins.column_arrays import ColumnArrays
from dovetail.names.words import words

# The most frequent words: each has a bit of its own.
_FREQUENT = 64


class HeaderTokens:
    """Words of headers (table name and column name), and how they overlap.

    A header is two bitmaps of 64 bits: one with a bit for each of the most frequent words, the
    other with a bit for every 64th of the rare ones. Only headers with a bit of the second in
    common are compared word by word.
    """

    def __init__(self, arrays: ColumnArrays) -> None:
        tables = [frozenset(words(table.name)) for table in arrays.ids]
        headers = [
            tables[table] | frozenset(words(name))
            for table, name in zip(arrays.table.tolist(), arrays.name, strict=True)
        ]
        self._size = np.array([len(header) for header in headers], dtype=np.int64)
        uses = Counter(word for header in headers for word in header)
        code = {word: place for place, (word, _) in enumerate(uses.most_common())}
        coded = [sorted(code[word] for word in header) for header in headers]
        rare = [[word for word in header if word >= _FREQUENT] for header in coded]
        self._frequent = _bits([[w for w in header if w < _FREQUENT] for header in coded])
        self._rare = _bits(rare)
        # The rare words of each header, filled up with -1, which is none.
        width = max((len(header) for header in rare), default=0)
        self._words = np.full((width, len(headers)), -1, dtype=np.int32)
        for column, header in enumerate(rare):
            self._words[: len(header), column] = header

    def overlap(self, left: Ints, right: Ints) -> Floats:
        """Words in common, over those of the shorter header."""
        both = np.bitwise_count(self._frequent[left] & self._frequent[right])
        close = np.flatnonzero(self._rare[left] & self._rare[right])
        if len(close):
            both[close] += self._in_common(left[close], right[close])
        smaller = np.minimum(self._size[left], self._size[right])
        ratio: Floats = both / np.maximum(smaller, 1)
        return ratio

    def _in_common(self, left: Ints, right: Ints) -> npt.NDArray[np.uint8]:
        """How many of the rare words are in both headers."""
        common = np.zeros(len(left), dtype=np.uint8)
        others = [row[right] for row in self._words]
        for row in self._words:
            mine = row[left]
            for other in others:
                common += (mine == other) & (mine >= 0)
        return common


def _bits(headers: list[list[int]]) -> npt.NDArray[np.uint64]:
    found = [0] * len(headers)
    for column, header in enumerate(headers):
        for word in header:
            found[column] |= 1 << word % 64
    return np.array(found, dtype=np.uint64)
