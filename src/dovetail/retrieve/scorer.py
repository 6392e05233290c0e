"""How probable it is that each candidate is needed: features, and a small network over all of them.

Ten features of a candidate by itself give a first probability that the question needs it, by a
logistic regression. With features of the candidates in the light of each other and of each two of
them, they are what the set scorer sees; docs/lab/choosing.md has each. None depends on how many
tables the catalog has, on a candidate's rank or on the size of the set: a feature that counts
tables learns the conventions of one benchmark.

In a layer of attention each candidate looks at the others, the more at those that join it, belong
to it, or cover what it lacks; then comes the probability that it is needed. Several networks that
differ only in the seed of their training vote. The weights are in `set_scorer.json`, which says
where they come from and how they were trained.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
import numpy.typing as npt

from dovetail.arrays import Float32s
from dovetail.domain import Candidate, TableId
from dovetail.retrieve.groups import Group, Pairs, groups
from dovetail.retrieve.match import QueryMatch

FILE = "set_scorer.json"
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


def predict(rows: Float32s) -> Float32s:
    """The first probability that each candidate is needed, from its row of features."""
    logit = rows @ np.array(tuple(WEIGHTS.values())) + BIAS
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


@dataclass(frozen=True, slots=True)
class Linear:
    """A linear map of each network: a row of weights for each input, and what is added."""

    weights: Float32s
    bias: Float32s

    def __call__(self, values: Float32s) -> Float32s:
        mapped: Float32s = values @ self.weights + self.bias
        return mapped


@dataclass(frozen=True, slots=True)
class Attention:
    """A layer in which each candidate takes in what others say, weighed by query, key and pair."""

    heads: int
    query: Linear
    key: Linear
    value: Linear
    pair: Linear
    mix: Linear

    def __call__(self, hidden: Float32s, pairs: Float32s) -> Float32s:
        networks, count, _ = hidden.shape
        query, key, value = (
            part(hidden).reshape(networks, count, self.heads, -1).transpose(0, 2, 1, 3)
            for part in (self.query, self.key, self.value)
        )
        scores = query @ key.transpose(0, 1, 3, 2) / np.sqrt(query.shape[3])
        scores = scores + self.pair(pairs).reshape(networks, count, count, -1).transpose(0, 3, 1, 2)
        weights = np.exp(scores - scores.max(axis=3, keepdims=True))
        weights /= weights.sum(axis=3, keepdims=True)
        heard = (weights @ value).transpose(0, 2, 1, 3).reshape(networks, count, -1)
        mixed: Float32s = np.maximum(0, self.mix(np.concatenate([hidden, heard], axis=2))) + hidden
        return mixed


@dataclass(frozen=True, slots=True)
class Networks:
    """Networks of one form, side by side: features to hidden values, layers of attention, and the
    logit. The first axis of every array is that of the networks."""

    first: Linear
    layers: tuple[Attention, ...]
    last: Linear
    direct: Linear

    def logits(self, rows: Float32s, pairs: Float32s) -> Float32s:
        """The logits of each candidate by each network, from standardised features."""
        hidden: Float32s = np.maximum(0, self.first(rows))
        each_pair = pairs.reshape(-1, pairs.shape[2])
        for layer in self.layers:
            hidden = layer(hidden, each_pair)
        logits: Float32s = (self.last(hidden) + self.direct(rows))[:, :, 0]
        return logits


@dataclass(frozen=True, slots=True)
class SetScorer:
    """The networks, and the mean and spread that features are standardised by."""

    mean: Float32s
    spread: Float32s
    networks: Networks

    def probabilities(self, given: SetInput) -> Float32s:
        """The probability that each candidate is needed: the mean of the networks' votes."""
        rows = (given.rows - self.mean) / self.spread
        votes = 1 / (1 + np.exp(-self.networks.logits(rows, given.pairs)))
        mean: Float32s = np.mean(votes, axis=0).astype(np.float32)
        return mean

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> SetScorer:
        """The scorer of a document in the form of `set_scorer.json`."""
        if tuple(document["features"]) != SET_FEATURES:
            raise ValueError("the weights are for other features; train them anew")
        if tuple(document["pair_features"]) != PAIR_FEATURES:
            raise ValueError("the weights are for other features of pairs; train them anew")
        networks = _networks(document["networks"])
        return cls(_array(document["mean"]), _array(document["spread"]), networks)


@dataclass(frozen=True, slots=True)
class ScoredCandidates:
    """The candidates of a question, with the probability that each is needed.

    `features` and `first` are those of each candidate by itself; `match`, `pairs` and `given` are
    what the probabilities come from. `groups` are the candidates that belong together, the
    likeliest group first.
    """

    candidates: Sequence[Candidate]
    match: QueryMatch
    pairs: Pairs
    features: Float32s
    first: Float32s
    given: SetInput
    probabilities: Float32s
    groups: tuple[Group, ...]

    @classmethod
    def of(
        cls, candidates: Sequence[Candidate], match: QueryMatch, pairs: Pairs
    ) -> ScoredCandidates:
        """Score candidates by the shipped scorer; there is at least one."""
        rows = features(match)
        first = predict(rows)
        given = set_input(match, pairs, rows, first)
        scored = cls(candidates, match, pairs, rows, first, given, first, ())
        return scored.with_probabilities(shipped().probabilities(given))

    def with_probabilities(self, probabilities: Float32s) -> ScoredCandidates:
        """The same candidates with other probabilities, and the groups that these make."""
        grouped = tuple(groups(probabilities, self.pairs, self.match))
        return replace(self, probabilities=probabilities, groups=grouped)

    @property
    def meant(self) -> frozenset[int]:
        """The indices of the candidates in groups that the question means."""
        return frozenset(at for group in self.groups if group.meant for at in group.indices)

    @property
    def tables(self) -> list[TableId]:
        """The ids of the candidates, in order."""
        return [candidate.id for candidate in self.candidates]

    @property
    def by_table(self) -> dict[TableId, float]:
        """The probability of each candidate."""
        return dict(zip(self.tables, self.probabilities.tolist(), strict=True))

    @property
    def ranked(self) -> list[int]:
        """The indices of the candidates, the most probable first, ties as they come."""
        order: list[int] = np.argsort(-self.probabilities, kind="stable").tolist()
        return order


@cache
def shipped() -> SetScorer:
    """The scorer that the package ships."""
    text = (files("dovetail.retrieve") / FILE).read_text("utf-8")
    return SetScorer.of(json.loads(text))


def _networks(given: Sequence[Mapping[str, Any]]) -> Networks:
    layers = zip(*(net["layers"] for net in given), strict=True)
    first, last, direct = (
        _linear([net[name] for net in given]) for name in ("first", "last", "direct")
    )
    return Networks(first, tuple(map(_attention, layers)), last, direct)


def _attention(given: Sequence[Mapping[str, Any]]) -> Attention:
    query, key, value, pair, mix = (
        _linear([layer[name] for layer in given])
        for name in ("query", "key", "value", "pair", "mix")
    )
    return Attention(int(given[0]["heads"]), query, key, value, pair, mix)


def _linear(given: Sequence[Mapping[str, Sequence[Any]]]) -> Linear:
    weights, bias = (_array([one[name] for one in given]) for name in ("weights", "bias"))
    return Linear(weights, bias[:, None])


def _array(values: Sequence[Any]) -> npt.NDArray[np.float32]:
    return np.array(values, dtype=np.float32)
