"""Where a question names tables, columns and values of a set, word by word.

A word may name a table and a column; of several columns that a word could name, the one of the
table that stands beside it ("the names of singers", "a singer's name") is taken.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from dovetail.domain import Column, Kind, Table
from dovetail.hashing import hash_values, text_array
from dovetail.names.table_name import unqualified
from dovetail.names.words import ID_WORDS, Parts, identifies, plain, spelled
from dovetail.retrieve.grammar import NOT
from dovetail.search.query import Query, is_stop_word, stem
from dovetail.search.searcher import Searcher
from dovetail.search.value_linking import other_forms
from dovetail.text import printable

_WORD = re.compile(r"[^\W_]+")
# Words of a question that are read: each name is held against all the others that it has.
_MOST_WORDS = 150
# The share of a name that must be said: without its last word or with it; and how well a word
# of another form must match.
_HALF, _MOST, _PART, _SAME = 0.5, 0.7, 0.3, 0.6
# What a column of the table beside the word is worth, in words that match.
_BESIDE = 0.8
# Words of a comment that may be read as a name, and words between a column and its table.
_SHORT, _NEAR = 4, 6
# Words that say what a query does; a name has them to the letter, or it is not meant.
SHAPING = frozenset(
    """count number many order sort average mean total sum maximum minimum max min most least top
    highest lowest each per more less than above below between list first last""".split()  # noqa: SIM905
)
_COUNTS = ("number", "count", "amount", "anzahl", "num", "numb", "no")
# First and last names, as systems call them.
_FIRST = frozenset(("forename", "fname", "givenname", "vorname", "firstname"))
_LAST = frozenset(("surname", "lname", "familyname", "nachname", "lastname"))
# Columns that tell when or by whom something was done, and words that ask for that.
_DEED, _DATED = re.compile(r"(\w+ed) (?:on|at|by)"), ("date", "dates", "day", "time", "datum")
_ID_STEMS = frozenset(map(stem, ID_WORDS))


@dataclass(frozen=True, slots=True)
class SchemaLink:
    """A run of a question's words that names a table, or a column of it."""

    start: int
    end: int
    table: Table
    column: Column | None
    weight: float


@dataclass(frozen=True, slots=True)
class Value:
    """A run of words that is a cell, as the cell is spelled where that is known, and its columns.

    `exact` says that the text is the cell to the letter.
    """

    start: int
    end: int
    text: str
    exact: bool
    named: bool
    columns: tuple[tuple[Table, Column], ...]


@dataclass(frozen=True, slots=True)
class SchemaLinks:
    """The words of a question in lower case, where each stands, and what they name.

    `content` are those that are no stop words of its language.
    """

    text: str
    words: tuple[str, ...]
    at: tuple[tuple[int, int], ...]
    tables: tuple[SchemaLink, ...]
    columns: tuple[SchemaLink, ...]
    values: tuple[Value, ...]
    content: frozenset[str]

    def at_word(self, word: int) -> tuple[SchemaLink | None, SchemaLink | None, Value | None]:
        """The table and the column that a word helps to name, and the value that it is part of."""
        table = next((one for one in self.tables if one.start <= word < one.end), None)
        column = next((one for one in self.columns if one.start <= word < one.end), None)
        value = next((one for one in self.values if one.start <= word < one.end), None)
        return table, column, value


def schema_links(searcher: Searcher, query: Query, tables: Sequence[Table]) -> SchemaLinks:
    """What a question names of some tables."""
    # As spans read it; what no cell holds and no query may have is a blank.
    text = printable(query.text.encode("utf-8", "replace").decode("utf-8"), " ")
    at = tuple(found.span() for found in islice(_WORD.finditer(text), _MOST_WORDS))
    words = tuple(text[a:b].lower() for a, b in at)
    names, parts = _Names(searcher, query, words), searcher.lexical.parts
    values = tuple(one for one in _values(searcher, query, tables) if one.end <= len(words))
    quoted = {word for value in values if value.named for word in range(value.start, value.end)}
    named = _apart(names.tables(tables, quoted), ())
    columns = tuple(
        column
        for column in _apart(names.columns(tables, quoted), named)
        if not any(_hides(table, column, parts) for table in named)
        and not _tells_of_another_form(column, words)
    )
    said = {word for one in (*named, *columns) for word in range(one.start, one.end)}
    meant = tuple(one for one in values if one.named or not said & {*range(one.start, one.end)})
    content = frozenset(
        word for word in words if word in query.words.values() or stem(word) in query.words
    )
    return SchemaLinks(text, words, at, named, columns, meant, content)


def _tells_of_another_form(link: SchemaLink, words: Sequence[str]) -> bool:
    """Whether a column says when or by whom something was done, and the question no such thing:
    *open orders* are not asked for by `opened_on`, nor *orders* by `ordered_on`."""
    deed = _DEED.fullmatch(spelled(link.column.name).lower()) if link.column else None
    said = words[link.start : link.end]
    dated = link.end < len(words) and words[link.end] in _DATED
    return deed is not None and len(said) == 1 and said[0] != deed[1] and not dated


class _Names:
    """Matches the words of a question with names."""

    def __init__(self, searcher: Searcher, query: Query, words: Sequence[str]) -> None:
        self._idf, self._parts = searcher.lexical.idf, searcher.lexical.parts
        self._words = words
        meanings = {term.text: dict(term.expansions) for term in query.terms}
        self._meanings: list[Mapping[str, float]] = [
            {} if is_stop_word(word) else self._meaning(word, meanings) for word in words
        ]

        self._meant = frozenset().union(*self._meanings)

    @staticmethod
    def _meaning(word: str, meanings: Mapping[str, Mapping[str, float]]) -> Mapping[str, float]:
        """The stems that a word may mean; one that shapes a query or denies means itself alone."""
        own = {stem(word): 1.0} | ({word[:-1]: 1.0} if word[:-1] in ID_WORDS else {})
        return (
            own
            if word in SHAPING or NOT.fullmatch(word)
            else {**meanings.get(stem(word), {}), **own}
        )

    def tables(self, tables: Sequence[Table], quoted: set[int]) -> Iterator[SchemaLink]:
        for rank, table in enumerate(tables):
            own = _stems(unqualified(table.name), self._parts)
            name = own or _stems(table.name, self._parts)
            for start, end, covered in self._runs(name, quoted):
                share = self._share(covered, name, ())
                if share == 1 or (share >= _PART and name[-1] in covered):
                    weight = len(covered) + share - rank / 100
                    yield SchemaLink(start, end, table, None, weight)

    def columns(self, tables: Sequence[Table], quoted: set[int]) -> Iterator[SchemaLink]:
        for rank, table in enumerate(tables):
            own = set(_stems(unqualified(table.name), self._parts))
            for number, column in enumerate(table.columns):
                for name in _called(column, self._parts):
                    for start, end, covered in self._runs(name, quoted):
                        if not _says_column(covered, name, own, identifier=identifies(column.name)):
                            continue
                        share = self._share(covered, name, own)
                        timely = column.profile.time is not None
                        head = name[-1] in covered or (share >= _MOST and not timely)
                        head = head or self._shares_head(end, name[-1])
                        if share >= (_PART if name[-1] in covered else _HALF) and head:
                            weight = len(covered) + share - rank / 50 - number / 10_000
                            yield SchemaLink(start, end, table, column, weight)

    def _runs(
        self, name: Sequence[str], quoted: set[int]
    ) -> Iterator[tuple[int, int, dict[str, float]]]:
        """The runs of words that say words of a name, each with which, and how well."""
        if self._meant.isdisjoint(name):
            return
        for start in range(len(self._words)):
            covered: dict[str, float] = {}
            at = end = start
            while at < len(self._words) and at not in quoted:
                if self._counts(at) and name[0] not in _COUNTS:
                    break
                meanings = self._meanings[at]
                said = [w for w in name if w not in covered and meanings.get(w, 0) >= _SAME]
                if said:
                    best = max(said, key=lambda word: meanings[word])
                    covered[best] = meanings[best]
                    end = at + 1
                elif not covered or self._words[at] not in ("of", "the"):
                    break
                at += 1
            if covered:
                yield start, end, covered

    def _counts(self, at: int) -> bool:
        """Whether words ask for a number of things, and do not name one."""
        return self._words[at] in _COUNTS and self._words[at + 1 : at + 2] == ("of",)

    def _shares_head(self, end: int, head: str) -> bool:
        """Whether a list goes on to a word that all of it shares: the "first and last names"."""
        ahead = range(end, min(end + 5, len(self._words)))
        said = next((at for at in ahead if self._meanings[at].get(head, 0) >= _SAME), None)
        return said is not None and bool({"and", "or", "und"} & set(self._words[end:said]))

    def _share(
        self, covered: Mapping[str, float], name: Sequence[str], free: Sequence[str] | set[str]
    ) -> float:
        """How much of a name is said, by how rare its words are; `free` ones need not be."""
        needed = [word for word in name if word in covered or word not in free]
        weights = {word: max(self._idf(word), 0.1) for word in needed}
        said = sum(weights[word] * covered[word] for word in covered)
        return said / (sum(weights.values()) or 1.0)


def _stems(name: str, parts: Parts) -> list[str]:
    """The stems of a name, less words that name nothing and single letters, if any are left."""
    named = (w for w in spelled(name, parts).split() if not is_stop_word(w) or w in ID_WORDS)
    found = [stem(word) for word in named]
    return [word for word in found if len(word) > 1] or found


def _called(column: Column, parts: Parts) -> Iterator[list[str]]:
    """What a column is called: its name, and a comment as short as a name."""
    yield _stems(column.name, parts)
    if plain(column.name) in _FIRST | _LAST:
        yield [stem("first" if plain(column.name) in _FIRST else "last"), stem("name")]
    comment = _stems(column.comment, parts)
    if 0 < len(comment) <= _SHORT:
        yield comment


def _says_column(
    covered: Mapping[str, float], name: Sequence[str], table: set[str], *, identifier: bool
) -> bool:
    """Whether words that say part of a name mean the column, and not its table or a key's table."""
    if identifier and not any(word in _ID_STEMS for word in covered):
        return not any(word in _ID_STEMS for word in name)
    return bool(covered.keys() - table) or set(name) <= table


def _apart(found: Iterator[SchemaLink], named: Sequence[SchemaLink]) -> tuple[SchemaLink, ...]:
    """SchemaLinks that do not overlap, the weightiest of those that do; near tables weigh."""
    weighed = [replace(one, weight=one.weight + _BESIDE * _beside(one, named)) for one in found]
    taken: set[int] = set()
    chosen = []
    for one in sorted(weighed, key=lambda one: -one.weight):
        span = set(range(one.start, one.end))
        if not span & taken:
            taken |= span
            chosen.append(one)
    return tuple(sorted(chosen, key=lambda one: one.start))


def _hides(table: SchemaLink, column: SchemaLink, parts: Parts) -> bool:
    """Whether words that name a table in full say no more of a column than that."""
    inside = table.start <= column.start and column.end <= table.end
    longer = table.end - table.start > column.end - column.start
    called = set(_stems(table.table.name, parts))
    own = column.column and set(_stems(column.column.name, parts)) == called
    return inside and not own and (longer or column.weight - _BESIDE < table.weight)


def _beside(column: SchemaLink, named: Sequence[SchemaLink]) -> float:
    """How near a link of its own table a column is named; behind it counts a little less."""
    best = 0.0
    for table in named:
        before, behind = column.start - table.end, table.start - column.end
        gap = max(before, behind, 0)
        if table.table.id == column.table.id and gap <= _NEAR:
            best = max(best, 1 - gap / 10 - (0.05 if before >= 0 else 0))
    return best


def _values(searcher: Searcher, query: Query, tables: Sequence[Table]) -> Iterator[Value]:
    """The values of a question that stand in columns of some tables."""
    bounds = searcher.index.bounds
    for link in query.links:
        held = set(link.columns.tolist())
        columns = [
            (table, at)
            for table in tables
            for at in range(len(table.columns))
            if int(bounds[searcher.places[table.id]]) + at in held
        ]
        if columns:
            text, exact = _spelling(searcher, columns, link.meant or link.span.text)
            if link.span.plain_word and text.isupper():  # a code that reads like a word
                continue
            where = tuple((table, table.columns[at]) for table, at in columns)
            span = link.span
            yield Value(span.start, span.end, text, exact, span.named, where)


def _spelling(
    searcher: Searcher, columns: Sequence[tuple[Table, int]], text: str
) -> tuple[str, bool]:
    """A value as the first of some columns spells it, and whether that is sure."""
    cases = (str, str.title, str.upper, str.lower, str.capitalize)
    words = (text, *other_forms(text))
    forms = list(dict.fromkeys(case(word) for word in words for case in cases))
    hashes = searcher.catalog.keyed(hash_values(text_array(forms)))
    for table, at in columns:
        if table.columns[at].profile.kind is not Kind.TEXT:
            return text, True
        held = searcher.catalog.hashes(table.id, at)
        for form, one in zip(forms, hashes, strict=True):
            row = held.searchsorted(one)
            if row < len(held) and held[row] == one:
                return form, True
    return text, False
