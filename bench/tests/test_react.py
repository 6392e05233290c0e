"""ReAct over HTTP: good conversations, and every way a model found to spoil one."""

from __future__ import annotations

import json
import urllib.error

import pytest
from tests.support.scripted import HashEmbedder, Said, Script, playing
from tests.support.searchers import search_over

from dovetail.domain import TableSet
from dovetail.ports import Json
from dovetail.search.searcher import Searcher
from dovetail_bench.baselines.react import ReactRetriever
from dovetail_bench.markdown import markdown

QUESTION = "Which suppliers delivered to customers in Oslo?"


def final(shop: Searcher, *places: int) -> str:
    """An answer with the tables at these places of the first search."""
    ids = [candidate.id for candidate in shop.dense("supplier", 7)]
    numbers = [shop.catalog.ids.index(ids[place]) for place in places]
    return f'Thought: done.\nFinal Answer: {{"relevant_tables": {numbers}}}'


def search(words: str) -> str:
    return f"Thought: something is missing.\nAction: table_search\nAction Input: {words}"


def converse(shop: Searcher, script: Script | list[Said]) -> tuple[TableSet, list[Json]]:
    with playing(script) as endpoint:
        found = ReactRetriever(shop, endpoint.llm, k=4, new=2).retrieve(QUESTION)
    return found, endpoint.asked


def fell_back(shop: Searcher, found: TableSet) -> bool:
    ranking = tuple(candidate.id for candidate in shop.dense(QUESTION, 4))
    return found.ids == ranking and found.trace[0]["fallback"] == 1


def test_searches_sees_only_new_tables_and_answers_with_numbers(shop: Searcher) -> None:
    first = [candidate.id for candidate in shop.dense("supplier company", 2)]
    second = [c.id for c in shop.dense("customer city", 4) if c.id not in first][:2]
    wanted = [shop.catalog.ids.index(table) for table in (first[0], second[0], second[0])]
    answer = f'Final Answer: {{"relevant_tables": {wanted}}}'
    found, asked = converse(shop, [search('"supplier company"'), search("customer city"), answer])
    assert found.ids == (first[0], second[0])
    for body, tables in ((asked[1], first), (asked[2], second)):
        observation = body["messages"][-1]
        assert observation["role"] == "user"
        rows = json.loads(observation["content"].removeprefix("Observation: "))
        assert [row["table_index"] for row in rows] == [shop.catalog.ids.index(t) for t in tables]
        assert [row["table_name"] for row in rows] == [table.name for table in tables]
        shown = [markdown(shop.catalog[table]) for table in tables]
        assert [row["table_markdown_content"] for row in rows] == shown


def test_costs_of_all_rounds_are_summed(shop: Searcher) -> None:
    found, asked = converse(shop, [search("supplier"), final(shop, 0, 1)])
    (stage,) = found.trace
    words = [sum(len(m["content"].split()) for m in body["messages"]) for body in asked]
    assert stage["llm_calls"] == 2
    assert stage["tokens_in"] == sum(words)
    assert isinstance(stage["tokens_out"], int)
    assert stage["tokens_out"] > 10
    assert (stage["fallback"], stage["slips"], stage["searches"]) == (0, 0, ["supplier"])


def test_the_question_and_the_limits_are_told(shop: Searcher) -> None:
    _, asked = converse(shop, [search("supplier"), final(shop, 0, 1)])
    system, user = asked[0]["messages"]
    assert "You may search 3 times" in system["content"]
    assert "up to 2 tables" in system["content"]
    assert user["content"] == f"Question: {QUESTION}"
    assert "{{" not in system["content"]


def test_a_repeated_search_is_pointed_out_and_brings_nothing(shop: Searcher) -> None:
    found, asked = converse(shop, [search("supplier"), search('"SUPPLIER"'), final(shop, 0, 1)])
    assert "searched for these words already" in asked[2]["messages"][-1]["content"]
    assert found.trace[0]["searches"] == ["supplier"]
    assert (found.trace[0]["slips"], found.trace[0]["fallback"]) == (1, 0)
    assert len(found.tables) == 2


def test_a_model_that_only_repeats_itself_is_given_up(shop: Searcher) -> None:
    found, asked = converse(shop, lambda _: search("supplier"))
    assert fell_back(shop, found)
    assert len(asked) == 4  # one search, and three slips of which two are tolerated


def test_never_ending_thoughts_are_given_up(shop: Searcher) -> None:
    found, asked = converse(shop, lambda _: "Thought: let me think about that. " * 60)
    assert fell_back(shop, found)
    assert len(asked) == 3
    assert all(body["max_tokens"] == 512 for body in asked)
    assert "no step" in asked[1]["messages"][-1]["content"]


def test_no_search_beyond_the_third(shop: Searcher) -> None:
    turns = iter(range(100))
    found, asked = converse(shop, lambda _: search(f"words {next(turns)}"))
    assert fell_back(shop, found)
    assert found.trace[0]["searches"] == ["words 0", "words 1", "words 2"]
    assert asked[3]["messages"][-1]["content"].endswith("Give the Final Answer now.")
    assert len(asked) == 6


def test_a_corpus_that_was_seen_whole_brings_nothing_new(shop: Searcher) -> None:
    with playing([search("a"), search("b"), final(shop, 0, 1)]) as endpoint:
        found = ReactRetriever(shop, endpoint.llm, k=4, new=7).retrieve(QUESTION)
    assert "nothing new" in endpoint.asked[2]["messages"][-1]["content"]
    assert len(found.tables) == 2


@pytest.mark.parametrize(
    "step",
    [
        "",
        "Action: table_search",
        "Action: table_search\nAction Input:",
        "Action: web_search\nAction Input: supplier",
        "Action Input: supplier",
        "Final Answer",
        'Observation: []\nFinal Answer: {"relevant_tables": [1]}',
    ],
)
def test_a_malformed_step_may_be_mended(shop: Searcher, step: str) -> None:
    found, asked = converse(shop, [step, search("supplier"), final(shop, 0, 1)])
    assert "no step" in asked[1]["messages"][-1]["content"]
    assert (found.trace[0]["slips"], found.trace[0]["fallback"]) == (1, 0)
    assert len(found.tables) == 2


@pytest.mark.parametrize(
    "answer",
    [
        "Final Answer: the suppliers table",
        'Final Answer: {"relevant_tables": []}',
        'Final Answer: {"relevant_tables": [-1, 99]}',
        'Final Answer: {"relevant": [1]}',
        'Final Answer: {"relevant_tables": "1, 2"}',
    ],
)
def test_an_answer_that_cannot_be_used_falls_back(shop: Searcher, answer: str) -> None:
    found, _ = converse(shop, [search("supplier"), answer])
    assert fell_back(shop, found)


@pytest.mark.parametrize(
    "answer",
    [
        '**Final Answer:** ```json\n{"relevant_tables": [A, "B"]}\n```',
        'thought: x\nfinal answer: Here it is: {"relevant_tables": [A, B, 77]} Good luck!',
        '<think>Final Answer: {"relevant_tables": []}</think>\n'
        'Final Answer: {"relevant_tables": [A, B]}',
        'Final Answer: {"relevant_tables": [A, B]}\nObservation: none',
    ],
)
def test_an_answer_in_other_clothes_is_recognised(shop: Searcher, answer: str) -> None:
    tables = [candidate.id for candidate in shop.dense("supplier", 2)]
    for letter, table in zip("AB", tables, strict=True):
        answer = answer.replace(f"{letter},", f"{shop.catalog.ids.index(table)},")
        answer = answer.replace(f"{letter}]", f"{shop.catalog.ids.index(table)}]")
        answer = answer.replace(f'"{letter}"', f'"{shop.catalog.ids.index(table)}"')
    found, _ = converse(shop, [search("supplier"), answer])
    assert set(found.ids) == set(tables)
    assert found.trace[0]["fallback"] == 0


def test_what_a_model_makes_up_after_its_step_is_not_read(shop: Searcher) -> None:
    made_up = f'{search("supplier")}\nObservation: []\nFinal Answer: {{"relevant_tables": [2]}}'
    found, asked = converse(shop, [made_up, final(shop, 0, 1)])
    assert asked[1]["messages"][2]["content"] == search("supplier")
    assert len(found.tables) == 2


def test_the_same_replies_make_the_same_conversation(shop: Searcher) -> None:
    script: list[Said] = [search("supplier"), search("city"), final(shop, 0, 1)]
    first, second = converse(shop, script), converse(shop, script)
    assert first == second


def test_an_endpoint_that_fails_is_no_fallback(shop: Searcher) -> None:
    with pytest.raises(urllib.error.HTTPError):
        converse(shop, [search("supplier")])


def test_an_observation_shows_the_purpose(shop: Searcher) -> None:
    supplier = next(table for table in shop.catalog.ids if table.name == "suppliers")
    described = search_over(shop.catalog, HashEmbedder(), {supplier: "Firms that deliver goods."})
    _, asked = converse(described, [search("supplier company"), final(shop, 0, 1)])
    rows = json.loads(asked[1]["messages"][-1]["content"].removeprefix("Observation: "))
    told = {row["table_name"]: row["purpose"] for row in rows}
    assert told["suppliers"] == "Firms that deliver goods."
