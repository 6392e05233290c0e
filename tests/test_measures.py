"""Measures against values worked out by hand."""

from __future__ import annotations

from dataclasses import asdict

import pytest

from dovetail.bench.measures import area_under_curve, joinability


def columns(*names: str) -> frozenset[frozenset[str]]:
    return frozenset((frozenset(names),))


def test_joinability_by_hand() -> None:
    """Six pairs, two of them declared: one found with the right columns, one scored too low."""
    scores = {(0, 1): 0.9, (0, 2): 0.8, (1, 2): 0.4, (2, 3): 0.1}
    best = {(0, 1): columns("a", "b"), (1, 2): columns("x", "y")}
    gold = {(0, 1): columns("a", "b"), (1, 2): columns("c", "d")}
    measured = joinability(scores, best, gold, 6)
    assert asdict(measured) == {
        "pairs": 6,
        "gold": 2,
        "accuracy": pytest.approx(4 / 6),
        "column_pair": 0.5,
        "mean_error": pytest.approx((0.1 + 0.6 + 0.8 + 0.1) / 6),
        "precision": 0.5,
        "recall": 0.5,
        "f1": 0.5,
        "auc": pytest.approx((4 + 3) / 8),
    }


def test_nothing_predicted_is_nothing_precise() -> None:
    measured = joinability({}, {}, {(0, 1): columns("a", "b")}, 3)
    assert (measured.precision, measured.recall, measured.f1, measured.mean_error) == (
        0,
        0,
        0,
        1 / 3,
    )
    assert measured.auc == 0.5


@pytest.mark.parametrize(
    ("gold", "other", "zeros", "expected"),
    [([1.0], [0.0], 0, 1.0), ([0.0], [1.0], 0, 0.0), ([0.5], [0.5], 0, 0.5), ([0.5], [], 3, 1.0)],
)
def test_area_under_curve(
    gold: list[float], other: list[float], zeros: int, expected: float
) -> None:
    assert area_under_curve(gold, other, zeros=zeros) == expected
