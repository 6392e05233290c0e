"""Tables with the names of things of which a set has only the numbers.

"Pieces received, by name of the supplier": receipts have the number of the supplier, and the name
stands in a table of suppliers that they refer to, which may be called by another word, in another
system. Where a question asks for names of a thing, a table that the set refers to by a key of that
thing comes in, if it has names and no table of the set has them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from dovetail.domain import JoinEdge, Kind, Table, TableId
from dovetail.joins.graph import JOINABLE
from dovetail.names.concepts import meaning_of, thing_of
from dovetail.names.table_name import unqualified
from dovetail.names.words import identifies, plain, singular, spelled
from dovetail.retrieve.liveness import Liveness
from dovetail.search.query import WORD, Query, QueryTerm, stem
from dovetail.search.searcher import Searcher

_NAMES = frozenset(("name", "names", "surname", "surnames"))
# Words that say which name, words that ask for things, and words that ask for a row for each.
_WHICH_NAME = frozenset(
    ["full", "first", "last", "and", "family", "company", "proper", "own", "real", "complete", "s"]
)
_OF_WHICH = frozenset(
    """which what who are quali welche vilka quels quelles cuales quais welke hvilke""".split()  # noqa: SIM905
)
_BY = frozenset(
    """each every per by je jede jeden jedem jeder pro ogni ciascun ciascuna chaque cada elke
    varje hver hvert""".split()  # noqa: SIM905 - words read best as text
)
# Words of a comment that may be read as a name, words between a name or `each` and the thing, and
# between `which` and it.
_SHORT, _NEAR, _SUBJECT = 6, 3, 2
# The share of its rows that a column of names tells apart.
_APART = 0.5


@dataclass(frozen=True, slots=True)
class NamedThing:
    """A table with the names of a thing, and the table that refers to it."""

    table: TableId
    thing: str
    referring: TableId

    def __str__(self) -> str:
        return f"has the names of each {self.thing}, to which {self.referring.name} refers"


class NamedThings:
    """Finds the tables with the names that questions ask for."""

    def __init__(self, searcher: Searcher, liveness: Liveness) -> None:
        self._searcher, self._liveness = searcher, liveness

    def of(self, query: Query, tables: Sequence[TableId]) -> list[NamedThing]:
        """The tables that a set of tables lacks for the names that a question asks for."""
        lacking: dict[TableId, NamedThing] = {}
        things = _things(query)
        edges = [edge for table in tables for edge in self._edges(table, tables)] if things else []
        for term in things:
            if edges and not any(self._names(table, term, query) for table in tables):
                about = [edge for edge in edges if self._is_about(edge, term, query)]
                if about:
                    edge = max(about, key=lambda edge: edge.score)
                    thing = query.words[term.text]
                    lacking.setdefault(edge.right, NamedThing(edge.right, thing, edge.left))
        return list(lacking.values())

    def _edges(self, table: TableId, tables: Sequence[TableId]) -> Iterator[JoinEdge]:
        """The references of a table to others, live and with names."""
        for edge in self._searcher.joins.joins(table, least=JOINABLE):
            if edge.left == table and edge.right not in tables and not edge.when:
                right = self._searcher.catalog[edge.right]
                if _has_names(right) and not self._liveness.why(edge.right):
                    yield edge

    def _is_about(self, edge: JoinEdge, term: QueryTerm, query: Query) -> bool:
        """Whether a reference is one to the thing that a term names."""
        left, right = (self._searcher.catalog[table] for table in (edge.left, edge.right))
        told = [unqualified(right.name), right.comment]
        for own, key in edge.columns:
            told += [own, left.column(own).comment, key, right.column(key).comment]
        return any(_says(text, term, query) for text in told)

    def _names(self, table: TableId, term: QueryTerm, query: Query) -> bool:
        """Whether a table has the names of a thing."""
        profile = self._searcher.catalog[table]
        own = [unqualified(profile.name), profile.comment]
        if any(_says(text, term, query) for text in own):
            return _has_names(profile)
        return any(
            bool(_NAMES.intersection(spelled(column.name).lower().split()))
            and _says(column.name, term, query)
            for column in profile.columns
        )


def _has_names(table: Table) -> bool:
    """Whether a table has a column of texts, no key by its name, that tell its rows apart."""
    return any(
        column.profile.kind is Kind.TEXT
        and not identifies(column.name)
        and column.profile.distinct >= _APART * table.rows > 0
        for column in table.columns
    )


def _says(text: str, term: QueryTerm, query: Query) -> bool:
    """Whether a name, or a comment as short as one, says a term, in any language."""
    words = spelled(text).lower().split()
    if not 0 < len(words) <= _SHORT:
        return False
    meant = {word for word, _ in term.expansions}
    thing = thing_of(singular(plain(query.words[term.text])))
    return any(
        stem(word) in meant or (thing is not None and thing_of(plain(word)) == thing)
        for word in words
    )


def _things(query: Query) -> list[QueryTerm]:
    """The terms that say of what a question asks the names, or one row each."""
    tokens = [word.lower() for word in WORD.findall(query.text)]
    terms = _terms(query, tokens)
    things: list[QueryTerm | None] = []
    for at, token in enumerate(tokens):
        ahead = tokens[at + 1 : at + 1 + _NEAR]
        if token in _OF_WHICH:
            things.append(_head(ahead[:_SUBJECT], terms))
        elif token in _BY:
            things.append(_head(ahead, terms))
        elif token in _NAMES or meaning_of(plain(token)) == "name":
            behind = [word for word in tokens[max(0, at - _NEAR) : at] if word not in _WHICH_NAME]
            of_it = next((word for word in ahead if word in terms), "")
            if ahead and ahead[0] not in terms and of_it:
                things.append(terms[of_it])
            elif behind:
                things.append(terms.get(behind[-1]))
    return [term for term in things if term is not None]


def _terms(query: Query, tokens: Sequence[str]) -> Mapping[str, QueryTerm]:
    """The term of each word of a question that is none of a value."""
    quoted = {
        word
        for link in query.links
        if not link.span.plain_word
        for word in WORD.findall(link.span.text.lower())
    }
    by_word = {term.text: term for term in query.terms}
    by_word |= {query.words[term.text].lower(): term for term in query.terms}
    meant = ((word, by_word.get(word) or by_word.get(stem(word))) for word in tokens)
    return {word: term for word, term in meant if term is not None and word not in quoted}


def _head(words: Sequence[str], terms: Mapping[str, QueryTerm]) -> QueryTerm | None:
    """The thing among some words: of the first terms in a row the first plural, else the last.

    Asked *which suppliers sent*, it is the suppliers, *which bike technician*, the technician.
    """
    rows = groupby(words, key=terms.__contains__)
    first = next((list(row) for known, row in rows if known), None)
    if first is None:
        return None
    return terms[next((word for word in first if singular(word) != word), first[-1])]
