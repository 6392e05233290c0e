"""ARM over HTTP: alignment, drafts, and picks that are counted as votes."""

from __future__ import annotations

import json
import math
import re
from typing import cast

import pytest
from tests.support.scripted import Said, Script, playing

from dovetail.domain import TableSet
from dovetail.ports import Json
from dovetail.search.searcher import Searcher
from dovetail_bench.baselines.alignment import Alignment, Bm25
from dovetail_bench.baselines.arm import ArmRetriever, Drafting
from dovetail_bench.baselines.mip import Limits

QUESTION = "Which customers in Oslo bought products?"
KEYWORDS = '{"keywords": ["customer city", "product title"]}'


def converse(shop: Searcher, script: Script | list[Said]) -> tuple[TableSet, list[Json]]:
    with playing(script) as scripted:
        found = ArmRetriever(shop, scripted.llm, k=3).retrieve(QUESTION)
    return found, scripted.asked


def numbered(body: Json) -> dict[int, str]:
    """The tables of a prompt by number."""
    lines = [line for line in body["messages"][-1]["content"].splitlines() if "(" in line]
    shown = [line for line in lines if line.startswith("[") and "] " in line]
    return {int(line[1 : line.index("]")]): line.split("] ")[1].split("(")[0] for line in shown}


def picking(*wanted: str) -> Script:
    """A model that picks tables by name, from whatever is shown."""

    def script(messages: list[Json]) -> str:
        if "keywords" in messages[0]["content"]:
            return KEYWORDS
        table = numbered({"messages": messages})
        return json.dumps({"tables": [number for number in table if table[number] in wanted]})

    return script


def test_one_small_call_and_one_per_draft(shop: Searcher) -> None:
    found, asked = converse(shop, picking("customers", "orders", "order_items", "products"))
    align, draft, verify = found.trace
    assert [entry["stage"] for entry in found.trace] == ["align", "draft", "verify"]
    assert (align["llm_calls"], draft["llm_calls"], verify["llm_calls"]) == (1, 0, 3)
    assert align["keywords"] == ["customer city", "product title"]
    drafts = draft["drafts"]
    assert isinstance(drafts, list)
    assert [len(one) for one in drafts] == [2, 3, 4]
    names = {table.name for table in found.ids}
    assert names == {"customers", "orders", "order_items", "products"}
    assert all(chosen.reason == "support 1.00" for chosen in found.tables)
    assert sum(1 for body in asked if body["schema"] is not None) == 4


def test_a_draft_is_shown_and_nothing_beside_it(shop: Searcher) -> None:
    found, asked = converse(shop, picking("customers"))
    prompt = asked[3]["messages"][-1]["content"]
    assert f"Question: {QUESTION}" in prompt
    drafts = cast(list[list[str]], found.trace[1]["drafts"])
    assert [f"shop::{name}" for name in numbered(asked[3]).values()] == [
        table.replace(table.partition("::")[0], "shop") for table in drafts[2]
    ]
    assert "{{" not in prompt


def test_votes_need_half_of_the_showings(shop: Searcher) -> None:
    votes = iter([["customers", "weather"], ["customers", "products"], ["customers", "products"]])

    def script(messages: list[Json]) -> Said:
        if "keywords" in messages[0]["content"]:
            return KEYWORDS
        return picking(*next(votes))(messages)

    found, _ = converse(shop, script)
    support = {chosen.id.name: chosen.reason for chosen in found.tables}
    assert support == {"customers": "support 1.00", "products": "support 0.67"}


@pytest.mark.parametrize("reply", ["", "None of them.", '{"tables": []}', '{"tables": [0, 99]}'])
def test_no_picks_fall_back_to_the_candidates(shop: Searcher, reply: str) -> None:
    found, _ = converse(shop, [KEYWORDS, reply, reply, reply])
    align, draft, verify = found.trace
    assert (align["fallback"], draft["fallback"], verify["fallback"]) == (0, 0, 1)
    assert len(found.tables) == 3
    assert found.tables[0].reason == "aligned ranking, rank 1"


def test_useless_keywords_leave_the_question(shop: Searcher) -> None:
    found, _ = converse(shop, ["no idea", *['{"tables": [1]}'] * 3])
    assert found.trace[0]["keywords"] == [QUESTION]
    assert found.trace[0]["fallback"] == 1
    assert len(found.tables) >= 1


def test_drafts_that_the_clock_ended_are_counted(shop: Searcher) -> None:
    with playing(lambda _: '{"tables": [1]}') as scripted:
        drafting = Drafting(sizes=(2, 3), limits=Limits(seconds=0.0))
        found = ArmRetriever(shop, scripted.llm, drafting=drafting).retrieve(QUESTION)
    draft = found.trace[1]
    assert (draft["timeout"], draft["fallback"]) == (2, 0)
    assert [len(one) for one in cast(list[list[str]], draft["drafts"])] == [2, 3]


def test_keywords_become_words_of_the_corpus(shop: Searcher) -> None:
    aligned = Alignment(shop).aligned("the supplier's country")
    assert {"supplier", "country", "suppliers country"} <= set(aligned)
    assert Alignment(shop).aligned("Oslo")[0] == "oslo"


def test_candidates_of_a_value_are_the_tables_that_hold_it(shop: Searcher) -> None:
    found = Alignment(shop).candidates("zzz", ["rainfall station"], 3)
    assert found[0].id.name == "weather"
    assert found[0].relevance == 1.0
    assert [c.relevance for c in found] == sorted((c.relevance for c in found), reverse=True)


def bm25(texts: list[list[str]], words: list[str], place: int) -> float:
    """Lucene's BM25 with its usual k1 = 1.5 and b = 0.75, by hand."""
    mean = sum(map(len, texts)) / len(texts)
    score = 0.0
    for word in words:
        holders = sum(word in text for text in texts)
        if holders:
            idf = math.log(1 + (len(texts) - holders + 0.5) / (holders + 0.5))
            times = texts[place].count(word)
            length = 0.25 + 0.75 * len(texts[place]) / mean
            score += idf * times / (times + 1.5 * length)
    return score


def test_bm25_is_the_formula() -> None:
    texts = [["red", "boat"], ["red", "red", "car", "park"], ["tree"]]
    words = ["red", "park", "unknown"]
    scores = Bm25(texts).scores(words).tolist()
    assert scores == pytest.approx([bm25(texts, words, place) for place in range(3)], abs=1e-6)
    assert Bm25(texts).best(words, 9) == [1, 0]
    assert Bm25(texts).best(["unknown"], 9) == []
    assert Bm25([]).best(["red"], 9) == []


def test_candidates_are_expanded_by_what_joins_them_best(shop: Searcher) -> None:
    drafting = Drafting(sizes=(2,), candidates=1, expansion=2, scoring="foreign_key")
    script = picking("orders")
    with playing(script) as endpoint:
        ArmRetriever(shop, endpoint.llm, drafting=drafting).retrieve(QUESTION)
        prompt = endpoint.asked[1]["messages"][-1]["content"]
    shown = re.findall(r"^\[\d\] (\w+)\(", prompt, re.MULTILINE)
    first = Alignment(shop).candidates(QUESTION, [], 1)[0].id
    partners = [table.name for table in shop.joins.neighbours(first, least=0.0)]
    assert len(shown) == 2
    assert set(shown) <= {first.name, *partners}
