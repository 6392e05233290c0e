"""The probability that a catalog can answer a question at all.

The sign that it cannot is a content word that nothing covers: no name, no value and nothing near it
in meaning ("parking", "patents"). Words that any question may use ("how many", "per", "average")
are no sign, and neither are abbreviations in capitals, which are a company's own words for what its
tables call otherwise. A logistic regression weighs the words with how well the best candidate fits.
"""

from __future__ import annotations

import math
import re

import numpy as np

from dovetail.retrieve.graph.generic_words import GENERIC
from dovetail.retrieve.graph.query_match import QueryMatch
from dovetail.search.fusion import Floats
from dovetail.search.query import Query
from dovetail.search.query_terms import stems

EVIDENCE = ("uncovered", "first_logit", "dense", "header", "score", "score_gap")
# What a unit of each piece of evidence adds to the logit that the catalog holds an answer. Fitted
# on questions of MMQA and of Spider's training set, each asked over its corpus with and without its
# own database: `benchmarks/fit_answerable.py` prints them.
WEIGHTS = (-2.93, 0.65, 0.72, 5.48, 0.89, 0.36)
BIAS = -5.90
# The same where there is no embedder, so that nothing is near in meaning: by the first two alone.
WORD_WEIGHTS, WORD_BIAS = (-3.84, 0.99), -0.81
# A word counts as covered in full from this match on: as a whole word in a column's name.
_WHOLE_WORD = 0.6
# Below this match a word is told as uncovered.
_UNCOVERED = 0.3
_LONGEST_ABBREVIATION = 5


def evidence(query: Query, match: QueryMatch, first: Floats) -> tuple[float, ...]:
    """What speaks for and against an answer, in the order of `EVIDENCE`."""
    covers = list(_covers(query, match).values())
    uncovered = 1 - sum(covers) / len(covers) if covers else 0.0
    best = float(first.max())
    return (
        uncovered,
        math.log(best / (1 - best)),
        2 * float(match.dense.max()),
        float(match.headers.max()),
        float(match.scores.max()),
        float(match.scores.max() - np.median(match.scores)),
    )


def answerable(query: Query, match: QueryMatch, first: Floats) -> float:
    """The probability that the catalog can answer; `first` are the first probabilities."""
    seen = evidence(query, match, first)
    weights, bias = (WORD_WEIGHTS, WORD_BIAS) if query.vector is None else (WEIGHTS, BIAS)
    logit = bias + sum(weight * one for weight, one in zip(weights, seen, strict=False))
    return 1 / (1 + math.exp(-logit))


def uncovered_words(query: Query, match: QueryMatch) -> list[str]:
    """The content words of a question that no candidate covers, as they were written."""
    return [word for word, cover in _covers(query, match).items() if cover < _UNCOVERED]


def _covers(query: Query, match: QueryMatch) -> dict[str, float]:
    """How well the best candidate covers each content word of a question, from 0 to 1."""
    held = {
        word
        for link, row in zip(query.links, match.values, strict=True)
        if row.any()
        for word in stems(link.span.text)
    }
    best = match.words.max(axis=1, initial=0)
    return {
        query.words[term.text]: 1.0 if term.text in held else min(1.0, float(row) / _WHOLE_WORD)
        for term, row in zip(query.terms, best, strict=True)
        if _is_content(query, term.text)
    }


def _is_content(query: Query, word: str) -> bool:
    """Whether a stem says what a question is about."""
    written = query.words[word]
    if word in GENERIC or len(written) < 2 or any(map(str.isdigit, written)):
        return False
    return not (
        len(written) <= _LONGEST_ABBREVIATION
        and re.search(rf"\b{re.escape(written.upper())}\b", query.text)
    )
