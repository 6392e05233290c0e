"""Measures against values worked out by hand."""

from __future__ import annotations

from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail_bench.measures import (
    area_under_curve,
    execution,
    joinability,
    retrieval,
    score,
)


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


@pytest.mark.parametrize(
    ("found", "gold", "expected"),
    [
        ("ab", "ab", (1, 1, 1, True, 2)),
        ("abcde", "ab", (2 / 5, 1, 4 / 7, True, 5)),
        ("ac", "ab", (1 / 2, 1 / 2, 1 / 2, False, 2)),
        ("cd", "ab", (0, 0, 0, False, 2)),
        ("", "a", (0, 0, 0, False, 0)),
        ("a", "abc", (1, 1 / 3, 1 / 2, False, 1)),
    ],
)
def test_the_score_of_a_question(
    found: str, gold: str, expected: tuple[float, float, float, bool, int]
) -> None:
    assert tuple(asdict(score(found, gold)).values()) == pytest.approx(expected)


def test_means_over_questions_by_hand() -> None:
    scores = [score("abcd", "ab"), score("a", "ab"), score("xyz", "ab"), score("ab", "ab")]
    assert asdict(retrieval(scores)) == pytest.approx(
        {
            "avg_tables": 2.5,
            "p": (0.5 + 1 + 0 + 1) / 4,
            "r": (1 + 0.5 + 0 + 1) / 4,
            "f1": (2 / 3 + 2 / 3 + 0 + 1) / 4,
            "pr": 0.5,
        }
    )


def test_execution_by_hand() -> None:
    """Six questions; of four with several tables two are right, of three fully retrieved two."""
    right = [True, True, True, False, False, False]
    multiple = [True, True, False, True, True, False]
    perfect = [True, True, False, True, False, False]
    assert asdict(execution(right, multiple, perfect)) == pytest.approx(
        {"ex_all": 3 / 6, "ex_mt": 2 / 4, "ex_pr": 2 / 6, "ex_given_pr": 2 / 3}
    )
    assert asdict(execution([True], [False], [False])) == {
        "ex_all": 1.0, "ex_mt": 0.0, "ex_pr": 0.0, "ex_given_pr": 0.0,
    }  # fmt: skip


@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.booleans())))
def test_right_and_retrieved_is_never_more_than_right(rows: list[tuple[bool, bool, bool]]) -> None:
    right, multiple, perfect = ([row[place] for row in rows] for place in range(3))
    measured = execution(right, multiple, perfect)
    assert measured.ex_pr <= measured.ex_all
    assert measured.ex_pr <= measured.ex_given_pr
