"""What a question says of each of its candidates, as the search left it: the selector's input.

Words count here by where they stand and not by how long a table is: a word in the table's name
speaks of the table, one in a key (`pet_id`) speaks of another.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from dovetail.domain import Candidate, TableId
from dovetail.joins.naming.name_words import identifies
from dovetail.search.fusion import DEFAULT, Floats
from dovetail.search.lexical import QueryTerm
from dovetail.search.query_terms import asked, stems
from dovetail.search.searcher import Searcher

_IN_NAME, _IN_COLUMN, _IN_KEY = 1.0, 2 / 3, 0.3
# A word that is part of a literal is hardly meant as the name of anything.
_IN_LITERAL = 0.3
_TABLES_KEPT = 4096


@dataclass(frozen=True, slots=True)
class QueryMatch:
    """What is known of the candidates of a question, in the order of the search.

    `words` and `literals` have a row for each mention and a column for each candidate: how well it
    matches, and whether it holds it. `mass` is what all words of the question weigh. `joins` says
    how surely candidates join, each with itself at 1.
    """

    scores: Floats
    names: Floats  # the share of its own name that is said
    columns: Floats  # the same of the column of which the most is said, keys left out
    headers: Floats  # the cosine of its best header
    gains: Floats  # what its neighbours cover beyond it, as a share of the mass
    words: Floats
    word_weights: Floats
    mass: float
    literals: Floats
    literal_weights: Floats
    speech: Floats  # of each literal, how likely it is a plain word that no name says
    joins: Floats


Weighted = tuple[str, float]


@dataclass(frozen=True, slots=True)
class _Vocabulary:
    """The words of a table: how much each speaks of it, and its plain columns by rarity."""

    level: Mapping[str, float]
    columns: tuple[tuple[Weighted, ...], ...]


class QueryMatcher:
    """Reads what a searcher knows of questions and candidates."""

    def __init__(self, searcher: Searcher) -> None:
        self._searcher = searcher
        self._vocabulary = lru_cache(maxsize=_TABLES_KEPT)(self._read)

    def match(self, question: str, candidates: Sequence[Candidate]) -> QueryMatch:
        """The evidence on the candidates of a question, of which there is at least one."""
        tables = [one.table for one in candidates]
        listed = asked(question)
        mentions = self._searcher.mentions(question)
        mass = max(sum(word.weight for word in mentions.words), 1e-6)
        words, columns = self._match(listed, tables)
        named, speech = self._literals(question, dict(zip(listed, words.max(axis=1), strict=True)))
        damped = [_IN_LITERAL if word in named else 1.0 for word in listed]
        return QueryMatch(
            scores=_scores(candidates),
            names=_part(candidates, "name", DEFAULT.name),
            columns=columns,
            headers=_part(candidates, "column", DEFAULT.column),
            gains=_part(candidates, "neighbour", DEFAULT.gain) / math.sqrt(mass),
            words=words,
            word_weights=_floats([word.weight for word in mentions.words]) * _floats(damped),
            mass=mass,
            literals=self._held(mentions.literals, tables),
            literal_weights=_floats([literal.weight for literal in mentions.literals]),
            speech=speech,
            joins=self._searcher.joined(tables),
        )

    def _match(self, listed: Sequence[str], tables: Sequence[TableId]) -> tuple[Floats, Floats]:
        """How well each word matches each table, and the share of each one's best column."""
        meant: dict[str, list[tuple[int, float]]] = {}
        for row, word in enumerate(listed):
            for other, share in self._searcher.lexical.alike(word):
                meant.setdefault(other, []).append((row, share))
        said = {word: max(share for _, share in rows) for word, rows in meant.items()}
        match = np.zeros((len(listed), len(tables)), dtype=np.float32)
        columns = np.zeros(len(tables), dtype=np.float32)
        for place, table in enumerate(tables):
            vocabulary = self._vocabulary(table)
            for word in vocabulary.level.keys() & meant.keys():
                for row, share in meant[word]:
                    match[row, place] = max(match[row, place], share * vocabulary.level[word])
            columns[place] = max(_said(vocabulary.columns, said), default=0.0)
        return match, columns

    def _literals(self, question: str, known: Mapping[str, float]) -> tuple[set[str], Floats]:
        """The words inside literals that are written as names, and how far others are speech."""
        named: set[str] = set()
        speech = []
        for literal in self._searcher.literals.find(question):
            span = literal.span
            inside = set(stems(span.text))
            lone = span.end - span.start == 1 and not span.named
            if not span.number and not lone:
                named |= inside
            best = max((float(known.get(word, 0)) for word in inside), default=0.0)
            speech.append(1 - best if lone and not span.number else 0.0)
        return named, _floats(speech)

    def _held(self, literals: Sequence[QueryTerm], tables: Sequence[TableId]) -> Floats:
        places = [self._searcher.places[table] for table in tables]
        held = np.zeros((len(literals), len(tables)), dtype=np.float32)
        for row, literal in zip(held, literals, strict=True):
            row[:] = np.isin(places, literal.tables)
        return held

    def _read(self, table: TableId) -> _Vocabulary:
        known, lexical = self._searcher.catalog[table], self._searcher.lexical
        level = dict.fromkeys(stems(self._searcher.purposes.get(table, "")), _IN_COLUMN)
        plain = []
        for column in known.columns:
            key, words = identifies(column.name), stems(column.name)
            for word in words:
                level[word] = max(level.get(word, 0.0), _IN_KEY if key else _IN_COLUMN)
            if words and not key:
                plain.append(tuple((word, lexical.rarity(word)) for word in words))
        level |= dict.fromkeys(stems(known.name), _IN_NAME)
        return _Vocabulary(level, tuple(plain))


def _said(columns: Sequence[Sequence[Weighted]], said: Mapping[str, float]) -> Iterator[float]:
    """How much of each column's name is said, by the rarity of its words."""
    for column in columns:
        found = sum(rarity * said[word] for word, rarity in column if word in said)
        if found:
            yield found / sum(rarity for _, rarity in column)


def _scores(candidates: Sequence[Candidate]) -> Floats:
    """The scores of the search, of which the first is the highest."""
    scores = _floats([sum(one.signals.values()) for one in candidates])
    scores[0] = scores.max()
    return scores


def _part(candidates: Sequence[Candidate], name: str, weight: float) -> Floats:
    """A part of the scores, before it was weighted."""
    return _floats([one.signals[name] / weight for one in candidates])


def _floats(values: Sequence[float]) -> Floats:
    return np.array(values, dtype=np.float32)
