"""Search measured by the command, as scripts read it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.command_line import run


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
