"""programs/reliability.py: whether probabilities are what they say."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pytest

from dovetail_bench.programs.reliability import Tenth, error, picture, tenths


def test_candidates_are_counted_in_tenths_of_probability() -> None:
    found = tenths([0.0, 0.09, 0.1, 0.55, 1.0], [False, True, False, True, True])
    assert found == [
        Tenth(2, 0.045, 0.5), Tenth(1, 0.1, 0.0), Tenth(1, 0.55, 1.0), Tenth(1, 1.0, 1.0),
    ]  # fmt: skip


def test_the_error_is_weighted_by_candidates() -> None:
    assert error([Tenth(3, 0.1, 0.1), Tenth(1, 0.9, 0.5)]) == pytest.approx(0.1)


def test_the_picture_has_a_panel_for_each_corpus() -> None:
    drawn = picture({"one": tenths([0.2, 0.8], [False, True]), "two": tenths([0.5], [True])})
    text = "".join(ElementTree.fromstring(drawn).itertext())
    assert "one, error 0.200" in text
    assert "two, error 0.500" in text
