"""Replies of no use are never served from the cache again; a good one that comes later is used."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dovetail.models.cache import CachedLLM
from dovetail.models.endpoint import Patience
from dovetail.models.openai import OpenAILLM
from dovetail.retrieve.llm import LLMRetriever, Spending
from tests.retrieve.test_llm import stages, without
from tests.support.endpoint import Play, completion, endpoint, fails, says
from tests.support.ranked import Ranked, letters

GOOD = says('{"tables": [2, 1]}')
PATIENT = Patience(attempts=4, attempt_seconds=30, deadline=90, first_wait=0.01)


def cut_off(text: str) -> Play:
    body = completion(text)
    body["choices"][0]["finish_reason"] = "length"
    return Play(body=json.dumps(body).encode())


USELESS = {
    "no JSON": says("Certainly!"),
    "of another request": says('{"look_for": ["orders"]}'),
    "numbers of another list": says('{"tables": [17, 99]}'),
    "cut off": cut_off('{"tables": ['),
}


@pytest.mark.parametrize("case", USELESS)
def test_a_useless_choice_is_told_and_asked_for_again(case: str, tmp_path: Path) -> None:
    ranked = Ranked(letters(tmp_path), [0.8, 0.7], {})
    with endpoint(USELESS[case], GOOD) as server:
        llm = OpenAILLM("tiny", workers=1, patience=PATIENT, environ=server.environ)
        cached = CachedLLM(llm, tmp_path / "replies")
        asked = LLMRetriever(ranked, cached, without, spending=Spending(calls=1))
        first, *later = (asked.retrieve("which?") for _ in range(3))
    assert first.tables == without("").tables
    assert "chosen without a model" in str(stages(first)["select"]["reason"])
    assert [[one.name for one in found.tables] for found in later] == [["b", "a"]] * 2
    assert len(server.asked) == 2, "the good reply is kept"


def test_an_endpoint_that_slows_down_or_hangs_up_is_asked_again(tmp_path: Path) -> None:
    ranked = Ranked(letters(tmp_path), [0.8, 0.7], {})
    half = Play(body=GOOD.body, drops=True)
    with endpoint(fails(429, retry_after="0"), half, fails(429, retry_after="0"), GOOD) as server:
        llm = OpenAILLM("tiny", workers=1, patience=PATIENT, environ=server.environ)
        for reuse, asked in ((True, 4), (True, 4), (False, 5)):
            cached = CachedLLM(llm, tmp_path / "replies", reuse=reuse)
            once = LLMRetriever(ranked, cached, without, spending=Spending(calls=1))
            assert [one.name for one in once.retrieve("which?").tables] == ["b", "a"]
            assert len(server.asked) == asked
