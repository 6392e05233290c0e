"""What a query says of each of its candidates and of their columns: the input of the features.

A word counts by where it occurs, and not by how many words a table has: a word in the table's name
speaks of the table, one in a key (`pet_id`) speaks of another table.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from dovetail.arrays import Flags, Float32s, Ints
from dovetail.domain import Candidate, Kind, Table, TableId
from dovetail.names.table_name import unqualified
from dovetail.names.words import identifies, spelled
from dovetail.search.fusion import DEFAULT
from dovetail.search.lexical import IN_COMMENT, comment_words
from dovetail.search.method_cache import method_cache
from dovetail.search.query import (
    Query,
    QueryTerm,
    ValueLink,
    is_stop_word,
    query_words,
    shapes_speech,
    stem,
    stems,
)
from dovetail.search.searcher import LEAST_QUOTED, Searcher, cells

_IN_NAME, _IN_COLUMN, _IN_KEY = 1.0, 2 / 3, 0.3
# The schema or folder in a name is that of many tables.
_IN_QUALIFIER = 0.5
# From this match on a word counts as covered in full: as a whole word in a column's name.
WHOLE_WORD = 0.6
# The share of its name that a question says of a table that it calls by it.
_WHOLE_NAME = 0.99
# `placed_at` and `created_by` say when and by whom, as any table may: no sign of what it holds.
_EVENT = re.compile(r"ed[_ ]?(at|on|by)$", re.IGNORECASE)
_TABLES_KEPT = 4096
# What the words of a header and a cell that the question quotes count for, beside a cosine.
_WORDS, _QUOTED = 1.0, 1.0
# The share of a column's name that a question must say to speak of it, how rare a word of its
# comment must be, and how many columns may hold a value for each of them to be meant.
_HALF, _RARE, _FEW_COLUMNS = 0.5, 0.5, 12

# Words that questions use whatever they are about: that no table says them, says nothing. The first
# list is counted: words that the questions of MMQA and of Spider's training set use over eight
# databases or more, and that the tables which answer them mostly do not say. The second are words
# of the same kinds that these questions happen not to use: times, counts, comparisons. The third
# say how an answer is to be written.
_COUNTED = """number average highest distinct different both maximum largest greater descending sort
ascending minimum alphabetical either corresponding between common among contain record
across above used list unique greatest lowest words under made over include belong oldest
never time earliest lower substring small older receive january result using recent
information recently without serve share smallest fewest according live available living
during provided large biggest involved frequently expensive alphabetically participate young
longest hold exactly related called youngest well equal currently about use table respective
categorized letter latest data together old offer exist earn compute spent produce
responsible popular create make work twice shortest often long classified operate took taken
owned given except exceed come based take perform"""
_OF_THE_SAME_KINDS = """per total percentage percent share month monthly year yearly annual
annually quarter quarterly week weekly day daily date today yesterday february march april
may june july august september october november december count sum mean median ratio rate
compare compared comparison trend develop development last first next current previous past
cheapest higher larger fewer top bottom best worst good bad group grouped calculate
determine state mention name value amount level type kind one two three four five six seven
eight nine ten hundred thousand million half many still also even just yet same other
another us actual overall each within since until before after below ever always already
almost around least most want need know see look like happen mainly usually appear occur
specific respectively along including excluding exclude regardless represent indicate consider part
portion proportion fraction instead whether now ago end too because due despite up down out off
away back right lot came went became grew got gave kept left said told saw ran rose fell brought
put place vary differ change"""
_OF_ANSWERS = """answer round rounded decimal format formatted comma separator integer digit row
output id ids detail subtotal grand numerical numeric string"""

GENERIC = frozenset(stem(word) for word in f"{_COUNTED} {_OF_THE_SAME_KINDS} {_OF_ANSWERS}".split())


@dataclass(frozen=True, slots=True)
class QueryMatch:
    """How a query matches its candidates, in the order of the search.

    `words` and `values` have a row for each term and a column for each candidate: how well it
    matches the word, and whether it holds the value. `mass` is what all words of the question
    weigh. `joins` has the score of the join between each two candidates, each with itself at 1.
    """

    scores: Float32s
    names: Float32s  # the share of its own name that is said
    columns: Float32s  # the same of the column of which the most is said, keys left out
    headers: Float32s  # the cosine of its best header
    gains: Float32s  # what its neighbours cover beyond it, as a share of the mass
    words: Float32s
    word_weights: Float32s
    mass: float
    values: Float32s
    value_weights: Float32s
    plain: Float32s  # of each value, how likely it is a plain word of speech that no name says
    covers: Float32s  # how far each covers each word, by a name or a value; numbers are left out
    defined: Float32s  # 1 for those that notes or a lesson say the question needs
    content: Flags  # which words say what the question is about
    joins: Float32s
    dense: Float32s  # the search's signals of each: by schema line,
    value_signal: Float32s  # by linked values,
    neighbours: Float32s  # and by neighbours
    beyond: Float32s | None = None  # 1 for each word beyond what notes say, if they say anything

    @property
    def called(self) -> Flags:
        """Which candidates the question calls by their whole names."""
        return self.names >= _WHOLE_NAME

    @property
    def content_covers(self) -> Float32s:
        """How far each candidate covers each word that says what the question is about."""
        return self.covers[self.content]


Weighted = tuple[str, float]


@dataclass(frozen=True, slots=True)
class _Vocabulary:
    """The words of a table: how much each speaks of it, and its columns but keys, by IDF."""

    level: Mapping[str, float]
    name: tuple[Weighted, ...]  # without schema or folder, numbers and stop words
    columns: tuple[tuple[Weighted, ...], ...]
    holding: Mapping[str, tuple[int, ...]]  # the columns that have each word

    def columns_of(self, said: Iterable[str]) -> list[tuple[Weighted, ...]]:
        """The columns that have one of some words, each of which one has."""
        found = {at for word in said for at in self.holding[word]}
        return [self.columns[at] for at in found]


class QueryMatcher:
    """Matches queries with the tables of a searcher's catalog."""

    def __init__(self, searcher: Searcher) -> None:
        self._searcher = searcher
        self._vocabulary = method_cache(self._read, _TABLES_KEPT)

    def match(self, query: Query, candidates: Sequence[Candidate]) -> QueryMatch:
        """How a query matches its candidates, of which there is at least one."""
        tables = [one.id for one in candidates]
        words, names, columns = self._match(query.terms, tables)
        best = {term.text: row for term, row in zip(query.terms, words.max(axis=1), strict=True)}
        values = self._values(query.links, tables)
        weights = self._searcher.weights
        return QueryMatch(
            scores=_scores(candidates),
            names=names,
            columns=columns,
            headers=_signal(candidates, "column", weights.column),
            gains=_signal(candidates, "neighbour", weights.gain) / math.sqrt(query.mass),
            words=words,
            word_weights=_floats([term.weight for term in query.terms]),
            mass=query.mass,
            values=values,
            value_weights=_floats([link.term.weight for link in query.links]),
            plain=_plain(query.links, best),
            covers=_covers(query, words, values),
            content=content_words(query),
            defined=self._defined(query, tables),
            beyond=_beyond(query),
            joins=self._searcher.joined(tables),
            dense=_signal(candidates, "dense", weights.dense / DEFAULT.dense),
            value_signal=_signal(candidates, "value", 1.0),
            neighbours=_signal(candidates, "neighbour", 1.0),
        )

    def _match(
        self, terms: Sequence[QueryTerm], tables: Sequence[TableId]
    ) -> tuple[Float32s, Float32s, Float32s]:
        """How well each word matches each table, and how much of its name and best column."""
        meanings: dict[str, list[tuple[int, float]]] = {}
        for row, term in enumerate(terms):
            for word, share in term.expansions:
                meanings.setdefault(word, []).append((row, share))
        shares = {word: max(share for _, share in rows) for word, rows in meanings.items()}
        match = np.zeros((len(terms), len(tables)), dtype=np.float32)
        names, columns = np.zeros((2, len(tables)), dtype=np.float32)
        numbers = self._numbers(tables)
        for row, term in enumerate(terms):
            if term.defined:
                match[row] = term.match_of(numbers)
        for at, table in enumerate(tables):
            vocabulary = self._vocabulary(table)
            for word in vocabulary.level.keys() & meanings.keys():
                for row, share in meanings[word]:
                    match[row, at] = max(match[row, at], share * vocabulary.level[word])
            said = vocabulary.columns_of(vocabulary.holding.keys() & meanings.keys())
            names[at] = max(_named_shares([vocabulary.name], shares), default=0.0)
            columns[at] = max(_named_shares(said, shares), default=0.0)
        return match, names, columns

    def _defined(self, query: Query, tables: Sequence[TableId]) -> Float32s:
        """Which candidates notes or a lesson say the question needs."""
        noted = {self._searcher.representative(table) for table in query.noted}
        return _floats([table in noted for table in tables])

    def _values(self, links: Sequence[ValueLink], tables: Sequence[TableId]) -> Float32s:
        """Which tables hold each linked value."""
        numbers = self._numbers(tables)
        values = np.zeros((len(links), len(tables)), dtype=np.float32)
        for row, link in zip(values, links, strict=True):
            row[:] = link.term.means(numbers)
        return values

    def _numbers(self, tables: Sequence[TableId]) -> Ints:
        """The number of each table in the catalog's order."""
        return np.array([self._searcher.places[table] for table in tables], dtype=np.int64)

    def _read(self, table: TableId) -> _Vocabulary:
        profile, lexical = self._searcher.catalog[table], self._searcher.lexical
        level: dict[str, float] = {}
        plain = []
        for column in profile.columns:
            words = stems(column.name, lexical.parts)
            key = identifies(column.name) or _EVENT.search(column.name) is not None
            for word in words:
                level[word] = max(level.get(word, 0.0), _IN_KEY if key else _IN_COLUMN)
            if words and not key:
                plain.append(tuple((word, lexical.idf(word)) for word in words))
            if comment := list(query_words(column.comment)):
                plain.append(tuple((word, lexical.idf(word)) for word in comment))
        own = unqualified(profile.name)
        level = (
            dict.fromkeys(stems(profile.name.removesuffix(own), lexical.parts), _IN_QUALIFIER)
            | level
        )
        level |= dict.fromkeys(stems(own, lexical.parts), _IN_NAME)
        name = [word for word in spelled(own, lexical.parts).split() if not is_stop_word(word)]
        bare = [stem(word) for word in name if not word.isdigit()]
        remarks = [remark.text for remark in self._searcher.notes.remarks_on(table)]
        noted = [word for text in remarks for word in query_words(text)]
        level = dict.fromkeys([*comment_words(profile), *noted], IN_COMMENT) | level
        holding: dict[str, tuple[int, ...]] = {}
        for at, column_words in enumerate(plain):
            for word in {word for word, _ in column_words}:
                holding[word] = (*holding.get(word, ()), at)
        own_words = tuple((word, lexical.idf(word)) for word in bare)
        return _Vocabulary(level, own_words, tuple(plain), holding)


def _covers(query: Query, words: Float32s, values: Float32s) -> Float32s:
    """How far each candidate covers each word: by its names, or by a value that has the word."""
    covers = words.copy()
    rows = {term.text: row for row, term in enumerate(query.terms)}
    for link, holders in zip(query.links, values, strict=True):
        for word in stems(link.span.text):
            if word in rows and link.term.weight:
                covers[rows[word]] = np.maximum(covers[rows[word]], link.share * holders)
    for word, row in rows.items():
        if word.isdigit():
            covers[row] = 0
    return covers


def _beyond(query: Query) -> Float32s | None:
    """Which words go beyond what notes say of a question.

    Those are words that are no defined terms; near to a lesson, things that it does not speak of,
    and parts of values that it does not say as well.
    """
    if not query.noted:
        return None
    if query.lesson is None:
        return _floats([not term.defined for term in query.terms])
    values = {
        word for link in query.links if not link.span.number for word in stems(link.span.text)
    }
    news = query.lesson.more | values.difference(stems(query.lesson.question))
    return _floats([term.text in news for term in query.terms])


def content_words(query: Query) -> Flags:
    """Which terms of a query say what it is about."""
    flags = (_is_content(term.text, query.words[term.text]) for term in query.terms)
    return np.fromiter(flags, np.bool_, len(query.terms))


def _is_content(stemmed: str, written: str) -> bool:
    """Whether a word says what a question is about."""
    return stemmed not in GENERIC and names_something(written)


def names_something(word: str) -> bool:
    """Whether a word may name a thing: it relates no others, and is no number or letter."""
    return len(word) > 1 and not shapes_speech(word) and not any(map(str.isdigit, word))


def _plain(links: Sequence[ValueLink], best: Mapping[str, float]) -> Float32s:
    """How far each linked value is a plain word that no name says, given the names' best match."""
    plain = []
    for link in links:
        if link.span.number or not link.span.plain_word:
            plain.append(0.0)
            continue
        words = set(stems(link.span.text))
        plain.append(1 - max((float(best.get(word, 0)) for word in words), default=0.0))
    return _floats(plain)


def _named_shares(
    columns: Sequence[Sequence[Weighted]], shares: Mapping[str, float]
) -> Iterator[float]:
    """How much of each column's name the question says, by the IDF of its words."""
    for column in columns:
        named = sum(idf * shares[word] for word, idf in column if word in shares)
        if named:
            yield named / sum(idf for _, idf in column)


def _scores(candidates: Sequence[Candidate]) -> Float32s:
    """The scores of the search, of which the first is the highest."""
    scores = _floats([sum(one.signals.values()) for one in candidates])
    scores[0] = scores.max()
    return scores


def _signal(candidates: Sequence[Candidate], name: str, weight: float) -> Float32s:
    """A signal of the search as it was before it was weighted."""
    return _floats([one.signals[name] / weight for one in candidates])


def _floats(values: Sequence[float]) -> Float32s:
    return np.array(values, dtype=np.float32)


def by_relevance(searcher: Searcher, query: Query, table: Table) -> list[int]:
    """The indices of a table's columns, the most relevant to the query first.

    A column's score is the share of its name that the question says, one if the question quotes a
    cell of it, and the cosine of its header.
    """
    texts = searcher.columns(table.id)
    said = Counter(at for word in query.words.keys() & texts.named for at in texts.named[word])
    quoted = quoted_cells(searcher, query, table)
    scores = [
        _WORDS * (said[at] / max(len(header), 1)) + _QUOTED * (at in quoted) + cosine
        for at, (header, cosine) in enumerate(
            zip(texts.headers, searcher.column_cosines(query, table.id), strict=True)
        )
    ]
    return sorted(range(len(scores)), key=lambda at: (-scores[at], at))


def quoted_cells(searcher: Searcher, query: Query, table: Table) -> dict[int, str]:
    """The first cell that the question quotes of each column, if there is one."""
    quotable, quoted = searcher.columns(table.id).quotable, dict[int, str]()
    begun = quotable.keys() & _beginnings(query.folded)
    for _, at, text, cell in sorted(each for begins in begun for each in quotable[begins]):
        if text in query.folded:
            quoted.setdefault(at, cell)
    return quoted


@lru_cache(maxsize=8)
def _beginnings(folded: str) -> frozenset[str]:
    """How a cell may begin that stands in a question."""
    return frozenset(folded[at : at + LEAST_QUOTED] for at in range(len(folded)))


def deciding_columns(searcher: Searcher, query: Query, table: Table) -> frozenset[int]:
    """The indices of the columns that the question speaks of, by name, by comment or by a cell.

    Of a column's name the question must say at least half, in its own or in other forms of the
    words, and rare words are more of a name than frequent ones; of its comment a word that is rare
    in the catalog; a cell counts where it is a value link that few columns share.
    """
    shares = {word: share for term in query.terms for word, share in term.expansions}
    deciding = set(searcher.linked_columns(query, table.id, most=_FEW_COLUMNS))
    deciding |= explained_columns(searcher, query, table)
    defined = searcher.defined_columns(query, table.id)
    deciding |= {at for at, column in enumerate(table.columns) if column.name in defined}
    texts = searcher.columns(table.id)
    for at in {at for word in shares.keys() & texts.named for at in texts.named[word]}:
        weights = {stem: searcher.lexical.idf(stem) for stem in texts.headers[at]}
        named = sum(weight * shares.get(stem, 0.0) for stem, weight in weights.items())
        if named and named >= _HALF * sum(weights.values()):
            deciding.add(at)
    return frozenset(deciding)


def explained_columns(searcher: Searcher, query: Query, table: Table) -> set[int]:
    """The indices of the columns whose comments say a word of the question that is rare."""
    explained = searcher.columns(table.id).explained
    return {
        at
        for word in query.words.keys() & explained
        if searcher.lexical.idf(word) >= _RARE
        for at in explained[word]
    }


def example(table: Table, at: int, quoted: Mapping[int, str]) -> str | None:
    """A cell that shows what a column holds: one that the question quotes, or any text."""
    if at in quoted or table.columns[at].profile.kind not in (Kind.TEXT, Kind.BOOLEAN):
        return quoted.get(at)
    return next(iter(cells(table, at)), None)
