"""Measures, each over plain numbers: hand-worked values stand in the tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

Pair = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Joinability:
    """How well scored table pairs agree with the declared ones (paper, appendix on compatibility).

    `accuracy`: share of pairs told right at a score above 0.5. `column_pair`: among declared pairs,
    share whose best column pair is a declared one. `mean_error`: mean |score - gold|. `auc`: chance
    that a declared pair scores above another one, ties half.
    """

    pairs: int
    gold: int
    accuracy: float
    column_pair: float
    mean_error: float
    precision: float
    recall: float
    f1: float
    auc: float


def joinability(
    scores: Mapping[Pair, float],
    best: Mapping[Pair, frozenset[frozenset[str]]],
    gold: Mapping[Pair, frozenset[frozenset[str]]],
    pairs: int,
) -> Joinability:
    """Measure scored pairs; those without a score count as 0.

    `best` holds the column pair a score stands for, `gold` the declared column pairs.
    """
    predicted = {pair for pair, score in scores.items() if score > 0.5}
    right = len(predicted & gold.keys())
    wrong = len(predicted) - right
    missed = len(gold) - right
    named = sum(bool(best.get(pair, frozenset()) & columns) for pair, columns in gold.items())
    error = sum(score for pair, score in scores.items() if pair not in gold)
    error += sum(1 - scores.get(pair, 0.0) for pair in gold)
    precision = right / len(predicted) if predicted else 0.0
    recall = right / len(gold) if gold else 0.0
    return Joinability(
        pairs=pairs,
        gold=len(gold),
        accuracy=1 - (wrong + missed) / pairs if pairs else 0.0,
        column_pair=named / len(gold) if gold else 0.0,
        mean_error=error / pairs if pairs else 0.0,
        precision=precision,
        recall=recall,
        f1=2 * precision * recall / (precision + recall) if right else 0.0,
        auc=area_under_curve(
            [scores.get(pair, 0.0) for pair in gold],
            [score for pair, score in scores.items() if pair not in gold],
            zeros=pairs - len(gold) - sum(pair not in gold for pair in scores),
        ),
    )


def area_under_curve(gold: Sequence[float], other: Sequence[float], *, zeros: int = 0) -> float:
    """The chance that one of `gold` exceeds one of `other` (and so many zeros), ties half.

    >>> area_under_curve([0.9, 0.0], [0.5], zeros=1)
    0.625
    """
    total = len(gold) * (len(other) + zeros)
    if not total:
        return 0.0
    ordered = np.sort(np.asarray(other, dtype=np.float64))
    mine = np.asarray(gold, dtype=np.float64)
    below = np.searchsorted(ordered, mine, side="left")
    not_above = np.searchsorted(ordered, mine, side="right")
    wins = float((below + not_above).sum()) / 2
    wins += zeros * float((mine > 0).sum() + 0.5 * (mine == 0).sum())
    return wins / total
