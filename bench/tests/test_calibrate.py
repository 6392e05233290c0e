"""Sets of questions are measured by weights that were fitted without them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dovetail_bench.programs.calibrate import (
    Fitted,
    Part,
    Row,
    calibration_error,
    missing,
    report,
    spaced,
)


def part(name: str, *, sign: float = 1.0, pile: bool = True) -> Part:
    """Answerable questions are told by the first sign, whose meaning may be turned round."""
    own = [Row((sign * (0.5 + n / 40), 0.3, 0.0), 0.9, 0.8) for n in range(20)]
    other = [Row((sign * (n / 80), 0.3, 0.0), 0.9, 0.0, own=False) for n in range(20)]
    return Part(name, [*own, *other], "pile" if pile else "corpus")


def test_a_part_takes_no_part_in_its_own_fit() -> None:
    turned = list(report([part("a", sign=-1.0), part("b"), part("c", pile=False)]))
    assert turned[2].startswith("| a | 0.000 |")
    plain = list(report([part("a"), part("b"), part("c", pile=False)]))
    assert [each.split(" | ")[1] for each in plain[2:6]] == ["1.000"] * 4
    assert plain[5].startswith("| piles | ")


def test_the_confidence_is_the_f1_that_sets_have_had() -> None:
    both = [part("a"), part("b")]
    answer, confidence = Fitted.of(both).measure(both[0].rows)
    own = np.array([row.own for row in both[0].rows])
    assert answer[own].min() > answer[~own].max()
    assert confidence[own].mean() == pytest.approx(0.8, abs=0.1)
    strangers = [replace(row, stranger=not row.own) for row in both[0].rows]
    assert "0 of 0" in list(report([Part("a", strangers), part("b")]))[2]


def test_the_error_is_that_of_the_bins() -> None:
    confidences, f1 = np.array([0.05, 0.95, 0.99]), np.array([0.0, 1.0, 0.5])
    assert calibration_error(confidences, f1) == pytest.approx((0.05 + 2 * 0.22) / 3)


def test_questions_of_the_own_field_are_there() -> None:
    assert {name: len(missing(name)) for name in ("spider_dev", "bird_dev", "mmqa")} == {
        "spider_dev": 44,
        "bird_dev": 32,
        "mmqa": 0,
    }
    assert spaced(range(10), 3) == [0, 3, 6]
