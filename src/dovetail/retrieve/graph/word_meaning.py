"""How near in meaning the words of a question are to the words that tables are named by.

A question says "clients" where the table says `customers`. Vectors of single words tell that; those
of whole headers and schema lines, which the search goes by, tell it much worse.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from dovetail.arrays import Vectors
from dovetail.domain import TableId
from dovetail.names.words import spelled
from dovetail.search.searcher import Searcher

# Shorter words are ids and abbreviations, which have no meaning by themselves.
_SHORTEST = 3
_WORDS_KEPT = 1 << 14


class WordMeaning:
    """Compares words by their vectors, each of which is made once."""

    def __init__(self, searcher: Searcher) -> None:
        self._searcher = searcher
        self._known: dict[str, Vectors] = {}

    def nearest(self, words: Sequence[str], tables: Sequence[TableId]) -> Mapping[str, float]:
        """The cosine of each word and the nearest word in the names of tables and columns."""
        said = sorted({word for table in tables for word in self._named(table)})
        asked = [word for word in words if len(word) >= _SHORTEST]
        if not said or not asked:
            return {}
        cosines = self._vectors(asked) @ self._vectors(said).T
        return dict(zip(asked, cosines.max(axis=1).tolist(), strict=True))

    def _named(self, table: TableId) -> list[str]:
        known = self._searcher.catalog[table]
        names = (known.name, *(column.name for column in known.columns))
        found = (word for name in names for word in spelled(name).split())
        return [word for word in found if len(word) >= _SHORTEST and not word.isdigit()]

    def _vectors(self, words: Sequence[str]) -> Vectors:
        if len(self._known) > _WORDS_KEPT:
            self._known = {}
        new = sorted(set(words) - self._known.keys())
        if new:
            self._known |= dict(zip(new, self._searcher.vectors(new), strict=True))
        return np.stack([self._known[word] for word in words])
