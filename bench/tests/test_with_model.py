"""programs/with_model.py: passes over recorded replies, and rows that are not measured."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

from dovetail.ports import Json
from dovetail_bench.core_t.retriever import options_of
from dovetail_bench.datasets import open_dataset
from dovetail_bench.programs.with_model import (
    OURS,
    PAPER,
    SETUPS,
    Measured,
    passes,
    questions_asked,
    waiting,
)
from dovetail_bench.retrievers import retriever_names


def test_every_system_of_the_paper_stands_in_both_setups() -> None:
    for setup in SETUPS:
        names = {system.name: system.ks for system in setup.systems}
        assert names["dense"] == (5, 8, 10)
        assert {"oracle", "react", "jar", "arm", "rear", "core-t:paper", "graph"} <= set(names)
        assert {name.partition(":")[0] for name in names} <= {*retriever_names(), "oracle"}
    assert "llm" in {system.name for system in OURS.systems}
    assert (OURS.purposes, PAPER.purposes) == (False, True)


def test_the_ablations_are_there_with_answers_where_the_paper_has_them() -> None:
    answers = {system.name: system.answers for system in PAPER.systems}
    assert answers["core-t:paper"]
    assert answers["core-t:paper+unadjusted"]
    sweep = [options_of(name.partition(":")[2], 10, 16_384) for name in answers if "+0." in name]
    assert [options.adjust and options.adjust.threshold for options in sweep] == [0.3, 0.7]


def ask(folder: Path, count: int) -> None:
    write(folder / "requests.jsonl", count)


def reply(folder: Path, count: int) -> None:
    write(folder / "responses.jsonl", count)


def write(file: Path, count: int) -> None:
    there = len(file.read_text().splitlines()) if file.exists() else 0
    with file.open("a") as lines:
        lines.writelines(json.dumps({"custom_id": str(there + at)}) + "\n" for at in range(count))


def test_passes_go_on_while_replies_come(tmp_path: Path) -> None:
    """The first pass asks three, the second two more; then nothing is open."""
    script = iter([(3, False), (2, False), (0, True)])

    def one_pass() -> bool:
        count, complete = next(script)
        ask(tmp_path, count)
        return complete

    pauses: list[float] = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        reply(tmp_path, waiting(tmp_path))

    assert passes(one_pass, tmp_path, 100, clock=lambda: 0.0, pause=pause)
    assert (len(pauses), waiting(tmp_path)) == (2, 0)


def test_passes_end_where_no_reply_comes_in_time(tmp_path: Path) -> None:
    ticks = iter(range(1_000))

    def one_pass() -> bool:
        ask(tmp_path, 1)
        return False

    def pause(_: float) -> None:
        return

    assert not passes(one_pass, tmp_path, 3, clock=lambda: float(next(ticks)), pause=pause)
    assert waiting(tmp_path) == 1
    assert not passes(lambda: False, None, 0, clock=lambda: 0.0)


def test_what_is_answered_while_a_pass_runs_makes_another(tmp_path: Path) -> None:
    script = iter([False, False, True])

    def one_pass() -> bool:
        ask(tmp_path, 1)
        reply(tmp_path, 1)
        return next(script)

    assert passes(one_pass, tmp_path, 100, clock=lambda: 0.0, pause=lambda _: None)


def test_a_request_that_is_never_answered_holds_no_pass_up(tmp_path: Path) -> None:
    """One of three is too long for the model; the others are answered at once."""
    ticks = iter(range(10_000))
    script = iter([False, True])

    def one_pass() -> bool:
        ask(tmp_path, 3)
        return next(script)

    def pause(_: float) -> None:
        reply(tmp_path, 0 if (tmp_path / "responses.jsonl").exists() else 2)

    assert passes(one_pass, tmp_path, 5_000, clock=lambda: float(next(ticks)), pause=pause)
    assert next(ticks) < 1_000


def row(retriever: str, **more: object) -> Json:
    return {"retriever": retriever, "k": 10, "f1": 0.5, "pr": 0.5, **more}


def test_a_row_that_lacks_replies_is_listed_and_not_a_figure() -> None:
    measured = Measured()
    sets = [row("dense", questions=200), row("react", questions=150), row("arm", questions=199)]
    measured.take("d", sets, "sets", 200)
    measured.take("d", [row("dense", ex_all=0.1, scored=180, unusable=19)], "SQL", 200)
    measured.take("d", [row("arm", ex_all=0.1, scored=180, unusable=0)], "SQL", 200)
    assert [each["retriever"] for each in measured.rows] == ["dense", "arm", "dense"]
    assert measured.missing == {
        "react@10, sets": "150 of 200 questions have replies",
        "arm@10, SQL": "180 of 200 questions have replies",
    }


@pytest.mark.parametrize(("sample", "share"), [(None, 1), (30, Fraction(1, 4)), (500, 1)])
def test_a_sample_is_a_share_that_the_command_of_a_row_names(
    sample: int | None, share: Fraction, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    chosen = questions_asked(open_dataset("sample"), sample)
    assert chosen.share == share
    assert chosen.options() == (["--share", "1/4", "--seed", "42"] if share != 1 else [])
