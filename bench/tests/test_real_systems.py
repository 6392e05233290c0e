"""What a real model, far too small for it, makes of ReAct's loop and of ARM's wish to know more."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dovetail.models.cache import CachedLLM
from dovetail.plugins import open_llm
from dovetail.ports import Message
from dovetail.search.searcher import Searcher
from dovetail_bench.baselines.arm import _TABLES, start_of
from dovetail_bench.baselines.react import ReactRetriever

QUESTION = "Which suppliers delivered to customers in Oslo?"


@pytest.mark.slow
def test_a_local_model_tells_how_sure_it_was(smollm: Path, tmp_path: Path) -> None:
    """Of a reply in the shape that ARM asks for, and of the same reply when it was kept."""
    llm = CachedLLM(open_llm(f"local:{smollm}"), tmp_path)
    ask = [Message("user", "Pick the numbers 1 and 2 as JSON tables.")]
    reply = llm.complete(ask, schema=_TABLES, max_tokens=24, logprobs=True)
    assert start_of(reply) is not None
    assert max(chance for _, chance in reply.logprobs) <= 0
    again = llm.complete(ask, schema=_TABLES, max_tokens=24, logprobs=True)
    assert again == replace(reply, cached=True)


@pytest.mark.slow
def test_react_ends_with_a_model_that_cannot_keep_to_it(shop: Searcher, smollm: Path) -> None:
    found = ReactRetriever(shop, open_llm(f"local:{smollm}"), k=3, slips=0).retrieve(QUESTION)
    (stage,) = found.trace
    ranking = tuple(candidate.id for candidate in shop.dense(QUESTION, 3))
    assert stage["llm_calls"] in range(1, 6)
    assert stage["fallback"] == (stage.get("reason") is not None)
    assert (found.ids == ranking) or not stage["fallback"]
    assert found.tables
