"""Words that two headers have in common, for millions of pairs of columns."""

from __future__ import annotations

from collections import Counter

import numpy as np
import numpy.typing as npt

from dovetail.joins.column_arrays import Floats, Ints, Lake
from dovetail.joins.naming.name_words import words

# Words in most use: each has a bit of its own.
_OFTEN = 64


class Headers:
    """Words of headers (table name and column name), and how they overlap.

    A header is two numbers of 64 bits: one with a bit for each word in most use, the other with a
    bit for every 64th of the rest. Only headers with such a bit in common are looked at closely.
    """

    def __init__(self, lake: Lake) -> None:
        tables = [frozenset(words(table.name)) for table in lake.ids]
        said = [
            tables[table] | frozenset(words(name))
            for table, name in zip(lake.table.tolist(), lake.name, strict=True)
        ]
        self._size = np.array([len(header) for header in said], dtype=np.int64)
        used = Counter(word for header in said for word in header)
        code = {word: place for place, (word, _) in enumerate(used.most_common())}
        coded = [sorted(code[word] for word in header) for header in said]
        rare = [[word for word in header if word >= _OFTEN] for header in coded]
        self._often = _bits([[w for w in header if w < _OFTEN] for header in coded])
        self._rare = _bits(rare)
        # The rarer words of each header, filled up with what is in no other.
        width = max((len(header) for header in rare), default=0)
        self._words = np.full((width, len(said)), -1, dtype=np.int32)
        for column, header in enumerate(rare):
            self._words[: len(header), column] = header

    def overlap(self, left: Ints, right: Ints) -> Floats:
        """Words in common, over those of the shorter header."""
        both = np.bitwise_count(self._often[left] & self._often[right])
        close = np.flatnonzero(self._rare[left] & self._rare[right])
        if len(close):
            both[close] += self._in_common(left[close], right[close])
        smaller = np.minimum(self._size[left], self._size[right])
        ratio: Floats = both / np.maximum(smaller, 1)
        return ratio

    def _in_common(self, left: Ints, right: Ints) -> npt.NDArray[np.uint8]:
        """How many of the rarer words are in both headers."""
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
