"""Paired significance tests and bootstrap intervals, seeded: equal input gives equal output."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

DRAWS = 10_000
# Sums of the same differences in another order may differ by this much.
_ROUNDING = 1e-12
_CELLS = 4_000_000


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean, and the bounds its bootstrap distribution leaves on both sides."""

    mean: float
    low: float
    high: float


def sign_flip(
    one: Sequence[float], other: Sequence[float], *, draws: int = DRAWS, seed: int = 42
) -> float:
    """The two-sided p-value of the mean paired difference, its signs flipped at random.

    The observed signs count as one of the draws, so the value is never 0.
    """
    difference = np.asarray(one, dtype=np.float64) - np.asarray(other, dtype=np.float64)
    difference = difference[difference != 0]
    if not difference.size:
        return 1.0
    observed = abs(difference.sum()) - _ROUNDING
    rng = np.random.default_rng(seed)
    as_extreme = 0
    for count in _portions(draws, difference.size):
        signs = rng.integers(0, 2, size=(count, difference.size), dtype=np.int8) * 2 - 1
        as_extreme += int((np.abs(signs @ difference) >= observed).sum())
    return (1 + as_extreme) / (1 + draws)


def mcnemar(one: Sequence[float], other: Sequence[float]) -> float:
    """The exact two-sided p-value that of the pairs that differ, each side wins half.

    >>> mcnemar([True] * 5, [False] * 5)
    0.0625
    """
    pairs = list(zip(one, other, strict=True))
    wins = sum(mine > theirs for mine, theirs in pairs)
    losses = sum(mine < theirs for mine, theirs in pairs)
    total = wins + losses
    tail = sum(math.comb(total, count) for count in range(min(wins, losses) + 1))
    return min(1.0, 2 * tail / (1 << total))


def holm(values: Mapping[str, float]) -> dict[str, float]:
    """The p-values of several tests, adjusted for their number (Holm's step-down).

    >>> holm({"easy": 0.01, "hard": 0.04, "all": 0.03})
    {'easy': 0.03, 'hard': 0.06, 'all': 0.06}
    """
    adjusted: dict[str, float] = {}
    largest = 0.0
    for place, name in enumerate(sorted(values, key=lambda name: (values[name], name))):
        largest = max(largest, min(1.0, (len(values) - place) * values[name]))
        adjusted[name] = largest
    return {name: adjusted[name] for name in values}


def bootstrap(
    values: Sequence[float], *, level: float = 0.95, draws: int = DRAWS, seed: int = 42
) -> Interval:
    """The mean with its percentile bootstrap interval."""
    sample = np.asarray(values, dtype=np.float64)
    if not sample.size:
        return Interval(0.0, 0.0, 0.0)
    rng = np.random.default_rng(seed)
    means: list[npt.NDArray[np.float64]] = []
    for count in _portions(draws, sample.size):
        places = rng.integers(0, sample.size, size=(count, sample.size))
        means.append(sample[places].mean(axis=1))
    tail = (1 - level) / 2
    low, high = np.quantile(np.concatenate(means), (tail, 1 - tail))
    return Interval(float(sample.mean()), float(low), float(high))


def _portions(draws: int, width: int) -> list[int]:
    """So many draws in portions that fit into memory."""
    most = max(1, _CELLS // width)
    return [min(most, draws - start) for start in range(0, draws, most)]
