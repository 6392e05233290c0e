"""Search measured: the commands, and what leaving out a part means."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.search.test_search import run
from tests.support.scripted import HashEmbedder
from tests.support.searchers import search_over

import dovetail
from dovetail.search.fusion import DEFAULT, Weights
from dovetail.search.index import IndexInputs
from dovetail.search.searcher import Searcher
from dovetail_bench.ablation import SIGNALS, VARIANTS, Variant


@pytest.mark.slow
def test_bench_retrieval_of_dense_and_search(tmp_path: Path) -> None:
    done = run(
        "bench", "retrieval", "sample", "--retriever", "dense,search", "--k", "5,10", "--json",
        cwd=tmp_path, XDG_CACHE_HOME=str(tmp_path),
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    result = json.loads(done.stdout)
    assert (result["dataset"], result["questions"], result["tables"]) == ("sample", 120, 77)
    rows = {(row["retriever"], row["k"]): row for row in result["results"]}
    assert list(rows) == [("dense", 5), ("dense", 10), ("search", 5), ("search", 10)]
    assert set(rows["search", 5]) == {
        "retriever", "knows", "k", "run", "settings", "avg_tables", "p", "r", "f1", "pr",
        "exact", "lenient_f1", "lenient_exact", "exact_any", "pr_any", "unanswerable",
        "abstained", "refused", "llm_calls", "tokens_in", "tokens_out", "fallbacks", "timeouts",
        "seconds_per_question", "in_sample",
    }  # fmt: skip
    for k in (5, 10):
        assert rows["search", k]["pr"] > rows["dense", k]["pr"] + 0.15
        assert (rows["search", k]["avg_tables"], rows["search", k]["llm_calls"]) == (k, 0)
    parts = run(
        "bench", "ablation", "sample", "--k", "10", "--limit", "40", "--json",
        cwd=tmp_path, XDG_CACHE_HOME=str(tmp_path),
    )  # fmt: skip
    assert parts.returncode == 0
    found = json.loads(parts.stdout)
    assert (found["dataset"], found["questions"]) == ("sample", 40)
    by_name = {row["variant"]: row for row in found["results"]}
    assert list(by_name) == [variant.name for variant in VARIANTS]
    assert by_name["all"]["p"] is None
    assert by_name["only value"]["pr"] < by_name["only dense"]["pr"] < by_name["all"]["pr"]
    assert by_name["only value"]["p"] < 0.05
    shown = run(
        "bench", "ablation", "sample", "--k", "5,10", "--limit", "10",
        cwd=tmp_path, XDG_CACHE_HOME=str(tmp_path),
    )  # fmt: skip
    assert shown.stdout.startswith("sample: 10 questions over 77 tables\n")
    assert "without neighbour" in shown.stdout


@pytest.fixture(scope="module")
def searcher(sample: dovetail.Catalog) -> Searcher:
    return search_over(sample, IndexInputs(HashEmbedder()))


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.name)
def test_a_part_that_is_left_out_is_nothing_and_the_others_are_as_they_were(
    searcher: Searcher, variant: Variant
) -> None:
    question = "Which orders of 2023 went to customers in Lund?"
    query = searcher.analyse(question)
    found = searcher.rank(variant.restrict(query), variant.weights(searcher.weights), 30)
    usual = {one.id: one.signals for one in searcher.search(question, 77)}
    assert found
    for one in found:
        assert set(one.signals) == set(SIGNALS)
        for part in set(SIGNALS) - variant.signals:
            assert one.signals[part] == 0
        for part in variant.signals - {"neighbour"}:
            if one.id in usual:
                assert one.signals[part] == pytest.approx(usual[one.id][part], abs=1e-5)


def test_the_first_variant_is_search_itself(searcher: Searcher) -> None:
    assert VARIANTS[0].weights(DEFAULT) == DEFAULT == Weights()
    question = "How many trains stop at each station?"
    query = VARIANTS[0].restrict(searcher.analyse(question))
    found = searcher.rank(query, VARIANTS[0].weights(searcher.weights), 10)
    assert found == searcher.search(question, 10)
