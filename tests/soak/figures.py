"""What a part of the soak comes back with."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import TypedDict


class Figures(TypedDict, total=False):
    """The number of cases, how often each outcome came, what went wrong, how long it took, and
    what was measured beside."""

    cases: int
    outcomes: dict[str, int]
    wrong: list[str]
    seconds: int
    measured: dict[str, str]


def figures(outcomes: Counter[str], wrong: list[str]) -> Figures:
    """The figures of cases that were counted by their outcomes."""
    return {
        "cases": outcomes.total(),
        "outcomes": dict(outcomes.most_common()),
        "wrong": wrong,
    }


def together(one: Figures, other: Figures) -> Figures:
    """The figures of two runs of a part, of different seeds; what was measured is the last's."""
    found = figures(Counter(one["outcomes"]) + Counter(other["outcomes"]), [])
    found["wrong"] = one["wrong"] + other["wrong"]
    found["seconds"] = one["seconds"] + other["seconds"]
    if "measured" in other:
        found["measured"] = other["measured"]
    return found


def in_chunks(
    chunk: Callable[[tuple[int, int]], tuple[Counter[str], list[str]]],
    size: int,
    seed: int,
    count: int,
    processes: int,
) -> Figures:
    """The figures of as many cases as wished, tried in chunks, each with a seed and a process."""
    chunks = [(seed + at, min(size, count - at * size)) for at in range(-(-count // size))]
    outcomes: Counter[str] = Counter()
    wrong: list[str] = []
    with ProcessPoolExecutor(processes) as pool:
        for found, cases in pool.map(chunk, chunks):
            outcomes += found
            wrong += cases
            print(f"{outcomes.total():>9,} of {count:,}, {len(wrong)} wrong", file=sys.stderr)
    return figures(outcomes, wrong)
