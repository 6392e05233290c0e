"""Calls saved, measured from runs: recorded replies that are right, and graph's own sets."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from dovetail.errors import PendingError
from dovetail.settings import Settings
from dovetail_bench.datasets import open_dataset
from dovetail_bench.question_filter import QuestionFilter
from dovetail_bench.replay import REQUESTS, RESPONSES
from dovetail_bench.reporting.model_calls import model_calls
from dovetail_bench.reporting.scored_run import find_files, read_scored_runs
from dovetail_bench.retrieval import bench_retrieval
from dovetail_bench.run_config import RunConfig
from tests.support.endpoint import completion

RETRIEVERS = ("graph", "core-t:compact", "hybrid:compact")


def answer(folder: Path, gold: dict[str, list[str]]) -> None:
    """Answer every recorded request with the candidates that bear the names of gold tables."""
    lines = []
    for line in (folder / REQUESTS).read_text("utf-8").splitlines():
        request = json.loads(line)
        prompt = request["body"]["messages"][-1]["content"]
        question = prompt.rpartition("Question: ")[2].strip()
        shown = re.findall(r"^(\d+) (\w+)\(", prompt, flags=re.MULTILINE)
        right = [int(number) for number, name in shown if name in gold[question]]
        body = completion(json.dumps({"tables": right}), (600, 9))
        reply = {"custom_id": request["custom_id"], "response": {"status_code": 200, "body": body}}
        lines.append(json.dumps(reply) + "\n")
    (folder / RESPONSES).write_text("".join(lines), "utf-8")


@pytest.mark.slow
def test_calls_saved_at_equal_f1(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    dataset, record = open_dataset("sample"), tmp_path / "record"
    gold = {one.text: [table.name for table in one.gold] for one in dataset.questions()}
    config = RunConfig(tmp_path / "runs", Settings(embedder="none", llm=f"replay:{record}"))
    question_filter = QuestionFilter(limit=40)
    with pytest.raises(PendingError, match="waits for replies to 40 of 40 questions"):
        bench_retrieval(dataset, RETRIEVERS[1:2], [10], question_filter, config)
    answer(record, gold)
    found = bench_retrieval(dataset, RETRIEVERS, [10], question_filter, config)["results"]
    graph, model, hybrid = ({**row} for row in found)
    assert graph["f1"] < model["f1"]
    assert (graph["llm_calls"], model["llm_calls"]) == (0, 1)
    assert 0 < hybrid["llm_calls"] < 1
    assert graph["f1"] < hybrid["f1"]
    files, _ = find_files([config.runs])
    rows: dict[str, list[Any]] = {}
    for row in model_calls(read_scored_runs(files)).rows:
        what, *values = (cell.value for cell in row.cells[1:])
        rows.setdefault(str(what), []).append(values)
    ends = [values[3] for values in (rows["a share"][0], rows["a share"][-1])]
    assert ends == pytest.approx([100 * graph["f1"], 100 * model["f1"]], abs=1e-3)
    (own,) = rows["by its own"]
    assert own[:2] == [pytest.approx(100 * hybrid["llm_calls"]), Settings().ask_below]
    assert own[3] == pytest.approx(100 * hybrid["f1"], abs=1e-3)
    ((share, _, _, f1, *_),) = rows["for equal F1"]
    assert f1 >= ends[1] - 1e-3
    assert 0 < share <= 100
    ((_, _, _, best, *_),) = rows["for the best F1"]
    assert best >= max(*ends, own[3]) - 1e-3
    # Half of the calls bring more than half of the gain: the least sure are asked first.
    assert rows["a share"][2][3] > sum(ends) / 2
