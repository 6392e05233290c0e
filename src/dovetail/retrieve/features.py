"""What is known of each candidate, in numbers: the input of both probabilities.

Ten features of a candidate by itself give a first probability that the question needs it, by a
logistic regression. With features of the candidates in the light of each other and of each two of
them, they are what the set scorer sees (scorer.py). docs/lab/choosing.md has each.

None depends on how many tables the catalog has, on a candidate's rank or on the size of the set: a
feature that counts tables learns the conventions of one benchmark.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dovetail.arrays import Float32s
from dovetail.retrieve.groups import Pairs
from dovetail.retrieve.match import QueryMatch

# What a unit of each feature adds to the logit, the log-odds that a candidate is needed. Fitted by
# logistic regression on the 2,884 questions of MMQA over databases that are not in Spider's dev
# set, and on nothing else.
WEIGHTS = {
    "gap": 1.54,
    "new_words": 1.06,
    "new_values": 2.12,
    "best_words": 2.64,
    "name": 0.42,
    "column": 0.48,
    "column_gap": 1.94,
    "gain": 5.42,
    "group_gap": 7.54,
    "plain_values": 1.30,
}
BIAS = -2.11
FEATURES = tuple(WEIGHTS)
# The weights in the order of the features, the bias last.
COEFFICIENTS = (*WEIGHTS.values(), BIAS)

SET_FEATURES = (
    *FEATURES,
    "dense_gap",  # cosine of question and schema line, less the best candidate's
    "dense",
    "cover",  # share of the question that it covers, words and values
    "cover_gap",  # the same, less the best candidate's
    "value",  # weight of the linked values that it holds
    "neighbour",  # what its neighbours cover beyond it
    "group_cover",  # share of the question that the tables it belongs to cover
    "group_cover_gap",  # the same, less the best one's
    "group_share",  # share of the first probabilities that the tables it belongs to have
    "group_probability",  # their first probabilities together
    "first_logit",  # the logit of its first probability, by itself
    "joined",  # score of its best join to another candidate
    "covered",  # share of the question that all candidates together cover
)
PAIR_FEATURES = ("join", "path", "together", "same_name", "adds", "lacks")

# Small shares count for much, large ones for little more; plain words for cells are rare.
_STEEP, _RARE = 5, 5
# Below this a match is a prefix of a key, and best at nothing.
_LEAST_MATCH = 0.1


def features(match: QueryMatch) -> Float32s:
    """A row for each candidate, a column for each of `FEATURES`."""
    terms, weights = _terms(match)
    shares = weights[: len(match.words)]
    group = _group_cover(weights, terms, match.joins)
    # A table that covers all that a question says leaves nothing for the neighbours of others.
    left = max(0.0, 1 - float((weights @ terms).max(initial=0)))
    rows: Float32s = np.stack(
        [
            match.scores - match.scores[0],
            np.log1p(_STEEP * newly_covered(match.word_weights, match.words)),
            newly_covered(match.value_weights, match.values),
            _best(shares, match.words),
            match.names,
            match.columns,
            match.headers - match.headers.max(),
            np.minimum(match.gains, left),
            group - group.max(),
            (_RARE * match.value_weights * match.plain) @ match.values,
        ],
        axis=1,
    ).astype(np.float32)
    return rows


def predict(rows: Float32s, coefficients: Sequence[float] = COEFFICIENTS) -> Float32s:
    """The first probability that each candidate is needed, from its row of features."""
    logit = rows @ np.array(coefficients[:-1]) + coefficients[-1]
    probabilities: Float32s = (1 / (1 + np.exp(-logit))).astype(np.float32)
    return probabilities


@dataclass(frozen=True, slots=True)
class SetInput:
    """The input of the set scorer: a row per candidate, and a matrix per feature of two."""

    rows: Float32s  # by candidate and by SET_FEATURES
    pairs: Float32s  # by two candidates and by PAIR_FEATURES


def set_input(match: QueryMatch, pairs: Pairs, rows: Float32s, first: Float32s) -> SetInput:
    """What the set scorer sees of candidates, given their features and first probabilities."""
    terms, weights = _terms(match)
    cover = weights @ terms
    group = weights @ (terms[:, None, :] * pairs.together[None]).max(axis=2, initial=0)
    probable = pairs.together @ first
    # What the second of two candidates covers beyond the first.
    adds = np.tensordot(weights, np.maximum(0, terms[:, None, :] - terms[:, :, None]), 1)
    others = pairs.joins - np.diag(np.diag(pairs.joins))
    columns = np.column_stack(
        [
            rows,
            match.dense - match.dense.max(),
            match.dense,
            cover,
            cover - cover.max(),
            match.value_signal,
            match.neighbours,
            group,
            group - group.max(),
            probable / max(1e-6, float(first.sum())),
            probable,
            np.log(first / (1 - first)),
            others.max(axis=1, initial=0),
            np.full(len(cover), weights @ terms.max(axis=1, initial=0)),
        ]
    )
    between = (others, pairs.paths, pairs.together, pairs.same_name, adds, adds.T)
    return SetInput(columns.astype(np.float32), np.stack(between, axis=2).astype(np.float32))


def newly_covered(weights: Float32s, match: Float32s) -> Float32s:
    """The weight of the terms that each candidate covers beyond all better ranked ones."""
    better = np.maximum.accumulate(match, axis=1)
    before = np.hstack([np.zeros((len(match), 1), dtype=match.dtype), better[:, :-1]])
    covered: Float32s = weights @ np.maximum(0, match - before)
    return covered


def _terms(match: QueryMatch) -> tuple[Float32s, Float32s]:
    """How the words and values match each candidate, and their weights as shares."""
    shares = match.word_weights / max(1e-6, float(match.word_weights.sum()))
    terms = np.vstack([match.words, match.values])
    return terms, np.concatenate([shares, match.value_weights / match.mass])


def _best(shares: Float32s, match: Float32s) -> Float32s:
    """The share of the words for which no other candidate is a better match, ties divided."""
    best = (match >= match.max(axis=1, keepdims=True) - 1e-6) & (match > _LEAST_MATCH)
    shared: Float32s = shares @ (best / np.maximum(1, best.sum(axis=1, keepdims=True)))
    return shared


def _group_cover(weights: Float32s, terms: Float32s, joins: Float32s) -> Float32s:
    """The share of the question that each candidate and those within two joins of it cover."""
    # A path of two joins is as sure as the weaker one.
    near = np.minimum(joins[:, :, None], joins[None]).max(axis=1)
    matched = terms.any(axis=1)
    reached = (terms[matched][:, None, :] * near[None]).max(axis=2, initial=0)
    covered: Float32s = weights[matched] @ reached
    return covered
