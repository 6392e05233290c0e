"""Value linking: which spans of a question are cells of the catalog, and in which columns."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from itertools import combinations, compress

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dovetail.arrays import Ints, firsts
from dovetail.catalog.reader import CatalogReader
from dovetail.catalog.records import numbers
from dovetail.hashing import hash_values, text_array
from dovetail.names.words import words
from dovetail.phrases import cell_phrases
from dovetail.search.logical import LogicalTables
from dovetail.search.query import QueryTerm, Span, ValueLink
from dovetail.search.values import ValueIndex

_NOTHING: Ints = np.empty(0, dtype=np.int64)
_YEAR = re.compile(r"(?:19|20)\d\d")
# A bare number is a cell of many columns by chance, and a lone word that is not written as a name
# is likelier to be speech.
_NUMBER, _PLAIN_WORD = 0.2, 0.2
# The words that a name may have which another table keeps in a column each.
_NAME_WORDS = (2, 3)
# Names of columns that hold numbers which people say.
_SPOKEN = frozenset(
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
        self._representative = None if logical is None else logical.representative
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
            span.start: holding
            for span, holding in zip(spans, holders, strict=True)
            if span.end - span.start == 1
        }
        linked: dict[str, tuple[Span, Ints]] = {}
        used: set[int] = set()
        for span, holding in zip(spans, holders, strict=True):
            columns = holding
            if _YEAR.fullmatch(span.text):  # which a key that counts rows has by chance
                columns = self._numbers.not_counted_through(holding)
            taken = range(span.start, span.end)
            if len(columns) and used.isdisjoint(taken):
                used.update(taken)
                if span.named and len(taken) in _NAME_WORDS:
                    columns = self._with_parts(columns, [words.get(at, _NOTHING) for at in taken])
                linked.setdefault(span.text, (span, columns))
        return tuple(
            ValueLink(span, columns, self._term(span, columns)) for span, columns in linked.values()
        )

    def _with_parts(self, columns: Ints, words: Sequence[Ints]) -> Ints:
        """Columns that hold a name, and those of tables that hold its words in a column each.

        A person who is `Ingrid Solberg` in one table has a first and a last name in another.
        """
        parts = [
            _with_other_words(holding, [*words[:at], *words[at + 1 :]], self._table_of)
            for at, holding in enumerate(words)
        ]
        return _once([columns, *parts])

    def _term(self, span: Span, columns: Ints) -> QueryTerm:
        """A value as a term: the fewer tables hold it, the more it weighs."""
        table = self._table_of[columns]
        tables = table[np.flatnonzero(np.diff(table, prepend=-1))]
        if self._representative is not None:
            tables = np.unique(self._representative[tables]).astype(np.int32)
        weight = math.log((self._filled + 1) / len(tables)) / math.log(self._tables + 1)
        if span.number or span.calendar:
            weight *= _NUMBER
        elif span.plain_word:
            weight *= _PLAIN_WORD
        ones = np.ones(len(tables), dtype=np.float32)
        return QueryTerm(span.text, weight, tables, ones, 0 * ones)

    def _holders(self, spans: Sequence[Span]) -> list[Ints]:
        """The columns that hold each span, in order: as a phrase, as it is written, or both."""
        if not spans:
            return []
        phrases = [
            at for at, span in enumerate(spans) if not span.written or span.end - span.start > 1
        ]
        written = [at for at, span in enumerate(spans) if span.written]
        hashes = [
            cell_phrases([spans[at].text for at in phrases]),
            hash_values(text_array([spans[at].text for at in written])),
        ]
        index, columns = self._values.columns_holding(np.concatenate(hashes))
        span_of = np.array([*phrases, *written])[index]
        order = np.lexsort((columns, span_of))
        ends = np.searchsorted(span_of[order], np.arange(1, len(spans)))
        return np.split(columns[order], ends)


def _once(lists: Sequence[Ints]) -> Ints:
    """The columns of several lists in order, each once; NumPy's own way hashes and is slow."""
    every = np.sort(np.concatenate(lists))
    return every[firsts(every)]


def _with_other_words(
    columns: Ints, others: Sequence[Ints], table_of: npt.NDArray[np.int32]
) -> Ints:
    """The columns whose table has another column for each of the other words.

    No column is to hold two of them. By Hall's theorem that can be had where any n of the others
    are held, all together, by n other columns.
    """
    for size in range(1, len(others) + 1):
        for subset in combinations(others, size):
            holders = _once(subset)
            holder_tables = table_of[holders]
            tables = table_of[columns]
            times = np.searchsorted(holder_tables, tables, side="right") - np.searchsorted(
                holder_tables, tables
            )
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
        if _SPOKEN & set(words(self._columns["name"][column].as_py())):
            return not self.counted_through(column)
        return bool(kind == "integer" and self._columns["distinct"][column].as_py() < _MANY)

    def counted_through(self, column: int) -> bool:
        """Whether a column holds a key that counts rows, whatever the numbers are."""
        return not len(self.not_counted_through(np.array([column])))

    def not_counted_through(self, columns: Ints) -> Ints:
        """The columns that hold no such key, of those given."""
        distinct = numbers(self._columns["distinct"])[columns]
        many = np.flatnonzero(distinct >= _MANY)
        if not len(many):
            return columns
        names = ["kind", "unique", "minimum", "maximum"]
        facts = self._columns.select(names).take(_arrow(columns[many]))
        kinds, unique, lows, highs = (facts[name].to_pylist() for name in names)
        keys = [kind == "integer" and one for kind, one in zip(kinds, unique, strict=True)]
        many = many[np.flatnonzero(np.array(keys, dtype=np.bool_))]
        low, high = (np.array(list(compress(each, keys)), np.float64) for each in (lows, highs))
        return np.delete(columns, many[distinct[many] >= _DENSE * (high - low + 1)])


def _arrow(rows: Ints) -> pa.Array:
    """Row numbers as Arrow takes them; its own conversion loads pandas where that is installed."""
    return pa.Array.from_buffers(pa.int64(), len(rows), [None, pa.py_buffer(rows)])
