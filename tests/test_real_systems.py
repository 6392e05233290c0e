"""ReAct and ARM with a real model, far too small for either: they end, and say what came of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from dovetail.models.cache import CachedLLM
from dovetail.plugins import open_llm
from dovetail.retrieve.baselines.arm import ArmRetriever, Drafting
from dovetail.retrieve.baselines.react import ReactRetriever
from dovetail.search.searcher import Searcher
from tests.scripted import shop_searcher

QUESTION = "Which suppliers delivered to customers in Oslo?"


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Searcher:
    return shop_searcher(tmp_path_factory.mktemp("shop"))


def test_arm_weighs_what_a_local_model_tells(shop: Searcher, smollm: Path, tmp_path: Path) -> None:
    """Its replies have the shape that is asked for, and come with log-probabilities."""
    llm = CachedLLM(open_llm(f"local:{smollm}"), tmp_path)
    drafting = Drafting(sizes=(2,), beside=2)
    found = ArmRetriever(shop, llm, k=3, drafting=drafting).retrieve(QUESTION)
    align, _, verify = found.trace
    assert (align["llm_calls"], verify["llm_calls"]) == (1, 1)
    assert verify["by"] == "logprobs"
    picked = verify["fallback"] == 0
    assert all(chosen.reason.startswith("support ") == picked for chosen in found.tables)
    assert 1 <= len(found.tables) <= 4
    again = ArmRetriever(shop, llm, k=3, drafting=drafting).retrieve(QUESTION)
    assert again == found  # from the replies that were kept


def test_react_ends_with_a_model_that_cannot_keep_to_it(shop: Searcher, smollm: Path) -> None:
    found = ReactRetriever(shop, open_llm(f"local:{smollm}"), k=3, slips=0).retrieve(QUESTION)
    (stage,) = found.trace
    ranking = tuple(candidate.table for candidate in shop.dense(QUESTION, 3))
    assert stage["llm_calls"] in range(1, 6)
    assert stage["fallback"] == (stage.get("reason") is not None)
    assert (found.ids == ranking) or not stage["fallback"]
    assert found.tables
