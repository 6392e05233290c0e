"""The set scorer: what it computes, against loops by hand; and the file that the package ships."""

from __future__ import annotations

import json
import math
from importlib.resources import files
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from dovetail.retrieve.scorer import FILE, PAIR_FEATURES, SET_FEATURES, SetInput, SetScorer, shipped

Json = dict[str, object]


def document(seed: int = 0, hidden: int = 3, heads: int = 2, width: int = 2) -> Json:
    rng = np.random.default_rng(seed)

    def linear(rows: int, columns: int) -> Json:
        weights = rng.normal(size=(rows, columns)).round(3)
        return {"weights": weights.tolist(), "bias": rng.normal(size=columns).round(3).tolist()}

    size = heads * width
    layer = {
        "heads": heads, "query": linear(hidden, size), "key": linear(hidden, size),
        "value": linear(hidden, size), "pair": linear(len(PAIR_FEATURES), heads),
        "mix": linear(hidden + size, hidden),
    }  # fmt: skip
    net = {
        "first": linear(len(SET_FEATURES), hidden), "layers": [layer], "last": linear(hidden, 1),
        "direct": linear(len(SET_FEATURES), 1),
    }  # fmt: skip
    return {
        "features": list(SET_FEATURES), "pair_features": list(PAIR_FEATURES),
        "mean": [0.1] * len(SET_FEATURES), "spread": [2.0] * len(SET_FEATURES), "networks": [net],
    }  # fmt: skip


def given(seed: int, count: int) -> SetInput:
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(count, len(SET_FEATURES))).astype(np.float32)
    pairs = rng.random((count, count, len(PAIR_FEATURES))).astype(np.float32)
    return SetInput(rows, pairs)


def applied(part: dict[str, list[Any]], values: list[float]) -> list[float]:
    return [
        bias + sum(value * row[at] for value, row in zip(values, part["weights"], strict=True))
        for at, bias in enumerate(part["bias"])
    ]


def slowly(told: Json, seen: SetInput) -> list[float]:
    """The probabilities of one network with one layer, a number at a time."""
    net = told["networks"][0]  # type: ignore[index]
    layer = net["layers"][0]
    rows = [[(value - 0.1) / 2.0 for value in row] for row in seen.rows.tolist()]
    hidden = [[max(0.0, value) for value in applied(net["first"], row)] for row in rows]
    query, key, value = (
        [applied(layer[part], row) for row in hidden] for part in ("query", "key", "value")
    )
    width = len(query[0]) // layer["heads"]
    found = []
    for one in range(len(rows)):
        heard: list[float] = []
        for head in range(layer["heads"]):
            part = range(head * width, (head + 1) * width)
            scores = [
                sum(query[one][at] * key[other][at] for at in part) / math.sqrt(width)
                + applied(layer["pair"], seen.pairs[one, other].tolist())[head]
                for other in range(len(rows))
            ]
            weights = [math.exp(score) for score in scores]
            heard += [
                sum(weight * row[at] for weight, row in zip(weights, value, strict=True))
                / sum(weights)
                for at in part
            ]
        mixed = applied(layer["mix"], [*hidden[one], *heard])
        after = [max(0.0, new) + old for new, old in zip(mixed, hidden[one], strict=True)]
        logit = applied(net["last"], after)[0] + applied(net["direct"], rows[one])[0]
        found.append(1 / (1 + math.exp(-logit)))
    return found


@pytest.mark.parametrize("count", [1, 2, 5])
def test_it_computes_what_is_written_down(count: int) -> None:
    told, seen = document(), given(1, count)
    found = SetScorer.of(told).probabilities(seen)
    np.testing.assert_allclose(found, slowly(told, seen), rtol=1e-4)


def test_the_order_of_candidates_does_not_matter() -> None:
    seen, order = given(2, 6), np.array([3, 0, 5, 1, 4, 2])
    shuffled = SetInput(seen.rows[order], seen.pairs[np.ix_(order, order)])
    expected = shipped().probabilities(seen)[order]
    np.testing.assert_allclose(shipped().probabilities(shuffled), expected, atol=1e-5)


def test_weights_for_other_features_are_refused() -> None:
    with pytest.raises(ValueError, match="other features; train them anew"):
        SetScorer.of({**document(), "features": ["gap"]})
    with pytest.raises(ValueError, match="other features of pairs"):
        SetScorer.of({**document(), "pair_features": []})


def test_the_shipped_file_says_where_it_comes_from_and_is_small() -> None:
    text = (files("dovetail.retrieve") / FILE).read_text("utf-8")
    told = json.loads(text)
    assert told["provenance"].startswith("programs/train_scorer.py on ")
    assert len(text) < 120_000
    counts = [sum(1 for _ in numbers(net)) for net in told["networks"]]
    assert len(set(counts)) == 1
    assert counts[0] < 3_000
    assert all(one != other for one, other in pairwise(told["networks"]))


def numbers(value: object) -> list[float]:
    if isinstance(value, dict):
        return [one for part in value.values() for one in numbers(part)]
    if isinstance(value, list):
        return [one for part in value for one in numbers(part)]
    return [float(value)] if isinstance(value, float) else []
