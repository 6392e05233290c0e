"""programs/prompts.py: what is counted, and by whom."""

from __future__ import annotations

from pathlib import Path

from dovetail.models.chat import estimate_tokens
from dovetail.retrieve.parse_reply import parse_selection
from dovetail_bench.programs.prompts import (
    ESTIMATE,
    Asked,
    error_lines,
    open_tokenizer,
    reply,
    size_lines,
)


def test_replies_are_of_the_shape_that_is_asked_for() -> None:
    for form in ("full", "compact", "grouped"):
        assert parse_selection(reply(form, [3, 1]), 4).tables == (3, 1)


def test_means_of_a_corpus_beside_the_papers() -> None:
    texts = {"compact": [Asked("a" * 700, "b" * 20), Asked("a" * 740, "b" * 10)]}
    rows = size_lines("spider_dev", texts, {ESTIMATE: len, "half": lambda text: len(text) // 2})
    assert rows.splitlines() == [
        "| spider_dev | compact | estimate | 720 | 15 | 1/7.9 |",
        "| spider_dev | compact | half | 360 | 8 | 1/15.8 |",
    ]
    assert size_lines("mine", texts, {ESTIMATE: len}).endswith("| 720 | 15 |  |")


def test_a_tokenizer_of_a_real_model_counts_and_the_estimate_is_held_against_it(
    smollm: Path,
) -> None:
    count = open_tokenizer(smollm)
    question = "What is the capital of France? Answer in one word."
    # Ten words and two signs.
    assert (count(question), estimate_tokens(question)) == (12, 13)
    rows = error_lines({"questions": [question, question]}, {ESTIMATE: estimate_tokens, "s": count})
    assert rows == "| questions | 2 | 1.08 |"
