"""Run files as the evaluation writes them, over questions and tables made up for a test."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dovetail.domain import TableId
from dovetail_bench.question_file import write_questions
from dovetail_bench.questions import Question
from dovetail_bench.run_file import Found, Record, Trace, resumed

Stages = Sequence[Mapping[str, object]]


def asked(number: int, gold: str, difficulty: str = "") -> Question:
    """A question; each letter of `gold` is a table."""
    tables = tuple(TableId("db", letter) for letter in gold)
    return Question(f"q{number}", f"question {number}", tables, difficulty=difficulty)


def record(question: str, tables: str, **more: Any) -> Record:
    """A record; each letter is a table, after a plus sign one that adjustment added."""
    chosen, _, added = tables.partition("+")
    staged = [(letter, "select") for letter in chosen] + [(letter, "adjust") for letter in added]
    found = tuple(Found("db", letter, stage, 0.5) for letter, stage in staged)
    cost = {"tokens_in": 0, "tokens_out": 0, "llm_calls": 0, "fallback": False, "seconds": 0.01}
    return Record(question=question, tables=found, trace="", **{**cost, **more})


def write_run(
    folder: Path,
    retriever: str,
    questions: Sequence[Question],
    records: Sequence[Record],
    *,
    k: int = 4,
    dataset: str = "toy",
    ranks: bool = False,
    traces: Mapping[str, Stages] | None = None,
    **settings: object,
) -> Path:
    """A run file with its questions and traces beside it."""
    write_questions(folder, dataset, "abc", questions)
    about = {
        "dataset": dataset, "questions": "abc", "retriever": retriever, "k": k,
        "settings": {"embedder": "minilm", **settings},
    }  # fmt: skip
    made = {
        "command": f"dovetail bench retrieval {dataset} --retriever {retriever}",
        "ranks": ranks,
    }
    name = "-".join(map(str, [dataset, retriever.replace(":", "_"), k, *settings.values()]))
    file = folder / f"{name.replace('/', '_')}.jsonl"
    with resumed(file, about, made=made) as writer:
        for each in records:
            stages: Trace = tuple((traces or {}).get(each.question, ()))
            writer.append(each, stages)
    return file


def candidates(**relevance: float) -> Mapping[str, object]:
    """The search stage of a trace, as retrievers with a selection write it."""
    listed = [{"table": f"db::{name}", "relevance": value} for name, value in relevance.items()]
    return {"stage": "search", "candidates": listed}


def add_answers(file: Path, errors: Mapping[str, str]) -> None:
    """Let the records of a run say what came of their SQL; an empty error is a right answer."""
    head, *lines = file.read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    for row in rows:
        error = errors[row["question"]]
        row["written"] = {"sql": "SELECT 1", "error": error, "reason": "", "again": False}
    file.write_text("\n".join([head, *map(json.dumps, rows)]) + "\n", encoding="utf-8")
