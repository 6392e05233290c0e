"""How far a set can be relied on, computed once for a question: one `Doubt`.

`answerable` is the probability that the catalog can answer the question at all. The sign that it
cannot is a content word that nothing covers: no name, no value and nothing near it in meaning
("parking", "patents"). Words that any question may use ("how many", "per", "average") are no sign,
and neither are abbreviations in capitals that nothing covers: a company's own words for what its
tables call otherwise. A second sign is that tables which do not belong together cover the words,
one here and one there. A logistic regression weighs the words with how probable the best candidate
is, and how much nearer in meaning than tables are as a rule, which differs from pile to pile.

`confidence` is the F1 to expect of the set, and `alternatives` are other sets that the question
could mean: where a catalog pools several databases, a question may fit the tables of more than one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dovetail.arrays import Flags, Vectors
from dovetail.domain import Alternative, TableId
from dovetail.names.words import spelled
from dovetail.retrieve.groups import by_system, system_of
from dovetail.retrieve.match import WHOLE_WORD
from dovetail.retrieve.scorer import ScoredCandidates
from dovetail.search.fusion import DEFAULT
from dovetail.search.method_cache import method_cache
from dovetail.search.query import Query, shapes_speech, stem, stems
from dovetail.search.searcher import Searcher

SIGNS = ("uncovered", "scattered", "first_logit", "best_logit", "dense_gap", "header")
Signs = tuple[float, ...]
# What a unit of each sign adds to the logit that the catalog holds an answer. Fitted on questions
# over five piles and three corpora, on such of their own field that they cannot answer, and on
# strangers; docs/lab/choosing.md has what each gets by weights that were fitted without it.
WEIGHTS = (-2.51, -3.01, 0.15, 0.11, 3.86, 1.58)
BIAS = 0.17
# The same where there is no embedder, so that nothing is near in meaning: by the first four alone.
WORD_WEIGHTS, WORD_BIAS = (-2.80, -3.43, 0.16, 0.20), 2.32
# What a unit of each adds to the logit of the F1 to expect: the logit of what the probabilities of
# the tables promise, and that of an answer; and the bias. Fitted on the same and on made companies.
CONFIDENCE = (0.630, 0.477, -0.612)
# Surer than this either way is no surer.
_SURE_LOGIT = 4.0
# The share of a table's name that a question must say to name it.
_WHOLE_NAME = 0.99
# Surer than this is no surer: a probability of 0.999.
_MOST_LOGIT = 7.0
# The cosine of two words that mean the same ("town", "city"), and from which on they are related.
_SYNONYM, _RELATED = 0.75, 0.55
# What it counts that a table says a word which is no candidate.
_ELSEWHERE = 0.6
# One word in three that nothing covers says more than a third of what three in three say.
_FIRST_COUNT_MOST = 0.7
# What a person's notes say of a question, the catalog can answer.
_NOTED = 0.95
# Below this match a word is reported as uncovered.
_UNCOVERED = 0.3
_LONGEST_ABBREVIATION = 5
# Shorter words are ids and abbreviations, which have no meaning by themselves.
_SHORTEST = 3
_WORDS_KEPT, _TABLES_KEPT = 1 << 14, 1024
# An alternative is reported if it is at least so probable, and so many of them at most.
_LEAST_PROBABLE, _MOST_ALTERNATIVES = 0.05, 3
# Tables of an alternative for which it is said what speaks for them.
_EXPLAINED = 2

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


def cut(breadth: float) -> float:
    """The share of the best probability that a candidate needs: all at breadth 0, none at 1."""
    return (1 - breadth) ** 2


def expected_f1(chosen: Sequence[float], needed: float) -> float:
    """The F1 to expect of a set, from the probabilities of its tables and how many are needed.

    F1 is twice the number of right tables, over the number chosen and the number needed; the
    probabilities of all candidates add up to the latter. A question that no table fits has small
    probabilities, and so has a set that is left to a toss.

    >>> round(expected_f1([0.9, 0.8], needed=1.8), 2)
    0.89
    """
    return 2 * sum(chosen) / (len(chosen) + needed) if chosen else 0.0


@dataclass(frozen=True, slots=True)
class Doubt:
    """How far a set can be relied on.

    `answerable` is the probability that the catalog can answer the question, `confidence` the F1 to
    expect of the set, `uncovered` the words of the question that no table covers. `evident`: a
    cell or a name is what the question says, so that it is not to be refused.
    """

    answerable: float
    confidence: float
    uncovered: tuple[str, ...] = ()
    alternatives: tuple[Alternative, ...] = ()
    evident: bool = False

    @property
    def likelier(self) -> Alternative | None:
        """The first alternative of which more is to be expected than of the set, if any."""
        return next((one for one in self.alternatives if one.confidence > self.confidence), None)

    def swapped(self, tables: Sequence[TableId], probability: float) -> Doubt:
        """The doubt about the likelier alternative, with the set that it was about as another."""
        likelier = self.likelier
        if likelier is None:
            return self
        former = Alternative(tuple(tables), self.confidence, probability)
        others = [former if one is likelier else one for one in self.alternatives]
        return replace(self, confidence=likelier.confidence, alternatives=tuple(others))


class Doubter:
    """Says how far the sets of one searcher can be relied on; vectors of words are made once."""

    def __init__(self, searcher: Searcher, *, breadth: float, use_sources: bool) -> None:
        self._searcher = searcher
        self._cut = cut(breadth)
        self._use_sources = use_sources
        self._meaning = WordMeaning(searcher)

    def doubt(self, query: Query, scored: ScoredCandidates, tables: Sequence[TableId]) -> Doubt:
        """The doubt about a set of tables, connectors among them."""
        probability, covered = self.answerable(query, scored)
        if query.noted or any(term.note and len(term.tables) for term in query.terms):
            probability = max(probability, _NOTED)

        def confidence(those: Iterable[TableId]) -> float:
            chosen = [scored.by_table.get(table, 0.0) for table in those]
            promised = expected_f1(chosen, float(scored.probabilities.sum()))
            return round(relied_on(promised, probability), 4)

        return Doubt(
            answerable=round(probability, 4),
            confidence=confidence(tables),
            uncovered=tuple(covered.uncovered),
            alternatives=tuple(self._alternatives(query, scored, confidence)),
            evident=evident(query, scored, covered),
        )

    def answerable(self, query: Query, scored: ScoredCandidates) -> tuple[float, WordCover]:
        """The probability that the catalog can answer, and how far each word is covered."""
        covered = WordCover.of(query, scored)
        if query.vector is not None:
            covered = self.by_meaning(covered, scored)
        return answerable(self.signs(query, scored, covered)), covered

    def by_meaning(self, covered: WordCover, scored: ScoredCandidates) -> WordCover:
        """The cover of words with what candidates' names say in words of the same meaning."""
        words = [word for word, cover in covered.words.items() if cover < 1]
        return covered.meant(self._meaning.nearest(words, scored.tables))

    def signs(self, query: Query, scored: ScoredCandidates, covered: WordCover) -> Signs:
        """What speaks for and against an answer, in the order of `SIGNS`.

        Without an embedder the last two are missing: how much nearer in meaning the question is to
        the nearest table than to tables as a rule, and how near to a header.
        """
        best = float(scored.first.max()), float(scored.probabilities.max())
        signs = (*covered.lacking, *map(_logit, best))
        if query.vector is None:
            return signs
        nearest = float(scored.match.dense.max()) / DEFAULT.dense
        gap = nearest - self._searcher.usual_cosine(query)
        return (*signs, gap, float(scored.match.headers.max()))

    def _alternatives(
        self,
        query: Query,
        scored: ScoredCandidates,
        confidence: Callable[[Sequence[TableId]], float],
    ) -> Iterator[Alternative]:
        """Other sets that the question could mean, the likeliest first, ties by their tables.

        Of a group those tables count whose probability is near enough to the best one's in it, as
        in the chosen set. A group for which nothing speaks in words is passed over.
        """
        probabilities = scored.by_table
        count = 0
        for probability, group in sorted(self._readings(scored), key=lambda one: (-one[0], one[1])):
            if probability < _LEAST_PROBABLE or count == _MOST_ALTERNATIVES:
                break
            ranked = sorted(group, key=lambda table: (-probabilities[table], table))
            least = self._cut * probabilities[ranked[0]]
            tables = tuple(table for table in ranked if probabilities[table] >= least)
            if reason := self._reason(query, tables):
                count += 1
                yield Alternative(tables, confidence(tables), probability, reason)

    def _readings(self, scored: ScoredCandidates) -> Iterator[tuple[float, tuple[TableId, ...]]]:
        """The groups that are not meant, each within one system, and their probabilities."""
        tables = scored.tables
        systems = [system_of(table) for table in tables]
        for group in scored.groups[1:]:
            if group.meant:
                continue
            parts: Sequence[tuple[Sequence[int], float]] = [(group.indices, 1.0)]
            if self._use_sources:
                covers = scored.match.covers
                parts = list(by_system(group.indices, systems, covers, scored.probabilities))
            for indices, share in parts:
                yield round(group.probability * share, 4), tuple(tables[at] for at in indices)

    def _reason(self, query: Query, tables: Sequence[TableId]) -> str:
        """What speaks for the likeliest tables for which anything does."""
        reasons = zip(tables, self._searcher.reasons(query, tables), strict=True)
        sentences = [f"{table.name}: {', '.join(own)}" for table, own in reasons if own]
        return "; ".join(sentences[:_EXPLAINED])


@dataclass(frozen=True, slots=True)
class WordCover:
    """How well the best candidate covers each content word of a question, from 0 to 1.

    `together` is the same of every word by the likeliest candidates that belong together.
    `abbreviations` are words in capitals: one that is hardly covered does not count.
    """

    best: Mapping[str, float]
    together: Mapping[str, float]
    abbreviations: frozenset[str]

    @classmethod
    def of(cls, query: Query, scored: ScoredCandidates) -> WordCover:
        """The cover by names and values."""
        match, group = scored.match, scored.groups[0].indices
        linked: dict[str, float] = {}
        for link, row in zip(query.links, match.values, strict=True):
            share = link.share if row.any() else _ELSEWHERE * link.share
            for word in stems(link.span.text):
                linked[word] = max(share, linked.get(word, 0.0))
        named = match.words.max(axis=1, initial=0).tolist()
        in_group = match.covers[:, list(group)].max(axis=1, initial=0).tolist()
        best, together = {}, {}
        for term, own, grouped in zip(query.terms, named, in_group, strict=True):
            word = query.words[term.text]
            together[word] = min(1.0, grouped / WHOLE_WORD)
            if _is_content(term.text, word):
                elsewhere = min(_ELSEWHERE, float(term.match.max(initial=0)) / WHOLE_WORD)
                by_value = linked.get(term.text, 0.0)
                best[word] = min(1.0, max(own / WHOLE_WORD, by_value, elsewhere))
        return cls(best, together, frozenset(_abbreviations(query.text, best)))

    def meant(self, near: Mapping[str, float]) -> WordCover:
        """The same with words of like meaning, given the cosine of each word and the nearest."""

        def raised(covers: Mapping[str, float]) -> dict[str, float]:
            related = {
                word: (near.get(word, 0.0) - _RELATED) / (_SYNONYM - _RELATED) for word in covers
            }
            return {word: min(1.0, max(cover, related[word])) for word, cover in covers.items()}

        return replace(self, best=raised(self.best), together=raised(self.together))

    @property
    def words(self) -> dict[str, float]:
        """The cover of each word that counts."""
        return {
            word: cover
            for word, cover in self.best.items()
            if cover > _ELSEWHERE or word not in self.abbreviations
        }

    @property
    def uncovered(self) -> list[str]:
        """The words that no candidate covers, as they were written."""
        return [word for word, cover in self.words.items() if cover < _UNCOVERED]

    @property
    def lacking(self) -> tuple[float, float]:
        """How much of the words is uncovered, and how much by candidates that belong together."""
        words = self.words
        if not words:
            return 0.0, 0.0
        covered = (
            sum(covers.get(word, 0.0) for word in words) / len(words)
            for covers in (words, self.together)
        )
        uncovered, scattered = ((1 - share) ** _FIRST_COUNT_MOST for share in covered)
        return uncovered, scattered


def answerable(signs: Signs, weights: Sequence[float] | None = None) -> float:
    """The probability that the catalog can answer, by the signs of it.

    `weights`, with the bias last, instead of the shipped.
    """
    if weights is None:
        by_words = len(signs) == len(WORD_WEIGHTS)
        weights = (*WORD_WEIGHTS, WORD_BIAS) if by_words else (*WEIGHTS, BIAS)
    logit = weights[-1] + sum(w * sign for w, sign in zip(weights[:-1], signs, strict=True))
    return 1 / (1 + math.exp(-logit))


def relied_on(promised: float, likely: float) -> float:
    """The F1 to expect of a set, as sets have had it: 0 where there is no answer.

    `promised` is what the probabilities of its tables promise, `likely` that there is an answer.

    >>> round(relied_on(0.9, likely=0.95), 2), round(relied_on(0.9, likely=0.05), 2)
    (0.9, 0.35)
    """
    by_set, by_answer, bias = CONFIDENCE
    logit = by_set * clipped_logit(promised) + by_answer * clipped_logit(likely) + bias
    return 1 / (1 + math.exp(-logit))


def clipped_logit(probability: float) -> float:
    """The log-odds, as far as they count for the confidence."""
    return max(-_SURE_LOGIT, min(_SURE_LOGIT, _logit(probability)))


def evident(query: Query, scored: ScoredCandidates, covered: WordCover) -> bool:
    """Whether a candidate holds a value of the question or is named by it in full.

    A value is one that is written like a name or has several words: a plain word may be any cell's.
    Neither tells where most words are nowhere ("Which employees have a forklift licence?").
    """
    match = scored.match
    if 2 * len(covered.uncovered) > len(covered.words):
        return False
    held = any(
        row.any() and link.term.weight > 0 and not link.span.plain_word and not link.span.time
        for link, row in zip(query.links, match.values, strict=True)
    )
    return bool(held or match.names.max() > _WHOLE_NAME)


def _logit(probability: float) -> float:
    within = min(max(probability, 1e-9), 1 - 1e-9)
    return max(-_MOST_LOGIT, min(_MOST_LOGIT, math.log(within / (1 - within))))


def content_words(query: Query) -> Flags:
    """Which terms of a query say what it is about."""
    flags = (_is_content(term.text, query.words[term.text]) for term in query.terms)
    return np.fromiter(flags, np.bool_, len(query.terms))


def _is_content(stemmed: str, written: str) -> bool:
    """Whether a word says what a question is about."""
    if stemmed in GENERIC or shapes_speech(written):
        return False
    return len(written) > 1 and not any(map(str.isdigit, written))


def _abbreviations(text: str, words: Mapping[str, float]) -> Iterator[str]:
    """The words that a text writes in capitals, as a company writes its own words."""
    for word in words:
        short = len(word) <= _LONGEST_ABBREVIATION
        if short and re.search(rf"\b{re.escape(word.upper())}\b", text):
            yield word


class WordMeaning:
    """How near in meaning the words of a question are to the words that tables are named by.

    A question says "clients" where the table says `customers`. Vectors of single words tell that;
    those of whole headers and schema lines, which the search goes by, tell it much worse.
    """

    def __init__(self, searcher: Searcher) -> None:
        self._searcher = searcher
        self._by_word: dict[str, Vectors] = {}
        self._words_of = method_cache(self._read, _TABLES_KEPT)

    def nearest(self, words: Sequence[str], tables: Sequence[TableId]) -> Mapping[str, float]:
        """The cosine of each word and the nearest word in the names of tables and columns."""
        named = sorted(frozenset[str]().union(*map(self._words_of, tables)))
        asked = [word for word in words if len(word) >= _SHORTEST]
        if not named or not asked:
            return {}
        cosines = self._vectors(asked) @ self._vectors(named).T
        return dict(zip(asked, cosines.max(axis=1).tolist(), strict=True))

    def _read(self, table: TableId) -> frozenset[str]:
        """The words in the names of a table and its columns."""
        profile = self._searcher.catalog[table]
        names = (profile.name, *(column.name for column in profile.columns))
        parts = self._searcher.lexical.parts
        words = (word for name in names for word in spelled(name, parts).split())
        return frozenset(w for w in words if len(w) >= _SHORTEST and not w.isdigit())

    def _vectors(self, words: Sequence[str]) -> Vectors:
        if len(self._by_word) > _WORDS_KEPT:
            self._by_word = {}
        new = sorted(set(words) - self._by_word.keys())
        if new:
            self._by_word |= dict(zip(new, self._searcher.vectors(new), strict=True))
        return np.stack([self._by_word[word] for word in words])
