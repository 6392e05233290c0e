"""The literals of a question that are cells somewhere, and the columns that hold them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dovetail.catalog.reader import CatalogReader
from dovetail.hashing import Comparison, Hashes, hash_values
from dovetail.joins.value_index.postings import Postings
from dovetail.phrases import cell_phrases
from dovetail.search.lexical import QueryTerm
from dovetail.search.question_spans import Span, spans
from dovetail.search.values import ValueIndex

Ints = npt.NDArray[np.int64]
_LookUp = Callable[[Sequence[str]], tuple[Ints, Ints]]

_NOTHING: Ints = np.empty(0, dtype=np.int64)
# More digits are no integer of any column.
_MOST_DIGITS = 18
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

    def __init__(self, catalog: CatalogReader, values: ValueIndex) -> None:
        self._values = values
        self._postings = Postings.of(catalog)
        self._comparison = Comparison(catalog.manifest.profile["comparison"])
        self._bounds = np.asarray(catalog.records.bounds)
        self._tables = len(catalog)
        self._of = lru_cache(maxsize=_KEPT)(self._find)
        self._filled = int(np.count_nonzero(catalog.records.tables["rows"].to_numpy()))

    def find(self, question: str) -> list[Literal]:
        """The longest spans that are cells, none overlapping another, each text once."""
        return list(self._of(question))

    def _find(self, question: str) -> tuple[Literal, ...]:
        # A lone surrogate is no text that a cell could hold; in its place comes a question mark.
        every = list(spans(question.encode("utf-8", "replace").decode("utf-8")))
        found: dict[str, Literal] = {}
        used: set[int] = set()
        for span, columns in zip(every, self._holders(every), strict=True):
            taken = range(span.start, span.end)
            if len(columns) and used.isdisjoint(taken):
                used.update(taken)
                found.setdefault(span.text, Literal(span, columns))
        return tuple(found.values())

    def tables(self, literal: Literal) -> npt.NDArray[np.int32]:
        """The tables that hold a literal, each once, in order."""
        table = np.searchsorted(self._bounds, literal.columns, side="right") - 1
        return table[np.flatnonzero(np.diff(table, prepend=-1))].astype(np.int32)

    def mention(self, literal: Literal) -> QueryTerm:
        """A literal as something the question mentions: the fewer tables hold it, the weightier."""
        tables = self.tables(literal)
        weight = math.log((self._filled + 1) / len(tables)) / math.log(self._tables + 1)
        span = literal.span
        if span.number:
            weight *= _NUMBER
        elif span.end - span.start == 1 and not span.named:
            weight *= _LONE
        ones = np.ones(len(tables), dtype=np.float32)
        return QueryTerm(span.text, weight, tables, ones, 0 * ones)

    def _holders(self, every: Sequence[Span]) -> list[Ints]:
        """The columns that hold each span, in order."""
        held = [
            self._held(every, [not span.written or span.end - span.start > 1 for span in every],
                       self._as_phrases),
            self._held(every, [span.written for span in every], self._as_written),
        ]  # fmt: skip
        place, column = (np.concatenate(part) for part in zip(*held, strict=True))
        order = np.lexsort((column, place))
        cuts = np.searchsorted(place[order], np.arange(1, len(every)))
        return np.split(column[order], cuts) if every else []

    def _held(
        self, every: Sequence[Span], chosen: Sequence[bool], look_up: _LookUp
    ) -> tuple[Ints, Ints]:
        """Places of chosen spans, each with a column that holds it."""
        places = np.flatnonzero(chosen)
        if not len(places):
            return _NOTHING, _NOTHING
        place, column = look_up([every[at].text for at in places.tolist()])
        return places[place], column

    def _as_phrases(self, texts: Sequence[str]) -> tuple[Ints, Ints]:
        return self._values.columns_holding(cell_phrases(texts))

    def _as_written(self, texts: Sequence[str]) -> tuple[Ints, Ints]:
        held = [
            (places[place], column)
            for places, hashes in readings(texts, self._comparison)
            for place, column in [self._postings.columns_holding(hashes)]
        ]
        place, column = (np.concatenate(part) for part in zip(*held, strict=True))
        return place, column


def readings(texts: Sequence[str], comparison: Comparison) -> Iterator[tuple[Ints, Hashes]]:
    """What texts may be as cells: places among them, with the hashes of one way to read those.

    Where values equal only their own type, a text is each of those that it can be read as.
    """
    yield np.arange(len(texts)), hash_values(pa.array(texts, pa.string()), comparison)
    if comparison is Comparison.TYPED:
        for kind, read in _TYPES:
            values = {
                at: value for at, text in enumerate(texts) if (value := read(text)) is not None
            }
            if values:
                yield np.array([*values]), hash_values(pa.array(values.values(), kind), comparison)


def _whole(text: str) -> int | None:
    return int(text) if text.isdigit() and len(text) <= _MOST_DIGITS else None


def _real(text: str) -> float | None:
    with suppress(ValueError):
        return float(text)
    return None


def _day(text: str) -> date | None:
    with suppress(ValueError):
        return date.fromisoformat(text)
    return None


_TYPES = ((pa.int64(), _whole), (pa.float64(), _real), (pa.date32(), _day))
