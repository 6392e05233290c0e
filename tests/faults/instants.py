"""Actions with a fault before one of their changes to files: nothing is lost, doubled or left."""

from __future__ import annotations

import random
import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from dovetail.offline.repair import check
from tests.faults import place
from tests.faults.events import (
    BROKEN,
    DONE,
    FULL,
    KILL,
    READ_ONLY,
    REFUSED,
    SIGNALS,
    counted,
    faulty,
    import_for,
    in_process,
)

FAULTS = (KILL, FULL, READ_ONLY, BROKEN)


class Actions:
    """Folders in which every action is about to be done, and what each is to lead to.

    All happens in one folder, as a catalog knows where its sources are; copies of it stand beside.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self._here = folder, folder / "here"
        self._about: dict[str, tuple[str, str, int]] = {}
        import_for(partial(_all_there_is, folder / "imports"))

    def about(self, action: str) -> tuple[str, str, int]:
        """The states before and after an action, and how many changes it makes to files."""
        if action not in self._about:
            shutil.rmtree(self._here, ignore_errors=True)
            _sure(partial(place.prepare, self._here, action))
            shutil.copytree(self._here, self._folder / action)
            old = _sure(partial(place.state, self._here))
            changes = counted(partial(place.ACTIONS[action], self._here), self._here)
            self._about[action] = old, _sure(partial(place.state, self._here)), changes
        return self._about[action]

    def strike(self, action: str, fault: str, at: int) -> str:
        """Do an action with a fault, then look, then do it again; returns what went wrong."""
        old, new, _ = self.about(action)
        here, step = self._here, partial(place.ACTIONS[action], self._here)
        shutil.rmtree(here, ignore_errors=True)
        shutil.copytree(self._folder / action, here)
        if fault in SIGNALS:
            ended, told = faulty(partial(place.command, here, action), here, at, fault)
            if ended != DONE or told != _said(action, fault):
                return f"it ended as {ended}: {told}"
        else:
            ended, told = faulty(step, here, at, fault)
        if ended not in (fault, DONE, REFUSED) or (ended == REFUSED and "\n" in told):
            return f"it ended as {ended}: {told}"
        found = _sure(partial(place.state, here))
        damaged = action == "repair" and found.startswith("error: ")
        if found not in (old, new) and not damaged:
            return f"neither the old state nor the new: {found}"
        if found != new or action == "repair":
            ended, told = in_process(step)
            if ended != DONE:
                return f"done again, it ended as {ended}: {told}"
            if (found := _sure(partial(place.state, here))) != new:
                return f"done again, it is not the new state: {found}"
            left = [*(here / "catalog/staging").iterdir(), *(here / "catalog").glob(".*")]
            if left and action != "repair":  # which does nothing more where nothing is damaged
                return f"left behind: {left}"
        return _sure(lambda: "; ".join(map(str, check(here / "catalog"))))


def strikes(
    folder: Path, seed: int, count: int, faults: Sequence[str]
) -> tuple[Counter[str], list[str]]:
    """Faults at instants that a seed chooses; how many of each there were, and what went wrong."""
    draw, actions = random.Random(seed), Actions(folder)
    outcomes: Counter[str] = Counter()
    wrong: list[str] = []
    names = list(place.COMMANDS if SIGNALS.keys() >= set(faults) else place.ACTIONS)
    for number in range(count):
        action = names[number % len(names)]
        fault = faults[number // len(names) % len(faults)]
        at = draw.randint(1, actions.about(action)[2])
        problem = actions.strike(action, fault, at)
        outcomes[f"{fault} during {action}"] += 1
        wrong += [f"{fault} before change {at} of {action}: {problem}"] if problem else []
    return outcomes, wrong


def _said(action: str, fault: str) -> str:
    """The exit code of a command that a signal ends, and what it says."""
    code, told = {"SIGINT": (130, "interrupted"), "SIGTERM": (143, "ended by SIGTERM")}[fault]
    reads = place.COMMANDS[action][0] == "index"
    kept = "; finished tables are kept for the next run" if reads else ""
    return f"{code} dovetail: {told}{kept}\n"


def _all_there_is(folder: Path) -> None:
    place.prepare(folder, "update")
    place.state(folder)


def _sure(step: Callable[[], object]) -> str:
    """What a step returns, which must go well."""
    ended, told = in_process(step)
    if ended != DONE:
        raise AssertionError(told)
    return told
