"""What is wanted of a part of the soak, and what it comes back with."""

from __future__ import annotations

import math
import os
import platform
import subprocess
import sys
import time
from collections import Counter, deque
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TypedDict

ROOT = Path(__file__).parents[2]
# A chunk of cases has a seed of its own, so that pieces of a soak can be told apart and added.
Chunk = tuple[int, int]
Ended = tuple[Counter[str], list[str]]


class LeftOutError(Exception):
    """A part needs what is not there; says what."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The first seed, how many cases, by how many processes, and when (by the clock that only goes
    on) no more is begun."""

    seed: int
    cases: int
    processes: int = 1
    until: float = math.inf

    @property
    def over(self) -> bool:
        return time.monotonic() >= self.until


class Stamp(TypedDict):
    """What a part was run on: the commit, the day, and the machine."""

    commit: str
    date: str
    machine: str


class Figures(TypedDict, total=False):
    """The number of cases, how often each outcome came, what went wrong, how long it took, what was
    measured beside, the seeds that were tried, each as a first and a last, and what the cases were
    run on, a stamp for each run."""

    cases: int
    outcomes: dict[str, int]
    wrong: list[str]
    seconds: int
    measured: dict[str, str]
    seeds: list[list[int]]
    runs: list[Stamp]


def stamp(commit: str = "") -> Stamp:
    """Of a run that is here and now; the commit is told where there is no repository."""
    return {
        "commit": commit or _commit(),
        "date": datetime.now(UTC).date().isoformat(),
        "machine": f"{os.cpu_count()} cores, {platform.machine()}",
    }


def _commit() -> str:
    """The commit that is checked out, with a plus where files differ from it."""

    def git(*command: str) -> str:
        done = subprocess.run(
            ["git", *command], cwd=ROOT, capture_output=True, text=True, check=False
        )
        return done.stdout.strip()

    with suppress(OSError):
        changed = git("status", "--porcelain", "--untracked-files=no", "--", "src", "tests")
        if found := git("rev-parse", "--short=8", "HEAD"):
            return found + ("+" if changed else "")
    return "unknown"


def figures(outcomes: Counter[str], wrong: list[str]) -> Figures:
    """The figures of cases that were counted by their outcomes."""
    return {
        "cases": outcomes.total(),
        "outcomes": dict(outcomes.most_common()),
        "wrong": wrong,
    }


def together(one: Figures, other: Figures) -> Figures:
    """The figures of two runs of a part, of different seeds; measured values stand side by side.

    >>> one, other = figures(Counter(a=2), []), figures(Counter(a=1, b=1), ["b"])
    >>> one["seconds"] = other["seconds"] = 1
    >>> one["seeds"], other["seeds"] = [[1, 2]], [[3, 3]]
    >>> together(one, other)["outcomes"], together(one, other)["seeds"]
    ({'a': 3, 'b': 1}, [[1, 2], [3, 3]])
    >>> together(one, one)
    Traceback (most recent call last):
        ...
    ValueError: seeds 1 to 2 were tried already
    """
    seeds = one.get("seeds", [])
    for first, last in other.get("seeds", []):
        if any(first <= end and last >= begin for begin, end in seeds):
            raise ValueError(f"seeds {first} to {last} were tried already")
    both = figures(Counter(one["outcomes"]) + Counter(other["outcomes"]), [])
    both["cases"] = one["cases"] + other["cases"]
    both["wrong"] = one["wrong"] + other["wrong"]
    both["seconds"] = one["seconds"] + other["seconds"]
    both["seeds"] = sorted([*seeds, *other.get("seeds", [])])
    runs = [*one.get("runs", []), *other.get("runs", [])]
    both["runs"] = [run for number, run in enumerate(runs) if run not in runs[:number]]
    measured = dict(one.get("measured", {}))
    for what, value in other.get("measured", {}).items():
        before = measured.get(what, value)
        measured[what] = value if before == value else f"{before}; {value}"
    if measured:
        both["measured"] = measured
    return both


def in_chunks(
    chunk: Callable[[Chunk], Ended], size: int, wanted: Wanted, *, fresh: bool = False
) -> Figures:
    """The figures of as many cases as wished, tried in chunks, in the order of their seeds; a
    process of its own for each, if they want a fresh one."""
    sizes = [min(size, wanted.cases - at) for at in range(0, wanted.cases, size)]
    outcomes: Counter[str] = Counter()
    wrong: list[str] = []
    running: deque[Future[Ended]] = deque()
    done = 0
    with ProcessPoolExecutor(wanted.processes, max_tasks_per_child=1 if fresh else None) as pool:
        while True:
            while len(running) <= wanted.processes and (at := done + len(running)) < len(sizes):
                if wanted.over:
                    break
                running.append(pool.submit(chunk, (wanted.seed + at, sizes[at])))
            if not running:
                break
            ended, cases = running.popleft().result()
            done, outcomes, wrong = done + 1, outcomes + ended, wrong + cases
            counted = f"{outcomes.total():>9,} of {wanted.cases:,}"
            print(f"{counted}, {len(wrong)} wrong", file=sys.stderr, flush=True)
    found = figures(outcomes, wrong)
    found["seeds"] = [[wanted.seed, wanted.seed + done - 1]] if done else []
    return found
