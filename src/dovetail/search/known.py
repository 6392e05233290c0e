"""The literals of a question that are cells somewhere, and the columns that hold them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dovetail.catalog.reader import Catalog
from dovetail.hashing import Comparison, Hashes, hash_values
from dovetail.joins.postings import Postings
from dovetail.phrases import cell_phrases
from dovetail.search.lexical import Mention
from dovetail.search.literals import Span, spans
from dovetail.search.values import ValueIndex

Ints = npt.NDArray[np.int64]

# A bare number is a cell of many columns by chance, and a lone word that is not written as a name
# is likelier to be speech.
_NUMBER, _LONE = 0.2, 0.2
# Questions whose literals are kept: search, choice and reasons each want them.
_KEPT = 16


@dataclass(frozen=True, slots=True)
class Literal:
    """A span of a question, and the columns that hold it, numbered through the tables in order."""

    span: Span
    columns: Ints


class Literals:
    """Finds what a question quotes from the cells of a catalog."""

    def __init__(self, catalog: Catalog, values: ValueIndex) -> None:
        self._values = values
        self._postings = Postings.of(catalog)
        self._comparison = Comparison(catalog.manifest.profile["comparison"])
        self._bounds = np.asarray(catalog.rows.bounds)
        self._tables = len(catalog)
        self._of = lru_cache(maxsize=_KEPT)(self._find)
        self._filled = int(np.count_nonzero(catalog.rows.tables["rows"].to_numpy()))

    def find(self, question: str) -> list[Literal]:
        """The longest spans that are cells, none overlapping another."""
        return list(self._of(question))

    def _find(self, question: str) -> tuple[Literal, ...]:
        every = list(spans(question))
        found: list[Literal] = []
        used: set[int] = set()
        for span, columns in zip(every, self._holders(every), strict=True):
            taken = range(span.start, span.end)
            if len(columns) and used.isdisjoint(taken):
                used.update(taken)
                found.append(Literal(span, columns))
        return tuple(found)

    def tables(self, literal: Literal) -> npt.NDArray[np.int32]:
        """The tables that hold a literal, each once, in order."""
        table = np.searchsorted(self._bounds, literal.columns, side="right") - 1
        return np.unique(table).astype(np.int32)

    def mention(self, literal: Literal) -> Mention:
        """A literal as something the question mentions: the fewer tables hold it, the weightier."""
        tables = self.tables(literal)
        weight = math.log((self._filled + 1) / len(tables)) / math.log(self._tables + 1)
        span = literal.span
        if span.number:
            weight *= _NUMBER
        elif span.end - span.start == 1 and not span.named:
            weight *= _LONE
        ones = np.ones(len(tables), dtype=np.float32)
        return Mention(span.text, weight, tables, ones, 0 * ones)

    def _holders(self, every: Sequence[Span]) -> list[Ints]:
        """The columns that hold each span: numbers as they are written, the rest as phrases."""
        if not every:
            return []
        digits = np.array([span.number for span in every])
        columns: list[Ints] = [np.empty(0, dtype=np.int64)] * len(every)
        for chosen, looked_up in ((~digits, self._as_phrases), (digits, self._as_written)):
            places = np.flatnonzero(chosen)
            if len(places):
                held, column = looked_up([every[place].text for place in places.tolist()])
                cuts = np.searchsorted(held, np.arange(1, len(places)))
                for place, part in zip(places.tolist(), np.split(column, cuts), strict=True):
                    columns[place] = part
        return columns

    def _as_phrases(self, texts: Sequence[str]) -> tuple[Ints, Ints]:
        return self._values.columns_holding(cell_phrases(texts))

    def _as_written(self, texts: Sequence[str]) -> tuple[Ints, Ints]:
        return self._postings.columns_holding(self._hashed(texts))

    def _hashed(self, texts: Sequence[str]) -> Hashes:
        whole = [text for text in texts if text.isascii() and text.isdigit() and len(text) < 18]
        if self._comparison is Comparison.TYPED and len(whole) == len(texts):
            return hash_values(pa.array([int(text) for text in texts]), self._comparison)
        return hash_values(pa.array(texts, pa.string()), self._comparison)
