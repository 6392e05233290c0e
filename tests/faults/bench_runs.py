"""Runs of the evaluation that are killed: no question is lost or doubled."""

from __future__ import annotations

import json
import random
from collections import Counter
from functools import partial
from pathlib import Path

from dovetail_bench.run_file import Found, Record, read_run, resumed, traces_of
from tests.faults.events import DONE, KILL, counted, faulty, in_process

_ABOUT = {"dataset": "toy", "questions": "abc", "retriever": "words", "k": 3, "settings": {}}
_QUESTIONS = 12


def answer(file: Path) -> None:
    """Go on with a run until every question is answered."""
    with resumed(file, _ABOUT) as writer:
        for number in range(_QUESTIONS):
            if f"q{number}" not in writer.records:
                writer.append(_record(number), ({"stage": "search", "number": number},))


def _record(number: int) -> Record:
    table = Found("db", f"t{number}", "select", 0.5)
    return Record(
        question=f"q{number}", tables=(table,), tokens_in=0, tokens_out=0, llm_calls=0,
        fallback=False, seconds=0.01, trace=f"trace {number}",
    )  # fmt: skip


def killed_runs(folder: Path, seed: int, count: int) -> tuple[Counter[str], list[str]]:
    """Kills before changes to files that a seed chooses, some runs more than once."""
    draw = random.Random(seed)
    wrong: list[str] = []
    folder.mkdir(parents=True)
    changes = counted(partial(answer, folder / "counted.jsonl"), folder)
    for number in range(count):
        file = folder / f"{number}.jsonl"
        reached = 0
        for _ in range(draw.randint(1, 3)):
            at = draw.randint(1, changes)
            ended, told = faulty(partial(answer, file), folder, at, KILL)
            kept = _numbers(file)
            if ended not in (KILL, DONE) or kept != list(range(len(kept))) or len(kept) < reached:
                wrong.append(f"run {number}, change {at}: {ended} {told} {kept}")
            reached = len(kept)
        ended, told = in_process(partial(answer, file))
        lines = traces_of(file).read_text().splitlines()
        traced = {json.loads(line)["question"] for line in lines}
        if ended != DONE or _numbers(file) != list(range(_QUESTIONS)) or len(traced) != _QUESTIONS:
            wrong.append(f"run {number}, gone on with: {ended} {told} {_numbers(file)}")
    return Counter({"kill during bench": count}), wrong


def _numbers(file: Path) -> list[int]:
    """The questions that a run has, in their order."""
    if not file.exists() or b"\n" not in file.read_bytes():
        return []
    return [int(question[1:]) for question in read_run(file).records]
