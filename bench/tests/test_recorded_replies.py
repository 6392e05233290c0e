"""An evaluation with a model by replies that are recorded elsewhere."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.support.command_line import run
from tests.support.endpoint import completion

from dovetail_bench.replay import REQUESTS, RESPONSES


def bench(*arguments: str, folder: Path) -> Any:
    return run(
        "bench", "retrieval", "sample", "--retriever", "llm", "--limit", "6",
        "--llm", f"replay:{folder}", "--json", *arguments,
        DOVETAIL_EMBEDDER="none", DOVETAIL_LLM_CALLS="1",
        XDG_CACHE_HOME=str(folder.parent / "cache"),
    )  # fmt: skip


def answer(folder: Path, count: int) -> None:
    """Have requests answered as a batch endpoint would: here, each with the first two tables."""
    requests = [json.loads(line) for line in (folder / REQUESTS).read_text().splitlines()]
    replies = [
        {
            "custom_id": request["custom_id"],
            "response": {"status_code": 200, "body": completion('{"tables": [1, 2]}', (300, 8))},
        }
        for request in requests[:count]
    ]
    (folder / RESPONSES).write_text("".join(json.dumps(reply) + "\n" for reply in replies))


@pytest.mark.slow
def test_an_evaluation_by_recorded_replies(tmp_path: Path) -> None:
    folder, runs = tmp_path / "record", str(tmp_path / "runs")
    first = bench("--runs", runs, folder=folder)
    assert (first.returncode, first.stdout) == (1, "")
    assert "llm at k=10 waits for replies to 6 of 6 questions" in first.stderr
    asked = (folder / REQUESTS).read_bytes()
    assert asked.count(b"\n") == 6
    answer(folder, 4)
    assert "waits for replies to 2 of 6" in bench("--runs", runs, folder=folder).stderr
    answer(folder, 6)
    done = bench("--runs", runs, folder=folder)
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(done.stdout)["results"]
    assert (row["llm_calls"], row["tokens_in"], row["tokens_out"], row["fallbacks"]) == (
        1, 300, 8, 0,
    )  # fmt: skip
    assert row["avg_tables"] >= 2
    assert bench("--runs", runs, folder=folder).stdout == done.stdout
    elsewhere = bench("--runs", str(tmp_path / "others"), folder=folder)
    assert apart_from_time_and_place(elsewhere.stdout) == apart_from_time_and_place(done.stdout)
    assert (folder / REQUESTS).read_bytes() == asked


def apart_from_time_and_place(text: str) -> str:
    return re.sub(r'"seconds_per_question": [\d.e-]+|"run": "[^"]*"', "", text)
