"""Value linking: which spans of a question are cells of the catalog, and in which columns."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Container, Iterator, Sequence
from dataclasses import replace
from itertools import combinations, compress

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dovetail.arrays import Ints, firsts, pieces
from dovetail.catalog.reader import CatalogReader
from dovetail.catalog.records import numbers
from dovetail.hashing import Hashes, hash_values, text_array
from dovetail.names.words import singular, words
from dovetail.phrases import LEAST_PART, cell_phrases, part_phrases, word_phrases
from dovetail.search.languages import plain
from dovetail.search.logical import LogicalTables
from dovetail.search.query import QueryTerm, Span, ValueLink
from dovetail.search.slips import slips
from dovetail.search.values import ValueIndex

_NOTHING: Ints = np.empty(0, dtype=np.int64)
_YEAR = re.compile(r"(?:19|20)\d\d")
# A bare number is a cell of many columns by chance, and a lone word that is not written as a name
# is likelier to be speech.
_NUMBER, _PLAIN_WORD = 0.2, 0.2
# The words that a name may have which another table keeps in a column each.
_NAME_WORDS = (2, 3)
# Words of a phrase that is also looked up in other forms: fork lifts, fork lift.
_INFLECTED = 4
# What a word counts for that is a part of a cell, and a cell that is a part of a compound word: of
# one written like a name, and of any other.
PART_OF_NAME, _PART = 0.8, 0.5
_FEW_TABLES = 3
# What a word counts for that is a cell, or a part of one, but for a slip of the pen; the letters
# that it may have, and how many such words of a question are looked up.
_SLIP, _LETTERS, _MOST_SLIPS = 0.8, range(6, 31), 16
_LEAST_PIECE = 5
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

    def link(
        self, spans: Sequence[Span], unnamed: Collection[str] = (), *, compounds: bool = False
    ) -> tuple[ValueLink, ...]:
        """The spans that are cells, none overlapping an earlier one, each text once.

        Spans come with the longest first, so that the longest values win. A phrase may be a cell in
        another form of its words. `unnamed` are the words that no table or column is named by, in
        lower case: such a word may also be another form of a cell, a part of one, or, where the
        language has `compounds`, a word of which a cell is a part.
        """
        holders = self._holders(spans)
        words = {
            span.start: holding
            for span, holding in zip(spans, holders, strict=True)
            if span.end - span.start == 1
        }
        linked: dict[str, tuple[Span, Ints]] = {}
        used: set[int] = set()
        for span, holding in zip(spans, self._in_other_forms(spans, holders, unnamed), strict=True):
            columns = holding
            if _YEAR.fullmatch(span.text):  # which a key that counts rows has by chance
                columns = self._numbers.not_counted_through(holding)
            taken = range(span.start, span.end)
            if len(columns) and used.isdisjoint(taken):
                used.update(taken)
                if span.named and len(taken) in _NAME_WORDS:
                    columns = self._with_parts(columns, [words.get(at, _NOTHING) for at in taken])
                linked.setdefault(span.text, (span, columns))
        links = [
            ValueLink(span, columns, self._term(span, columns)) for span, columns in linked.values()
        ]
        left = [
            span
            for span in spans
            if span.end - span.start == 1
            and span.text.lower() in unnamed
            and len(span.text) >= LEAST_PART
            and used.isdisjoint(range(span.start, span.end))
        ]
        names = {span.start for span in spans if span.named and span.end - span.start == 1}
        return (*links, *self._parts(left, names, compounds=compounds))

    def _in_other_forms(
        self, spans: Sequence[Span], holders: Sequence[Ints], unnamed: Collection[str]
    ) -> list[Ints]:
        """The columns of each span; of one that none holds, those that hold it in another form."""
        forms = [
            (at, form)
            for at, span in enumerate(spans)
            if not len(holders[at])
            and not span.written
            and span.end - span.start <= _INFLECTED
            and (span.end - span.start > 1 or span.text.lower() in unnamed)
            for form in other_forms(span.text)
        ]
        found = list(holders)
        hashes = cell_phrases([form for _, form in forms])
        for at, (_, columns) in self._first_held(forms, hashes).items():
            found[at] = columns
        return found

    def _parts(
        self, spans: Sequence[Span], names: Container[int], *, compounds: bool
    ) -> Iterator[ValueLink]:
        """The words that are a part of a cell, those of which a cell is a part, and those that are
        a cell or a part of one but for a slip of the pen.

        Words beside each other are parts of cells only in the columns that have all of them. A lone
        word that is not written like a name may stand in a cell by chance, and so may one of many
        tables that stands beside another name: it covers a word of the question, and weighs
        nothing. `names` are the words that are written like names, by their places.
        """
        words = [(at, form) for at, span in enumerate(spans) for form in _parts(span.text)]
        held = self._first_held(words, part_phrases([form for _, form in words]))
        if compounds:
            pieces = [(at, piece) for at, span in enumerate(spans) for piece in _pieces(span.text)]
            wholes = cell_phrases([piece for _, piece in pieces])
            held = {**self._first_held(pieces, wholes), **held}
        meant = list(_slips(spans, held))
        as_cells, as_parts = word_phrases([word for _, word in meant])
        cells = self._first_held(meant, as_cells)
        for at, (cell, columns) in cells.items():
            term = self._term(spans[at], columns)
            term = replace(term, weight=_SLIP * term.weight)
            yield ValueLink(spans[at], columns, term, _SLIP, cell)
        rows = [row for row, (at, _) in enumerate(meant) if at not in cells]
        slipped = self._first_held([meant[row] for row in rows], as_parts[rows])
        held |= slipped
        by_place = {spans[at].start: columns for at, (_, columns) in held.items()}
        for at, (part, columns) in held.items():
            span, shared = spans[at], columns
            beside = [by_place[at] for at in (span.start - 1, span.end) if at in by_place]
            for others in beside:
                shared = np.intersect1d(shared, others)
            term = self._term(span, shared)
            lone = span.named and span.start - 1 not in names and span.end not in names
            most = len(self._table_of) if beside or lone else _FEW_TABLES
            sure, meant_by = (_SLIP, part) if at in slipped else (1.0, "")
            if (span.named or beside) and 0 < len(term.tables) <= most:
                share = sure * PART_OF_NAME
                term = replace(term, weight=share * term.weight)
                yield ValueLink(span, shared, term, share, meant_by)
            else:
                term = replace(self._term(span, columns), weight=0.0)
                yield ValueLink(span, columns, term, sure * _PART, meant_by)

    def _first_held(
        self, forms: Sequence[tuple[int, str]], hashes: Hashes
    ) -> dict[int, tuple[str, Ints]]:
        """For each number the first of its texts that is held, by the hash of each text, and the
        columns that hold it."""
        if not forms:
            return {}
        index, columns = self._values.columns_holding(hashes)
        begins = firsts(index)
        found: dict[int, tuple[str, Ints]] = {}
        for row, holding in zip(index[begins].tolist(), pieces(columns, begins)[1:], strict=True):
            at, text = forms[row]
            found.setdefault(at, (text, holding))
        return found

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
        weight = math.log((self._filled + 1) / max(1, len(tables))) / math.log(self._tables + 1)
        if span.time:
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
        hashes = cell_phrases([spans[at].text for at in phrases])
        if written:
            exact = hash_values(text_array([spans[at].text for at in written]))
            hashes = np.concatenate([hashes, exact])
        index, columns = self._values.columns_holding(hashes)
        span_of = np.array([*phrases, *written])[index]
        order = np.lexsort((columns, span_of))
        ends = np.searchsorted(span_of[order], np.arange(1, len(spans)))
        return pieces(columns[order], ends)


def other_forms(text: str) -> Iterator[str]:
    """A phrase with every word in the singular, and with the last one in the plural.

    >>> list(other_forms("fork lifts")), list(other_forms("dairy"))
    (['fork lift'], ['dairies'])
    """
    spoken = text.lower().split()
    alone = " ".join(map(singular, spoken))
    if alone != " ".join(spoken):
        yield alone
    elif spoken[-1].endswith("y"):
        yield f"{alone[:-1]}ies"
    else:
        yield f"{alone}{'es' if alone.endswith(('s', 'x', 'ch', 'sh')) else 's'}"


def _parts(word: str) -> Iterator[str]:
    """The forms of a word as a part of a cell, if they are long enough for one."""
    yield word
    yield from (form for form in other_forms(word) if len(form) >= LEAST_PART)


def _slips(spans: Sequence[Span], held: Container[int]) -> Iterator[tuple[int, str]]:
    """What the words that nothing holds may be but for a slip, each with the number of its span."""
    words = [(at, plain(span.text)) for at, span in enumerate(spans) if at not in held]
    able = [(at, word) for at, word in words if len(word) in _LETTERS and word.isascii()]
    return ((at, meant) for at, word in able[:_MOST_SLIPS] for meant in slips(word))


def _pieces(word: str) -> Iterator[str]:
    """The beginnings and ends of a compound, the longest first.

    >>> list(_pieces("Hansakunde"))
    ['Hansaku', 'sakunde', 'Hansak', 'akunde', 'Hansa', 'kunde']
    """
    for size in range(len(word) - 3, _LEAST_PIECE - 1, -1):
        yield word[:size]
        yield word[len(word) - size :]


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
