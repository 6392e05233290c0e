"""What a real model, far too small for it, makes of ReAct's loop."""

from __future__ import annotations

from pathlib import Path

import pytest

from dovetail.plugins import open_llm
from dovetail.search.searcher import Searcher
from dovetail_bench.baselines.react import ReactRetriever

QUESTION = "Which suppliers delivered to customers in Oslo?"


@pytest.mark.slow
def test_react_ends_with_a_model_that_cannot_keep_to_it(shop: Searcher, smollm: Path) -> None:
    found = ReactRetriever(shop, open_llm(f"local:{smollm}"), k=3, slips=0).retrieve(QUESTION)
    (stage,) = found.trace
    ranking = tuple(candidate.id for candidate in shop.dense(QUESTION, 3))
    assert stage["llm_calls"] in range(1, 6)
    assert stage["fallback"] == (stage.get("reason") is not None)
    assert (found.ids == ranking) or not stage["fallback"]
    assert found.tables
