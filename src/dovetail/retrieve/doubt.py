"""How far a set can be relied on, computed once for a question: one `Doubt`.

`answerable` is the probability that the catalog can answer the question at all. The sign that it
cannot is a content word that nothing covers: no name, no value and nothing near it in meaning
("parking", "patents"), the more so if it names a thing that companies keep data of. Words that any
question may use ("how many", "per", "average") are no sign. Another sign is that tables which do
not belong together cover the words, one here and one there. A logistic regression weighs the words
with how probable the best candidate is, and how much nearer in meaning than tables are as a rule,
which differs from pile to pile.

`confidence` is the F1 to expect of the set, and `alternatives` are other sets that the question
could mean: where a catalog pools several databases, a question may fit the tables of more than one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dovetail.arrays import Float32s, Vectors
from dovetail.domain import Alternative, TableId
from dovetail.names.lexicon import names_thing
from dovetail.names.words import spelled
from dovetail.retrieve.choose import cut
from dovetail.retrieve.groups import system_of
from dovetail.retrieve.match import WHOLE_WORD, names_something
from dovetail.retrieve.scorer import ScoredCandidates
from dovetail.search.fusion import DEFAULT
from dovetail.search.method_cache import method_cache
from dovetail.search.query import Query, stem, stems
from dovetail.search.searcher import Searcher
from dovetail.search.value_linking import PART_OF_NAME

SIGNS = ("uncovered", "things", "scattered", "best_logit", "dense_gap", "header")
Signs = tuple[float, ...]
# What a unit of each sign adds to the logit that the catalog holds an answer. Fitted on questions
# over eight piles and three corpora, on such of their own field that they cannot answer, on short
# ones and on strangers; docs/lab/choosing.md has what each gets by weights that were fitted without
# it.
WEIGHTS = (-5.28, -4.42, -1.37, 0.09, 1.55, 2.84)
BIAS = 0.40
# The same where there is no embedder, so that nothing is near in meaning: by the first four alone.
WORD_WEIGHTS, WORD_BIAS = (-5.78, -4.36, -1.65, 0.19), 2.21
# How the F1 to expect goes by what the probabilities of the tables promise, and by that of an
# answer: what a unit of the logit of each adds to a logit, and the bias. Fitted on the same
# questions.
CONFIDENCE = (0.65, 0.49, 0.94, 0.81)
# Surer than this either way is no surer.
_SURE_LOGIT = 4.0
# Surer than this is no surer: a probability of 0.999.
_MOST_LOGIT = 7.0
# The cosine of two words that mean the same ("town", "city"), and from which on they are related.
_SYNONYM, _RELATED = 0.75, 0.55
# What it counts that a table says a word which is no candidate.
_ELSEWHERE = 0.6
# A word that any question may use, and that a table says, counts for what a question is about as
# so much of a word; and so many words are taken to be covered besides, so that one word that is
# nowhere does not say all of a question of two.
_SAID, _BESIDES = 0.5, 1.0
# What a person's notes say of a question, the catalog can answer, as far as its words are covered.
_NOTED = 0.95
# Below this match a word is reported as uncovered.
_UNCOVERED = 0.3
# Shorter words are ids and abbreviations, which have no meaning by themselves.
_SHORTEST = 3
_WORDS_KEPT, _TABLES_KEPT = 1 << 14, 1024
# An alternative is reported if it is at least so probable, and so many of them at most.
_LEAST_PROBABLE, _MOST_ALTERNATIVES = 0.05, 3
# Tables of an alternative for which it is said what speaks for them.
_EXPLAINED = 2


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
    expect of the set, by which it is given or refused, `uncovered` the words of the question that
    no table covers. `evident`: a cell, a name or a note is what the question says, so that it is
    not to be refused.
    """

    answerable: float
    confidence: float
    uncovered: tuple[str, ...] = ()
    alternatives: tuple[Alternative, ...] = ()
    evident: bool = False

    @property
    def likelier(self) -> Alternative | None:
        """The alternative of which most is to be expected, if that is more than of the set."""
        first = next(iter(self.alternatives), None)
        return first if first is not None and first.confidence > self.confidence else None

    def swapped(self, tables: Sequence[TableId], probability: float) -> Doubt:
        """The doubt about the likelier alternative, with the set that it was about as another."""
        likelier = self.likelier
        if likelier is None:
            return self
        former = Alternative(tuple(tables), self.confidence, probability)
        others = _best_first(former, *(one for one in self.alternatives if one is not likelier))
        return replace(self, confidence=likelier.confidence, alternatives=others)

    def with_at_least(self, confidence: float) -> Doubt:
        """The same with so much confidence, if it has less."""
        return replace(self, confidence=max(self.confidence, confidence))


class Doubter:
    """Says how far the sets of one searcher can be relied on; vectors of words are made once."""

    def __init__(self, searcher: Searcher, *, breadth: float, use_sources: bool) -> None:
        self._searcher = searcher
        self._cut = cut(breadth)
        self._use_sources = use_sources
        self._meaning = WordMeaning(searcher)

    def doubt(
        self,
        query: Query,
        scored: ScoredCandidates,
        tables: Sequence[TableId],
        others: Sequence[Sequence[int]] = (),
    ) -> Doubt:
        """The doubt about a set of tables, connectors among them, where `others` may be meant."""
        covered = self.covered(query, scored)
        probability = answerable(self.signs(query, scored, covered))
        noted = bool(query.noted) or any(
            bool(term.note) and len(term.tables) > 0 for term in query.terms
        )
        if noted:
            probability = max(probability, _NOTED * (1 - covered.lacking[0]))

        by_table, needed = scored.by_table, float(scored.probabilities.sum())

        def confidence(those: Iterable[TableId]) -> float:
            chosen = [by_table.get(table, 0.0) for table in those]
            promised = expected_f1(chosen, needed)
            return round(relied_on(promised, probability), 4)

        return Doubt(
            answerable=round(probability, 4),
            confidence=confidence(tables),
            uncovered=tuple(covered.uncovered),
            alternatives=self._alternatives(query, scored, others, confidence),
            evident=noted or evident(query, scored, covered),
        )

    def covered(self, query: Query, scored: ScoredCandidates) -> WordCover:
        """How far each word is covered; with an embedder, also by words of like meaning."""
        covered = WordCover.of(query, scored)
        words = [word for word, cover in covered.best.items() if cover < 1]
        if query.vector is None or not words:
            return covered
        near = self._meaning.nearest(words, scored.tables, said=query.words.keys())
        related = np.clip((near - _RELATED) / (_SYNONYM - _RELATED), 0, 1)
        # What an improbable table is named by is no sign that the question means it.
        likely = np.sqrt(scored.probabilities / max(float(scored.probabilities.max()), 1e-9))
        best = (related * likely).max(axis=1, initial=0)
        return covered.meant(dict(zip(words, best.tolist(), strict=True)))

    def signs(self, query: Query, scored: ScoredCandidates, covered: WordCover) -> Signs:
        """What speaks for and against an answer, in the order of `SIGNS`.

        Without an embedder the last two are missing: how much nearer in meaning the question is to
        the nearest table than to tables as a rule, and how near to a header.
        """
        signs = (*covered.lacking, _logit(float(scored.probabilities.max())))
        if query.vector is None:
            return signs
        nearest = float(scored.match.dense.max()) / DEFAULT.dense
        gap = nearest - self._searcher.usual_cosine(query)
        return (*signs, gap, float(scored.match.headers.max()))

    def _alternatives(
        self,
        query: Query,
        scored: ScoredCandidates,
        others: Sequence[Sequence[int]],
        confidence: Callable[[Sequence[TableId]], float],
    ) -> tuple[Alternative, ...]:
        """Other sets that the question could mean, those first of which most is to be expected:
        what the same names mean in other systems, and other groups. One for which nothing speaks in
        words is passed over, and one without what a person's notes name.
        """
        noted = set(np.flatnonzero(scored.match.defined).tolist())
        tables, mass = scored.tables, scored.probabilities
        found: dict[frozenset[int], Alternative] = {}
        first = scored.groups[0]
        of_group = float(mass[list(first.indices)].sum())
        readings = [
            (sorted(other), first.probability * float(mass[list(other)].sum()) / of_group)
            for other in others
        ]
        for indices, probability in [*readings, *self._other_groups(scored)]:
            known = any(set(indices) <= before for before in found)
            if probability < _LEAST_PROBABLE or known or len(found) == _MOST_ALTERNATIVES:
                continue
            if not noted <= set(indices):
                continue
            ranked = sorted(indices, key=lambda at: -mass[at])
            those = tuple(tables[at] for at in ranked)
            if reason := self._reason(query, those):
                found[frozenset(indices)] = Alternative(
                    those, confidence(those), round(min(probability, 1.0), 4), reason
                )
        return _best_first(*found.values())

    def _other_groups(self, scored: ScoredCandidates) -> Iterator[tuple[list[int], float]]:
        """The groups that are not meant, the likeliest first, and how likely each is.

        Of a group those tables count whose probability is near enough to the best one's in it, as
        in the chosen set.
        """
        for group in scored.groups[1:]:
            if group.meant:
                continue
            ranked = sorted(group.indices, key=lambda at: -scored.probabilities[at])
            if self._use_sources:  # a company has the same thing in several systems
                first = system_of(scored.tables[ranked[0]])
                ranked = [at for at in ranked if system_of(scored.tables[at]) == first]
            least = self._cut * scored.probabilities[ranked[0]]
            yield [at for at in ranked if scored.probabilities[at] >= least], group.probability

    def _reason(self, query: Query, tables: Sequence[TableId]) -> str:
        """What speaks for the likeliest tables for which anything does."""
        reasons = zip(tables, self._searcher.reasons(query, tables), strict=True)
        sentences = [f"{table.name}: {', '.join(own)}" for table, own in reasons if own]
        return "; ".join(sentences[:_EXPLAINED])


def _best_first(*alternatives: Alternative) -> tuple[Alternative, ...]:
    """Alternatives, those first of which most is to be expected."""
    return tuple(sorted(alternatives, key=lambda one: (-one.confidence, -one.probability)))


@dataclass(frozen=True, slots=True)
class WordCover:
    """How well the best candidate covers each content word of a question, from 0 to 1.

    `together` is the same by the likeliest candidates that belong together. `besides` is how many
    words are taken to be covered besides: some, and such as any question may use that these say.
    """

    best: Mapping[str, float]
    together: Mapping[str, float]
    besides: float = _BESIDES

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
        for at in np.flatnonzero(match.content).tolist():
            term = query.terms[at]
            word = query.words[term.text]
            elsewhere = min(_ELSEWHERE, float(term.match.max(initial=0)) / WHOLE_WORD)
            by_value = linked.get(term.text, 0.0)
            best[word] = min(1.0, max(named[at] / WHOLE_WORD, by_value, elsewhere))
            together[word] = min(1.0, in_group[at] / WHOLE_WORD)
        said = (
            min(1.0, float(match.words[at, list(group)].max(initial=0)) / WHOLE_WORD)
            for at in np.flatnonzero(~match.content).tolist()
            if names_something(query.words[query.terms[at].text])
        )
        return cls(best, together, _BESIDES + _SAID * sum(said))

    def meant(self, related: Mapping[str, float]) -> WordCover:
        """The same with words of like meaning, given how far tables say one for each."""

        def raised(covers: Mapping[str, float]) -> dict[str, float]:
            return {word: max(cover, related.get(word, 0.0)) for word, cover in covers.items()}

        return replace(self, best=raised(self.best), together=raised(self.together))

    @property
    def uncovered(self) -> list[str]:
        """The words that no candidate covers, as they were written."""
        return [word for word, cover in self.best.items() if cover < _UNCOVERED]

    @property
    def lacking(self) -> tuple[float, float, float]:
        """How much of the words is uncovered; how much of them such that name things that companies
        keep data of ("salary", unlike "own" or "carry"); and how much is uncovered by candidates
        that belong together."""
        every = len(self.best) + self.besides
        uncovered = {word: 1 - cover for word, cover in self.best.items()}
        things = (share for word, share in uncovered.items() if names_thing(word))
        scattered = len(self.together) - sum(self.together.values())
        return sum(uncovered.values()) / every, sum(things) / every, scattered / every


def answerable(signs: Signs) -> float:
    """The probability that the catalog can answer, by the signs of it."""
    by_words = len(signs) == len(WORD_WEIGHTS)
    weights, bias = (WORD_WEIGHTS, WORD_BIAS) if by_words else (WEIGHTS, BIAS)
    logit = bias + sum(weight * sign for weight, sign in zip(weights, signs, strict=True))
    return 1 / (1 + math.exp(-logit))


def relied_on(promised: float, likely: float) -> float:
    """The F1 to expect of a set, as sets have had it: 0 where there is no answer.

    `promised` is what the probabilities of its tables promise, `likely` that there is an answer.
    The F1 where there is an answer times the probability of one, each as far as it was borne out.

    >>> round(relied_on(0.9, likely=0.95), 2), round(relied_on(0.9, likely=0.05), 2)
    (0.85, 0.11)
    """
    of_set, set_bias, of_answer, answer_bias = CONFIDENCE
    where_answered = of_set * clipped_logit(promised) + set_bias
    answered = of_answer * clipped_logit(likely) + answer_bias
    return 1 / (1 + math.exp(-where_answered)) / (1 + math.exp(-answered))


def clipped_logit(probability: float) -> float:
    """The log-odds, as far as they count for the confidence."""
    return max(-_SURE_LOGIT, min(_SURE_LOGIT, _logit(probability)))


def evident(query: Query, scored: ScoredCandidates, covered: WordCover) -> bool:
    """Whether a candidate holds a value of the question or is named by it in full.

    A value is one that is written like a name or has several words, and a name may be a part of a
    cell, in however many tables: a plain word may be any cell's. Neither tells where most words are
    nowhere ("Which employees have a forklift licence?").
    """
    match = scored.match
    if 2 * len(covered.uncovered) > len(covered.best):
        return False
    held = any(
        row.any() and link.share >= PART_OF_NAME and not link.span.plain_word and not link.span.time
        for link, row in zip(query.links, match.values, strict=True)
    )
    return bool(held or match.called.any())


def _logit(probability: float) -> float:
    within = min(max(probability, 1e-9), 1 - 1e-9)
    return max(-_MOST_LOGIT, min(_MOST_LOGIT, math.log(within / (1 - within))))


class WordMeaning:
    """How near in meaning the words of a question are to the words that tables are named by.

    A question says "clients" where the table says `customers`. Vectors of single words tell that;
    those of whole headers and schema lines, which the search goes by, tell it much worse.
    """

    def __init__(self, searcher: Searcher) -> None:
        self._searcher = searcher
        self._by_word: dict[str, Vectors] = {}
        self._words_of = method_cache(self._read, _TABLES_KEPT)

    def nearest(
        self, words: Sequence[str], tables: Sequence[TableId], said: Collection[str] = ()
    ) -> Float32s:
        """The cosine of each word and the nearest word in the names of each table and its columns.

        A row for each word, a column for each table. A name that another word of the question says
        (`said`, as stems) stands for that word alone: the cows of "cows by breed" are no breed.
        """
        named_by = [self._words_of(table) for table in tables]
        named = sorted(frozenset[str]().union(*named_by))
        asked = [at for at, word in enumerate(words) if len(word) >= _SHORTEST]
        near = np.zeros((len(words), len(tables)), dtype=np.float32)
        if not named or not asked:
            return near
        cosines = self._vectors([words[at] for at in asked]) @ self._vectors(named).T
        taken = [(at, stemmed) for at, name in enumerate(named) if (stemmed := stem(name)) in said]
        own = [stem(words[at]) for at in asked]
        for column, stemmed in taken:
            cosines[[row for row, one in enumerate(own) if one != stemmed], column] = 0
        number = {name: at for at, name in enumerate(named)}
        for column, names in enumerate(named_by):
            there = [number[name] for name in names]
            near[asked, column] = cosines[:, there].max(axis=1, initial=0)
        return near

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
        return np.array([self._by_word[word] for word in words])
