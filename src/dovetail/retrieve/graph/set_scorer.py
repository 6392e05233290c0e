"""The set scorer: a small network that scores candidates in the light of each other.

Each candidate is a row of features. In a layer of attention it looks at the others, the more at
those that join it, belong to it, or cover what it lacks; then comes the probability that it is
needed. Several networks that differ only in the seed of their training vote. The weights stand in
`set_scorer.json`, which says where they come from; `programs/train_scorer.py` trains them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
import numpy.typing as npt

from dovetail.arrays import Float32s
from dovetail.retrieve.graph.set_features import PAIR_FEATURES, SET_FEATURES, SetInput

FILE = "set_scorer.json"


@dataclass(frozen=True, slots=True)
class Linear:
    """A linear map: a row of weights for each input, and what is added."""

    weights: Float32s
    bias: Float32s

    def __call__(self, values: Float32s) -> Float32s:
        found: Float32s = values @ self.weights + self.bias
        return found


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
        found: Float32s = np.maximum(0, self.mix(np.hstack([hidden, heard]))) + hidden
        return found


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
        found: Float32s = (self.last(hidden) + self.direct(rows))[:, 0]
        return found


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
        found: Float32s = np.mean(votes, axis=0).astype(np.float32)
        return found

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> SetScorer:
        """The scorer of a document in the form of `set_scorer.json`."""
        if tuple(document["features"]) != SET_FEATURES:
            raise ValueError("the weights are for other features; train them anew")
        if tuple(document["pair_features"]) != PAIR_FEATURES:
            raise ValueError("the weights are for other features of pairs; train them anew")
        networks = tuple(_network(net) for net in document["networks"])
        return cls(_array(document["mean"]), _array(document["spread"]), networks)


@cache
def shipped() -> SetScorer:
    """The scorer that the package ships."""
    text = (files("dovetail.retrieve.graph") / FILE).read_text("utf-8")
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
