"""Value linking: which spans of a question are cells of the catalog, and in which columns."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np
import numpy.typing as npt

from dovetail.arrays import Ints, firsts, sorted_pairs
from dovetail.catalog.reader import CatalogReader
from dovetail.catalog.records import numbers
from dovetail.hashing import hash_values, text_array
from dovetail.phrases import cell_phrases
from dovetail.search.logical import LogicalTables
from dovetail.search.number_columns import NumberColumns
from dovetail.search.query import QueryTerm, ValueLink
from dovetail.search.question_spans import Span
from dovetail.search.values import ValueIndex

_LookUp = Callable[[Sequence[str]], tuple[Ints, Ints]]

_NOTHING: Ints = np.empty(0, dtype=np.int64)
_YEAR = re.compile(r"(?:19|20)\d\d")
# A bare number is a cell of many columns by chance, and a lone word that is not written as a name
# is likelier to be speech.
_NUMBER, _PLAIN_WORD = 0.2, 0.2
# The words that a name may have which another table keeps in a column each.
_NAME_WORDS = (2, 3)


class ValueLinker:
    """Finds what a question quotes from the cells of a catalog."""

    def __init__(
        self, catalog: CatalogReader, values: ValueIndex, logical: LogicalTables | None = None
    ) -> None:
        self._values = values
        self._numbers = NumberColumns(catalog)
        self._stands = None if logical is None else logical.stands
        widths = np.diff(catalog.records.bounds)
        self._table_of = np.repeat(np.arange(len(catalog), dtype=np.int32), widths)
        filled = numbers(catalog.records.tables["rows"]) > 0
        alone = np.ones(len(catalog), dtype=np.bool_) if logical is None else logical.alone
        self._tables = int(np.count_nonzero(alone))
        self._filled = int(np.count_nonzero(filled & alone))

    def link(self, spans: Sequence[Span]) -> tuple[ValueLink, ...]:
        """The spans that are cells, none overlapping an earlier one, each text once.

        Spans come with the longest first, so that the longest values win.
        """
        holders = self._holders(spans)
        words = {
            span.start: held
            for span, held in zip(spans, holders, strict=True)
            if span.end - span.start == 1
        }
        found: dict[str, tuple[Span, Ints]] = {}
        used: set[int] = set()
        for span, held in zip(spans, holders, strict=True):
            columns = self._of_years(held) if _YEAR.fullmatch(span.text) else held
            taken = range(span.start, span.end)
            if len(columns) and used.isdisjoint(taken):
                used.update(taken)
                if span.named and len(taken) in _NAME_WORDS:
                    columns = self._with_parts(columns, [words.get(at, _NOTHING) for at in taken])
                found.setdefault(span.text, (span, columns))
        return tuple(
            ValueLink(span, columns, self._term(span, columns)) for span, columns in found.values()
        )

    def _with_parts(self, columns: Ints, words: Sequence[Ints]) -> Ints:
        """Columns that hold a name, and those of tables that hold its words in a column each.

        A person who is `Ingrid Solberg` in one table has a first and a last name in another.
        """
        parts = [
            _beside(held, [*words[:at], *words[at + 1 :]], self._table_of)
            for at, held in enumerate(words)
        ]
        return _once([columns, *parts])

    def _of_years(self, columns: Ints) -> Ints:
        """The columns where a year can be meant: not those of a key that counts rows."""
        return self._numbers.not_counted_through(columns)

    def _term(self, span: Span, columns: Ints) -> QueryTerm:
        """A value as a term: the fewer tables hold it, the more it weighs."""
        table = self._table_of[columns]
        tables = table[np.flatnonzero(np.diff(table, prepend=-1))]
        if self._stands is not None:
            tables = np.unique(self._stands[tables]).astype(np.int32)
        weight = math.log((self._filled + 1) / len(tables)) / math.log(self._tables + 1)
        if span.number or span.calendar:
            weight *= _NUMBER
        elif span.plain_word:
            weight *= _PLAIN_WORD
        ones = np.ones(len(tables), dtype=np.float32)
        return QueryTerm(span.text, weight, tables, ones, 0 * ones)

    def _holders(self, spans: Sequence[Span]) -> list[Ints]:
        """The columns that hold each span, in order."""
        held = [
            self._held(spans, [not span.written or span.end - span.start > 1 for span in spans],
                       self._as_phrases),
            self._held(spans, [span.written for span in spans], self._as_written),
        ]  # fmt: skip
        if not spans:
            return []
        each = [
            np.split(column, np.searchsorted(place, np.arange(1, len(spans))))
            for place, column in held
        ]
        return [
            np.sort(np.concatenate(both)) if all(map(len, both)) else max(both, key=len)
            for both in zip(*each, strict=True)
        ]

    def _held(
        self, spans: Sequence[Span], chosen: Sequence[bool], look_up: _LookUp
    ) -> tuple[Ints, Ints]:
        """Places of chosen spans, each with a column that holds it."""
        places = np.flatnonzero(chosen)
        if not len(places):
            return _NOTHING, _NOTHING
        place, column = look_up([spans[at].text for at in places.tolist()])
        return places[place], column

    def _as_phrases(self, texts: Sequence[str]) -> tuple[Ints, Ints]:
        return self._values.columns_holding(cell_phrases(texts))

    def _as_written(self, texts: Sequence[str]) -> tuple[Ints, Ints]:
        return sorted_pairs(*self._values.columns_holding(hash_values(text_array(texts))))


def _once(lists: Sequence[Ints]) -> Ints:
    """The columns of some lists in order, each once; NumPy's own way hashes them, and is slow."""
    every = np.sort(np.concatenate(lists))
    return every[firsts(every)]


def _beside(columns: Ints, others: Sequence[Ints], table_of: npt.NDArray[np.int32]) -> Ints:
    """The columns beside which their table has another one for each of the other words.

    No column is to hold two of them. By Hall's theorem that can be had where any n of the others
    are held, all together, by n columns besides.
    """
    for size in range(1, len(others) + 1):
        for some in combinations(others, size):
            holders = _once(some)
            held = table_of[holders]
            mine = table_of[columns]
            times = np.searchsorted(held, mine, side="right") - np.searchsorted(held, mine)
            itself = np.searchsorted(holders, columns, side="right") - np.searchsorted(
                holders, columns
            )
            columns = columns[times - itself >= size]
    return columns
