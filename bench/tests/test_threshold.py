"""programs/threshold.py: a rule stands for the model, so that the adjustment alone differs."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.scripted import shop_searcher

from dovetail.retrieve.parse_reply import parse_selection
from dovetail.search.searcher import Searcher
from dovetail_bench.programs.threshold import KeepsNearest, sets_of
from dovetail_bench.questions import Question

ASKED = Question(id="1", text="Which customers ordered products of which supplier?", gold=())


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Searcher:
    return shop_searcher(Path(tmp_path_factory.mktemp("shop")))


def test_the_rule_selects_the_first_tables() -> None:
    assert parse_selection(KeepsNearest(3).complete([]).text, 10, strict=True).tables == (1, 2, 3)


def test_seeds_stay_and_a_lower_threshold_leaves_out_nothing(shop: Searcher) -> None:
    (low,), (high,) = (sets_of(shop, f"paper+{at}", 2, [ASKED]) for at in ("0.1", "0.9"))
    assert low[:2] == high[:2]
    assert len(low) >= len(high) >= 2
