"""The probability that a catalog can answer a question at all.

The sign that it cannot is a content word that nothing covers: no name, no value and nothing near it
in meaning ("parking", "patents"). Words that any question may use ("how many", "per", "average")
are no sign, and neither are abbreviations in capitals that nothing covers: a company's own words
for what its tables call otherwise. A second sign is that tables which do not belong together cover
the words, one here and one there. A logistic regression weighs the words with how probable the best
candidate is, and how much nearer in meaning than tables are as a rule, which differs from pile to
pile.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

from dovetail.retrieve.graph.generic_words import GENERIC
from dovetail.retrieve.graph.query_match import QueryMatch
from dovetail.search.fusion import DEFAULT
from dovetail.search.query import Query, shapes_speech, stems

EVIDENCE = ("uncovered", "scattered", "first_logit", "best_logit", "dense_gap", "header")
Evidence = tuple[float, ...]
# What a unit of each piece of evidence adds to the logit that the catalog holds an answer. Fitted
# on questions of MMQA and Spider, over their corpora with and without their own databases, and over
# others: `programs/fit_answerable.py` prints them.
WEIGHTS = (-0.97, -3.03, 0.48, 0.22, 6.82, 4.65)
BIAS = -4.99
# The same where there is no embedder, so that nothing is near in meaning: by the first four alone.
WORD_WEIGHTS, WORD_BIAS = (-1.79, -3.71, 0.32, 0.33), 0.76
# So many of a question's words make most of them: two of three. What it takes off the logit if they
# are nowhere, beyond what the regression says.
_MOST, _NOWHERE = 0.66, 1.0
# Surer than this is no surer: a probability of 0.999.
_MOST_LOGIT = 7.0
# A word counts as covered in full from this match on: as a whole word in a column's name.
_WHOLE_WORD = 0.6
# The cosine of two words that mean the same ("town", "city"), and from which on they are related.
_SYNONYM, _RELATED = 0.75, 0.55
# What it counts that a table says a word which is no candidate.
_ELSEWHERE = 0.6
# One word in three that nothing covers says more than a third of what three in three say.
_FIRST_COUNT_MOST = 0.7
# Where less is uncovered, nothing speaks against an answer but that the question is terse.
_ALL_COVERED = 0.2
# Below this match a word is told as uncovered.
_UNCOVERED = 0.3
_LONGEST_ABBREVIATION = 5
# Surer than this the words are not compared by meaning, which takes time and only makes surer.
DOUBT = 0.25


def evidence(
    query: Query,
    match: QueryMatch,
    best: tuple[float, float],
    group: Sequence[int],
    usual: float | None,
    near: Mapping[str, float],
) -> Evidence:
    """What speaks for and against an answer, in the order of `EVIDENCE`.

    `best` is the highest first and the highest final probability of a candidate; `group` has the
    places of the likeliest candidates that belong together. `usual` is how near the question is to
    any table of the catalog: a table that it means is nearer. `near` is how near its words are to
    words of the candidates' names. Without an embedder there is neither.
    """
    covers = _covers(query, match, near)
    together = _covered_together(query, match, near, group)
    lacking = [
        1 - sum(each.get(word, 0.0) for word in covers) / max(1, len(covers))
        for each in (covers, together)
    ]
    said = (*(part**_FIRST_COUNT_MOST if covers else 0.0 for part in lacking), *map(_logit, best))
    if usual is None:
        return said
    nearest = float(match.dense.max()) / DEFAULT.dense
    return (*said, nearest - usual, float(match.headers.max()))


def answerable(
    seen: Evidence, *, nowhere: bool = False, weights: Sequence[float] | None = None
) -> float:
    """The probability that the catalog can answer, by the evidence for it.

    `nowhere`: most words are said nowhere. `weights`, with the bias last, instead of the shipped.
    """
    if weights is None:
        by_words = len(seen) == len(WORD_WEIGHTS)
        weights = (*WORD_WEIGHTS, WORD_BIAS) if by_words else (*WEIGHTS, BIAS)
    logit = weights[-1] + sum(w * one for w, one in zip(weights[:-1], seen, strict=True))
    likely = 1 / (1 + math.exp(_NOWHERE * nowhere - logit))
    return likely if seen[0] > _ALL_COVERED else max(likely, DOUBT)


def _logit(probability: float) -> float:
    within = min(max(probability, 1e-9), 1 - 1e-9)
    return max(-_MOST_LOGIT, min(_MOST_LOGIT, math.log(within / (1 - within))))


def mostly_nowhere(query: Query, match: QueryMatch, near: Mapping[str, float]) -> bool:
    """Whether most words of a question are said nowhere in the catalog and near nothing in it.

    "Which employees have a forklift licence?" has its table, and still no answer.
    """
    covers = list(_covers(query, match, near).values())
    nowhere = sum(cover <= 0 for cover in covers)
    return nowhere > 1 and nowhere >= _MOST * len(covers)


def uncovered_words(
    query: Query, match: QueryMatch, near: Mapping[str, float], most: float = _UNCOVERED
) -> list[str]:
    """The content words of a question that no candidate covers so well, as they were written."""
    return [word for word, cover in _covers(query, match, near).items() if cover < most]


def _covers(query: Query, match: QueryMatch, near: Mapping[str, float]) -> dict[str, float]:
    """How well the best candidate covers each content word of a question, from 0 to 1."""
    held = {
        word
        for link, row in zip(query.links, match.values, strict=True)
        if row.any()
        for word in stems(link.span.text)
    }
    best = match.words.max(axis=1, initial=0)
    found = {}
    for term, row in zip(query.terms, best, strict=True):
        if _is_content(query, term.text):
            word = query.words[term.text]
            elsewhere = min(_ELSEWHERE, float(term.match.max(initial=0)) / _WHOLE_WORD)
            said = 1.0 if term.text in held else float(row) / _WHOLE_WORD
            cover = min(1.0, max(said, _meant(near, word), elsewhere))
            if cover > _ELSEWHERE or not _is_abbreviation(query, word):
                found[word] = cover
    return found


def _covered_together(
    query: Query, match: QueryMatch, near: Mapping[str, float], group: Sequence[int]
) -> dict[str, float]:
    """How well candidates that belong together cover each word, by names, values or meaning."""
    best = match.covers[:, list(group)].max(axis=1, initial=0)
    found = {}
    for term, row in zip(query.terms, best, strict=True):
        word = query.words[term.text]
        found[word] = min(1.0, max(float(row) / _WHOLE_WORD, _meant(near, word), 0.0))
    return found


def _meant(near: Mapping[str, float], word: str) -> float:
    """How far a word means what a candidate's name says, from its nearest word on."""
    return (near.get(word, 0.0) - _RELATED) / (_SYNONYM - _RELATED)


def _is_content(query: Query, word: str) -> bool:
    """Whether a stem says what a question is about."""
    written = query.words[word]
    if word in GENERIC or shapes_speech(written):
        return False
    return len(written) > 1 and not any(map(str.isdigit, written))


def _is_abbreviation(query: Query, written: str) -> bool:
    """Whether a word is written in capitals, as a company writes its own words."""
    short = len(written) <= _LONGEST_ABBREVIATION
    return short and bool(re.search(rf"\b{re.escape(written.upper())}\b", query.text))
