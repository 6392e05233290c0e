"""The selector that asks no model: what it picks, what it connects, and what it says of it."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dovetail
from dovetail.catalog.reader import CatalogReader
from dovetail.errors import UsageError
from dovetail.ports import Retriever
from dovetail.retrieve.ask import GraphRetriever, open_retriever
from dovetail.retrieve.choose import pick
from dovetail.retrieve.doubt import expected_f1, relied_on
from dovetail.retrieve.scorer import BIAS, FEATURES, WEIGHTS, predict
from dovetail.search.searcher import Searcher
from dovetail.settings import Settings
from dovetail.testing import check_retriever
from tests.support.scored import scored_for
from tests.support.scripted import HashEmbedder, write_shop
from tests.support.searchers import search_over


def test_probability_is_logistic_in_the_weighted_features() -> None:
    rows = np.zeros((2, len(FEATURES)), dtype=np.float32)
    rows[1, FEATURES.index("gap")] = -1
    rows[1, FEATURES.index("best_words")] = 0.5
    logits = (BIAS, BIAS - WEIGHTS["gap"] + 0.5 * WEIGHTS["best_words"])
    np.testing.assert_allclose(predict(rows), [1 / (1 + math.exp(-o)) for o in logits], rtol=1e-6)
    assert tuple(WEIGHTS) == FEATURES


@pytest.mark.parametrize(
    ("breadth", "expected"),
    [
        (0.0, [1]),  # the best alone
        (0.2, [1]),  # 0.64 of 0.8 is 0.512
        (0.3, [1, 3]),  # 0.49 of 0.8 is 0.392
        (0.6, [1, 3, 0]),  # 0.16 of 0.8 is 0.128
        (0.9, [1, 3, 0, 2]),  # 0.01 of 0.8 is 0.008
        (1.0, [1, 3, 0, 2, 4]),
    ],
)
def test_picked_is_what_is_nearly_as_probable_as_the_best(
    breadth: float, expected: list[int]
) -> None:
    assert pick(np.array([0.2, 0.8, 0.1, 0.4, 0.001]), breadth) == expected


def test_ties_stay_in_the_order_of_the_search() -> None:
    assert pick(np.array([0.3, 0.5, 0.3, 0.5]), 0.9) == [1, 3, 0, 2]


def test_confidence_is_the_f1_to_expect() -> None:
    assert expected_f1([0.9], 1.6) == pytest.approx(2 * 0.9 / (1 + 1.6))
    assert expected_f1([0.9, 0.5], 1.6) == pytest.approx(2 * 1.4 / (2 + 1.6))
    assert expected_f1([0.9, 0.5, 0.0], 1.6) == pytest.approx(2 * 1.4 / (3 + 1.6))  # a connector
    assert expected_f1([], 0.0) == 0


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12), st.integers(1, 12))
def test_confidence_is_a_share(values: list[float], count: int) -> None:
    assert 0 <= expected_f1(values[:count], sum(values)) <= 1 + 1e-9


@given(
    st.lists(st.floats(0.001, 0.999), min_size=1, max_size=16),
    st.floats(0, 1),
    st.floats(0, 1),
)
def test_a_larger_breadth_drops_nothing(
    probabilities: list[float], one: float, other: float
) -> None:
    few, many = sorted((one, other))
    known = np.array(probabilities, dtype=np.float32)
    smaller, larger = pick(known, few), pick(known, many)
    assert larger[: len(smaller)] == smaller
    assert int(np.argmax(known)) == smaller[0]


def test_contract(tmp_path: Path) -> None:
    def make(catalog: CatalogReader, k: int) -> Retriever:
        return GraphRetriever(search_over(catalog, HashEmbedder()), k=k)

    check_retriever(make, tmp_path)


def test_it_works_without_an_embedder(tmp_path: Path) -> None:
    def make(catalog: CatalogReader, k: int) -> Retriever:
        return GraphRetriever(search_over(catalog, None), k=k)

    check_retriever(make, tmp_path)


def test_a_set_says_why(shop: Searcher) -> None:
    found = GraphRetriever(shop, breadth=0.3).retrieve("orders of customers in Turin")
    reasons = {chosen.id.name: (chosen.stage, chosen.reason) for chosen in found.tables}
    assert reasons == {
        "customers": ("select", "holds 'Turin' in city; its names say customers"),
        "orders": ("select", "its names say orders, customers"),
    }
    assert [(edge.left.name, edge.right.name) for edge in found.joins] == [("orders", "customers")]


def test_what_lies_between_is_brought_in(shop: Searcher) -> None:
    found = GraphRetriever(shop, breadth=0.1).retrieve("title of products and city of customers")
    stages = {chosen.id.name: chosen.stage for chosen in found.tables}
    assert stages == {
        "customers": "select",
        "products": "select",
        "orders": "connect",
        "order_items": "connect",
    }
    reasons = {chosen.reason for chosen in found.tables if chosen.stage == "connect"}
    assert reasons == {"connects customers and order_items", "connects orders and products"}
    assert len(found.joins) == 3


def test_the_trace_has_all_that_decided(shop: Searcher) -> None:
    retriever = GraphRetriever(shop, breadth=0.3, k=5)
    question = "orders of customers in Turin"
    found = retriever.retrieve(question)
    searched, selected = json.loads(json.dumps(found.trace))
    assert (searched["stage"], searched["k"]) == ("search", 5)
    assert (selected["stage"], selected["breadth"], selected["llm_calls"]) == ("select", 0.3, 0)
    scored = scored_for(shop, question, 5)
    candidates = selected["candidates"]
    assert [one["table"] for one in candidates] == [str(c.id) for c in shop.search(question, 5)]
    assert [one["probability"] for one in candidates] == pytest.approx(
        scored.probabilities.tolist(), abs=1e-4
    )
    features = candidates[0]["features"]
    assert list(features) == list(FEATURES)
    chosen = {str(one.id) for one in found.tables if one.stage == "select"}
    assert {c["table"] for c in candidates if c["probability"] >= selected["cut"]} == chosen
    expected = expected_f1(
        [one.relevance for one in found.tables], float(scored.probabilities.sum())
    )
    assert found.answerable is not None
    assert selected["confidence"] == pytest.approx(relied_on(expected, found.answerable), abs=1e-3)
    assert selected["connectors"] == selected["left_out"] == []
    assert found.tables[0].relevance == max(scored.probabilities)


def test_only_candidates_and_connectors(shop: Searcher) -> None:
    for question in ("rainfall", "company of customer 112", "5003", "shelf height and quantity"):
        for breadth in (0.0, 0.5, 1.0):
            retriever = GraphRetriever(shop, breadth=breadth, k=3)
            offered = set(scored_for(shop, question, 3).tables)
            for chosen in retriever.retrieve(question).tables:
                assert chosen.id in offered or chosen.stage == "connect"


@pytest.mark.parametrize("breadth", [-0.1, 1.1, math.nan])
def test_breadth_is_a_share(shop: Searcher, breadth: float) -> None:
    with pytest.raises(UsageError, match=r"from 0 .* to 1"):
        GraphRetriever(shop, breadth=breadth)


def test_the_breadth_is_an_argument_or_a_setting(tmp_path: Path) -> None:
    source, chosen = write_shop(tmp_path / "s.sqlite"), Settings(embedder="none", breadth=0.25)
    catalog = dovetail.build(str(source), into=tmp_path / "catalog", settings=chosen)
    made = open_retriever("graph", catalog.searcher, chosen, k=4)
    assert made.retrieve("orders").trace[1]["breadth"] == 0.25
    assert catalog.ask("orders", breadth=0.8).trace[1]["breadth"] == 0.8
