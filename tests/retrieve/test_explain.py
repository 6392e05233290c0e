"""Explanations: what is named decided, and what the next table lacks is what it lacks."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from dovetail.domain import TableSet
from dovetail.retrieve.ask import GraphRetriever
from dovetail.retrieve.explain import PAIRED, THINGS, effects, lacking
from dovetail.retrieve.scorer import (
    PAIR_FEATURES,
    SET_FEATURES,
    WEIGHTS,
    SetInput,
    shipped,
)
from dovetail.search.searcher import Searcher
from tests.support.scored import scored_for

QUESTIONS = (
    "Which customers in Turin ordered product 7003?",
    "How many orders does each customer have?",
    "products",
    "Which products are in which orders?",
)


def told(searcher: Searcher, question: str) -> tuple[TableSet, Any]:
    found = GraphRetriever(searcher, explain=True).retrieve(question)
    return found, found.trace[-1]["explanation"]


def test_each_feature_speaks_of_one_thing() -> None:
    named = [name for features in THINGS.values() for name in features]
    assert len(set(named)) == len(named)
    # What is left are sums of the others: the first probability, and what all candidates cover.
    assert set(SET_FEATURES) - set(named) == {"first_logit", "covered"}


@pytest.mark.parametrize("question", QUESTIONS)
def test_what_is_named_lowers_the_probability_when_it_is_left_out(
    shop: Searcher, question: str
) -> None:
    """The network is asked again, with nothing of the explainer but what each thing is made of."""
    found, explanation = told(shop, question)
    scored = scored_for(shop, question)
    assert [one["table"] for one in explanation["tables"]] == [str(one) for one in found.ids]
    for one in explanation["tables"]:
        if "probability" not in one:
            continue
        place = [str(table) for table in scored.tables].index(one["table"])
        assert one["probability"] == pytest.approx(float(scored.probabilities[place]), abs=1e-3)
        assert len(one["because"]) <= 3
        losses = [one["probability"] - thing["without"] for thing in one["because"]]
        assert losses == sorted(losses, reverse=True)
        for thing in one["because"]:
            assert thing["without"] < one["probability"]
            rows, pairs = scored.given.rows.copy(), scored.given.pairs.copy()
            for name in THINGS[thing["thing"]]:
                column = SET_FEATURES.index(name)
                mean = shipped().mean[column]
                if name in WEIGHTS:
                    moved = WEIGHTS[name] * float(mean - rows[place, column])
                    rows[place, SET_FEATURES.index("first_logit")] += moved
                rows[place, column] = mean
            others = np.arange(len(rows)) != place
            for name in PAIRED.get(thing["thing"], ()):
                pairs[place, others, PAIR_FEATURES.index(name)] = 0
                pairs[others, place, PAIR_FEATURES.index(name)] = 0
            again = shipped().probabilities(SetInput(rows, pairs))
            assert again[place] == pytest.approx(thing["without"], abs=1e-3)


def test_without_the_named_word_the_table_is_less_probable(shop: Searcher) -> None:
    question = "How many products are there in each order?"
    _, explanation = told(shop, question)
    (products,) = [one for one in explanation["tables"] if one["table"].endswith("::products")]
    assert any("products" in thing["words"] for thing in products["because"])
    without = scored_for(shop, question.replace("products", "things"))
    assert products["probability"] > without.by_table[shop.catalog["products"].id]


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_next_one_is_the_best_of_those_that_stayed_out(shop: Searcher, question: str) -> None:
    found, explanation = told(shop, question)
    scored = scored_for(shop, question)
    out = {str(one): p for one, p in scored.by_table.items() if one not in found.ids}
    named = explanation["next"]
    assert named["probability"] == pytest.approx(max(out.values()), abs=1e-3)
    assert named["table"] in out
    assert named["because"]


def test_a_candidate_with_all_that_another_has_gains_by_what_it_lacked(shop: Searcher) -> None:
    scored = scored_for(shop, QUESTIONS[0])
    order: Sequence[int] = np.argsort(-scored.probabilities).tolist()
    best, worst = order[0], order[-1]
    had = lacking(shipped(), scored.given, worst, best)
    assert max(had.values()) > scored.probabilities[worst]
    same = lacking(shipped(), scored.given, best, best)
    np.testing.assert_allclose(list(same.values()), scored.probabilities[best], atol=1e-5)
    assert set(effects(shipped(), scored.given, best)) == set(THINGS)


def test_a_set_is_explained_where_that_is_asked_for(shop: Searcher) -> None:
    found, explanation = told(shop, QUESTIONS[0])
    assert json.loads(json.dumps(explanation)) == explanation
    plain = GraphRetriever(shop).retrieve(QUESTIONS[0])
    assert plain.explanation is None
    assert (found.ids, found.joins, found.confidence) == (plain.ids, plain.joins, plain.confidence)
