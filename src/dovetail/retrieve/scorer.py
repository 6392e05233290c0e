"""The set scorer: a small network that scores candidates in the light of each other.

Each candidate is a row of features. In a layer of attention it looks at the others, the more at
those that join it, belong to it, or cover what it lacks; then comes the probability that it is
needed. Several networks that differ only in the seed of their training vote. The weights are in
`set_scorer.json`, which says where they come from and how they were trained.
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
from dovetail.retrieve.features import (
    PAIR_FEATURES,
    SET_FEATURES,
    SetInput,
    features,
    predict,
    set_input,
)
from dovetail.retrieve.groups import Group, Pairs, groups
from dovetail.retrieve.match import QueryMatch

FILE = "set_scorer.json"


@dataclass(frozen=True, slots=True)
class Linear:
    """A linear map: a row of weights for each input, and what is added."""

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
        query, key, value = (
            part(hidden).reshape(len(hidden), self.heads, -1).transpose(1, 0, 2)
            for part in (self.query, self.key, self.value)
        )
        scores = query @ key.transpose(0, 2, 1) / np.sqrt(query.shape[2])
        scores = scores + self.pair(pairs).transpose(2, 0, 1)
        weights = np.exp(scores - scores.max(axis=2, keepdims=True))
        weights /= weights.sum(axis=2, keepdims=True)
        heard = (weights @ value).transpose(1, 0, 2).reshape(len(hidden), -1)
        mixed: Float32s = np.maximum(0, self.mix(np.hstack([hidden, heard]))) + hidden
        return mixed


@dataclass(frozen=True, slots=True)
class Network:
    """One network: features to hidden values, layers of attention, and the logit."""

    first: Linear
    layers: tuple[Attention, ...]
    last: Linear
    direct: Linear

    def logits(self, rows: Float32s, pairs: Float32s) -> Float32s:
        """The logit of each candidate, from standardised features."""
        hidden: Float32s = np.maximum(0, self.first(rows))
        for layer in self.layers:
            hidden = layer(hidden, pairs)
        logits: Float32s = (self.last(hidden) + self.direct(rows))[:, 0]
        return logits


@dataclass(frozen=True, slots=True)
class SetScorer:
    """The networks, and the mean and spread that features are standardised by."""

    mean: Float32s
    spread: Float32s
    networks: tuple[Network, ...]

    def probabilities(self, given: SetInput) -> Float32s:
        """The probability that each candidate is needed: the mean of the networks' votes."""
        rows = (given.rows - self.mean) / self.spread
        votes = [1 / (1 + np.exp(-net.logits(rows, given.pairs))) for net in self.networks]
        mean: Float32s = np.mean(votes, axis=0).astype(np.float32)
        return mean

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> SetScorer:
        """The scorer of a document in the form of `set_scorer.json`."""
        if tuple(document["features"]) != SET_FEATURES:
            raise ValueError("the weights are for other features; train them anew")
        if tuple(document["pair_features"]) != PAIR_FEATURES:
            raise ValueError("the weights are for other features of pairs; train them anew")
        networks = tuple(_network(net) for net in document["networks"])
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
        return cls(candidates, match, pairs, rows, first, given, first, ()).by(shipped())

    def by(self, scorer: SetScorer) -> ScoredCandidates:
        """The same candidates with the probabilities that a scorer gives them."""
        return self.with_probabilities(scorer.probabilities(self.given))

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


def _network(given: Mapping[str, Any]) -> Network:
    return Network(
        _linear(given["first"]),
        tuple(_attention(layer) for layer in given["layers"]),
        _linear(given["last"]),
        _linear(given["direct"]),
    )


def _attention(given: Mapping[str, Any]) -> Attention:
    parts = (_linear(given[name]) for name in ("query", "key", "value", "pair", "mix"))
    return Attention(int(given["heads"]), *parts)


def _linear(given: Mapping[str, Sequence[Any]]) -> Linear:
    return Linear(_array(given["weights"]), _array(given["bias"]))


def _array(values: Sequence[Any]) -> npt.NDArray[np.float32]:
    return np.array(values, dtype=np.float32)
