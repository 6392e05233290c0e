"""Value linking: which spans of a question are cells of the catalog, and in which columns."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from itertools import combinations, compress

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dovetail.arrays import Ints, firsts, sorted_pairs
from dovetail.catalog.reader import CatalogReader
from dovetail.catalog.records import numbers
from dovetail.hashing import hash_values, text_array
from dovetail.names.words import words
from dovetail.phrases import cell_phrases
from dovetail.search.logical import LogicalTables
from dovetail.search.query import QueryTerm, Span, ValueLink
from dovetail.search.values import ValueIndex

_LookUp = Callable[[Sequence[str]], tuple[Ints, Ints]]

_NOTHING: Ints = np.empty(0, dtype=np.int64)
_YEAR = re.compile(r"(?:19|20)\d\d")
# A bare number is a cell of many columns by chance, and a lone word that is not written as a name
# is likelier to be speech.
_NUMBER, _PLAIN_WORD = 0.2, 0.2
# The words that a name may have which another table keeps in a column each.
_NAME_WORDS = (2, 3)
# Names of columns that hold numbers which people say.
_SAID = frozenset(
    """year yr season edition code zip postcode postal version grade class level age model number
    no nr phone floor room""".split()  # noqa: SIM905 - words read best as text
)
# Whole numbers that fill this share of their range, and are so many, are counted through.
_DENSE, _MANY = 0.5, 50


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


class NumberColumns:
    """Which columns a number in a question can be meant of: dates, years, codes, small counts.

    A number that is a cell of a key counted through, or of a measured amount, is there by chance:
    of ten thousand orders one has the number 2022 in any case. Columns are numbered through the
    tables of the catalog.
    """

    def __init__(self, catalog: CatalogReader) -> None:
        self._columns = catalog.records.columns

    def meant(self, column: int) -> bool:
        """Whether a number that stands in a column can be what a question means by it."""
        kind = self._columns["kind"][column].as_py()
        if kind in ("text", "date", "timestamp"):
            return True
        if _SAID & set(words(self._columns["name"][column].as_py())):
            return not self.counted_through(column)
        return bool(kind == "integer" and self._columns["distinct"][column].as_py() < _MANY)

    def counted_through(self, column: int) -> bool:
        """Whether a column holds a key that counts rows, whatever the numbers are."""
        if self._columns["kind"][column].as_py() != "integer":
            return False
        distinct = self._columns["distinct"][column].as_py()
        low, high = (float(self._columns[name][column].as_py()) for name in ("minimum", "maximum"))
        return bool(distinct >= max(_MANY, _DENSE * (high - low + 1)) and self._unique(column))

    def not_counted_through(self, columns: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Those of some columns that hold no such key."""
        held = numbers(self._columns["distinct"])[columns]
        many = np.flatnonzero(held >= _MANY)
        if not len(many):
            return columns
        names = ["kind", "unique", "minimum", "maximum"]
        found = self._columns.select(names).take(_arrow(columns[many]))
        kinds, *facts = (found[name].to_pylist() for name in names)
        whole = [kind == "integer" and unique for kind, unique in zip(kinds, facts[0], strict=True)]
        many = many[np.flatnonzero(np.array(whole, dtype=np.bool_))]
        low, high = (np.array(list(compress(each, whole)), np.float64) for each in facts[1:])
        counted = many[held[many] >= _DENSE * (high - low + 1)]
        return np.delete(columns, counted)

    def _unique(self, column: int) -> bool:
        return bool(self._columns["unique"][column].as_py())


def _arrow(places: npt.NDArray[np.int64]) -> pa.Array:
    """Places as Arrow takes them; its own conversion loads pandas where that is installed."""
    return pa.Array.from_buffers(pa.int64(), len(places), [None, pa.py_buffer(places)])
