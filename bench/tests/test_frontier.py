"""The selector along its dial: parts by confidence, probabilities out of sample, F1 at a PR."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.scripted import shop_searcher

from dovetail.domain import Candidate, TableId
from dovetail.retrieve.graph.features import FEATURES
from dovetail.retrieve.graph.scored_candidates import ScoredCandidates, predict
from dovetail.retrieve.graph.selector import GraphRetriever
from dovetail_bench.frontier import Corpus, Point, ScoredQuestion, at, fit
from dovetail_bench.measures import Retrieval
from dovetail_bench.questions import Question

WEATHER, SHELF = "weather", "empty_shelf"  # nothing joins them


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """Four questions with two candidates each; the surer the selector, the better its set."""
    searcher = shop_searcher(tmp_path_factory.mktemp("shop"))
    ids = {table.name: table for table in searcher.catalog.ids}
    candidates = [Candidate(ids[name], 0.5, {}) for name in (WEATHER, SHELF)]
    features = np.zeros((2, len(FEATURES)), dtype=np.float32)
    asked = {"sure": (0.9, 0.0), "both": (0.7, 0.2), "toss": (0.3, 0.04), "none": (0.1, 0.01)}
    gold = {"sure": [WEATHER], "both": [WEATHER], "toss": [WEATHER, SHELF], "none": [SHELF]}
    seen = tuple(
        ScoredQuestion(
            Question(name, name, tuple(ids[table] for table in gold[name])),
            ScoredCandidates(candidates, features, np.array(probabilities, dtype=np.float32)),
        )
        for name, probabilities in asked.items()
    )
    return Corpus("toy", GraphRetriever(searcher), seen)


def test_parts_by_confidence_hold_what_was_expected_against_what_came(corpus: Corpus) -> None:
    expected = [2 * 0.9 / 1.9, 2 * 0.9 / 2.9, 2 * 0.3 / 1.34, 2 * 0.1 / 1.11]
    assert corpus.confidences(0.6) == pytest.approx(expected)
    surer, other = corpus.by_confidence(0.6, groups=2)
    assert surer.confidence == pytest.approx(sum(expected[:2]) / 2)
    assert other.confidence == pytest.approx(sum(expected[2:]) / 2)
    assert surer.measured.f1 == pytest.approx((1 + 2 / 3) / 2)
    assert other.measured.f1 == pytest.approx((2 / 3 + 0) / 2)
    assert [len(corpus.by_confidence(0.6, groups)) for groups in (1, 4, 9)] == [1, 4, 4]


def test_f1_is_read_off_between_the_points_of_a_curve() -> None:
    points = [Point(r, Retrieval(1, 0, 0, f1, pr)) for r, f1, pr in ((0, 0.9, 0.5), (1, 0.7, 0.9))]
    assert at(points, 0.6) == pytest.approx(0.85)
    assert at(points, 0.95) == pytest.approx(0.7)


def test_a_fit_finds_what_tells_gold_from_others() -> None:
    """Gold is drawn by odds of 3 · gap - 1, so that is what comes back."""
    rng = np.random.default_rng(3)
    tables = [TableId("db", f"t{n}") for n in range(8)]
    seen = []
    for number in range(600):
        rows = np.zeros((8, len(FEATURES)), dtype=np.float32)
        rows[:, 0] = rng.normal(size=8)
        needed = rng.random(8) < 1 / (1 + np.exp(1 - 3 * rows[:, 0]))
        gold = tuple(t for t, one in zip(tables, needed, strict=True) if one) or (
            TableId("x", "y"),
        )
        scored = ScoredCandidates(
            [Candidate(table, 0.5, {}) for table in tables], rows, predict(rows)
        )
        seen.append(ScoredQuestion(Question(str(number), "", gold), scored))
    weights = fit(seen)
    assert weights[0] == pytest.approx(3, abs=0.3)
    assert weights[-1] == pytest.approx(-1, abs=0.15)
    assert weights[1:-1] == pytest.approx([0] * 9, abs=1e-6)
