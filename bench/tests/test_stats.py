"""Paired tests and intervals: exact values, repeatability, and 5% false alarms where nothing is."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from dovetail_bench.stats import bootstrap, holm, mcnemar, sign_flip


def test_sign_flip_comes_near_the_exact_value() -> None:
    """The slow twin goes through all 2^10 signs."""
    one = [0.9, 0.8, 1.0, 0.5, 0.6, 0.7, 0.9, 0.4, 1.0, 0.3]
    other = [0.5, 0.9, 0.6, 0.5, 0.4, 0.2, 0.8, 0.5, 0.7, 0.1]
    difference = np.array(one) - np.array(other)
    sums = [abs(np.dot(signs, difference)) for signs in itertools.product((1, -1), repeat=10)]
    exact = np.mean(np.array(sums) >= abs(difference.sum()) - 1e-9)
    assert 0.01 < exact < 0.05
    assert sign_flip(one, other) == pytest.approx(exact, abs=0.006)


def test_sign_flip_is_exactly_repeatable_and_two_sided() -> None:
    rng = np.random.default_rng(1)
    one, other = rng.random((2, 3000)).tolist()
    value = sign_flip(one, other, seed=7)
    assert value == sign_flip(one, other, seed=7) == sign_flip(other, one, seed=7)
    assert value != sign_flip(one, other, seed=8)


@pytest.mark.parametrize(
    ("one", "expected"), [([1.0] * 30, 1 / 10_001), ([0.0] * 30, 1.0), ([], 1.0)]
)
def test_sign_flip_at_its_ends(one: list[float], expected: float) -> None:
    assert sign_flip(one, [0.0] * len(one)) == expected


def test_sign_flip_has_five_per_cent_false_positives_on_null_data() -> None:
    rng = np.random.default_rng(3)
    values = [
        sign_flip(*np.round(rng.random((2, 40)), 1).tolist(), draws=400, seed=number)
        for number in range(1000)
    ]
    assert 0.035 < np.mean(np.array(values) <= 0.05) < 0.065


@pytest.mark.parametrize(
    ("wins", "losses", "expected"),
    [
        (0, 0, 1.0),
        (5, 0, 2 / 32),
        (0, 5, 2 / 32),
        (3, 3, 1.0),
        (8, 2, 2 * (1 + 10 + 45) / 1024),
        (1, 9, 2 * (1 + 10) / 1024),
    ],
)
def test_mcnemar_by_hand(wins: int, losses: int, expected: float) -> None:
    same = [True, False, True]
    one = [True] * wins + [False] * losses + same
    other = [False] * wins + [True] * losses + same
    assert mcnemar(one, other) == pytest.approx(expected)


def test_mcnemar_of_many_pairs() -> None:
    assert mcnemar([True] * 2000, [False] * 2000) == 0.0


def test_holm_by_hand() -> None:
    given = {"a": 0.01, "b": 0.04, "c": 0.03, "d": 0.005}
    assert holm(given) == pytest.approx({"a": 0.03, "b": 0.06, "c": 0.06, "d": 0.02})
    assert list(holm(given)) == list(given)
    assert holm({"a": 0.9, "b": 0.8}) == {"a": 1.0, "b": 1.0}
    assert holm({}) == {}


def test_bootstrap_of_a_share_comes_near_the_normal_interval() -> None:
    values = [1.0] * 300 + [0.0] * 700
    found = bootstrap(values)
    spread = 1.96 * (0.3 * 0.7 / 1000) ** 0.5
    assert found.mean == pytest.approx(0.3)
    assert (found.low, found.high) == pytest.approx((0.3 - spread, 0.3 + spread), abs=0.002)
    assert found == bootstrap(values)
    assert bootstrap([0.5] * 9).low == bootstrap([0.5] * 9).high == 0.5
