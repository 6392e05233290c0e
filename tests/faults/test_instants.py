"""Killed, or out of disk, before a change to files: the old state or the new, and then the new."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults import place
from tests.faults.bench_runs import killed_runs
from tests.faults.events import FULL, KILL, SIGNALS, in_process
from tests.faults.instants import Actions, strikes


@pytest.mark.slow
def test_actions_struck_at_instants_that_a_seed_chooses(tmp_path: Path) -> None:
    outcomes, wrong = strikes(tmp_path, seed=1, count=2 * len(place.ACTIONS), faults=[KILL, FULL])
    assert wrong == []
    assert {name.partition(" during ")[2] for name in outcomes} == place.ACTIONS.keys()


@pytest.mark.slow
def test_commands_that_a_signal_ends_say_so_and_leave_the_catalog_whole(tmp_path: Path) -> None:
    count = 2 * len(place.COMMANDS)
    outcomes, wrong = strikes(tmp_path, seed=1, count=count, faults=list(SIGNALS))
    assert wrong == []
    assert outcomes.total() == count


def test_runs_of_the_evaluation_that_are_killed_lose_and_double_nothing(tmp_path: Path) -> None:
    outcomes, wrong = killed_runs(tmp_path / "runs", seed=1, count=12)
    assert wrong == []
    assert outcomes == {"kill during bench": 12}


@pytest.mark.parametrize("action", ["note", "repair"])
def test_killed_at_the_first_and_the_last_instant(action: str, tmp_path: Path) -> None:
    actions = Actions(tmp_path)
    for at in (1, actions.about(action)[2]):
        assert actions.strike(action, KILL, at) == ""


def test_a_step_that_fails_is_told() -> None:
    assert in_process(lambda: 1 / 0)[0] == "wrong"
