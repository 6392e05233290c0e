"""Hours of hostile input: does anything leak, hang or end in a traceback?

    dovetail bench run soak [--cases 500000] [--seed 1] [--processes 2] [--part NAME] [--json]

Statements go through the guard, and one in a hundred of them on into the engines. A canary in a
table beside the set, one in a file and one in an environment variable must never be seen. Catalogs
are tampered with, one for every 250 statements, and then opened, searched, asked and updated: no
file of the user's may change, and no error but ours may come of it.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from pathlib import Path
from typing import Any

from tests.support import tampering
from tests.support.fuzz import fuzz

_CHUNK = 10_000
_RUN_EVERY = 100
_STATEMENTS_PER_CATALOG = 250
# What a tampered catalog may take; a pipe in it would make a reader wait for ever.
_MOST_SECONDS = 120


def statements(seed: int, count: int, processes: int) -> dict[str, Any]:
    """The guard fuzz, in chunks with a seed each."""
    chunks = [(seed + at, min(_CHUNK, count - at * _CHUNK)) for at in range(-(-count // _CHUNK))]
    outcomes: Counter[str] = Counter()
    wrong: list[str] = []
    with ProcessPoolExecutor(processes) as pool:
        for found, cases in pool.map(_chunk, chunks):
            outcomes += found
            wrong += [repr(case) for case in cases]
            print(f"{outcomes.total():>9,} of {count:,}, {len(wrong)} wrong", file=sys.stderr)
    return {"cases": outcomes.total(), "outcomes": dict(outcomes.most_common()), "wrong": wrong}


def _chunk(chunk: tuple[int, int]) -> tuple[Counter[str], list[Any]]:
    seed, count = chunk
    with tempfile.TemporaryDirectory(prefix="dovetail-soak-") as folder:
        outcomes, wrong = fuzz(Path(folder), seed, count, run_every=_RUN_EVERY)
    return outcomes, list(wrong)


def catalogs(seed: int, count: int, processes: int) -> dict[str, Any]:
    """Tampered catalogs, each used as a user would."""
    wanted = max(count // _STATEMENTS_PER_CATALOG, 1)
    outcomes: Counter[str] = Counter()
    wrong: list[str] = []
    with (
        tempfile.TemporaryDirectory(prefix="dovetail-soak-") as folder,
        ProcessPoolExecutor(processes) as pool,
    ):
        tampering.build(Path(folder))
        seeds = range(seed, seed + wanted)
        for number, (done, found) in enumerate(pool.map(_tampered, repeat(folder), seeds), 1):
            outcomes[done[0].partition(" ")[0] if done else "nothing"] += 1
            wrong += [f"{', '.join(done)}: {found}"] if found else []
            if number % 100 == 0:
                print(f"{number:>9,} of {wanted:,} catalogs", file=sys.stderr)
    return {"cases": outcomes.total(), "outcomes": dict(outcomes.most_common()), "wrong": wrong}


def _tampered(whole: str, seed: int) -> tuple[list[str], str]:
    signal.signal(signal.SIGALRM, _hangs)
    signal.alarm(_MOST_SECONDS)
    try:
        with tempfile.TemporaryDirectory(prefix="dovetail-soak-") as place:
            return tampering.harm(Path(whole), Path(place), seed)
    finally:
        signal.alarm(0)


def _hangs(*_: object) -> None:
    raise TimeoutError(f"not done after {_MOST_SECONDS} seconds")


# Every part takes a seed, a number of cases and a number of processes, and returns its figures
# with a list of what went `wrong`.
PARTS: dict[str, Callable[[int, int, int], dict[str, Any]]] = {
    "statements": statements,
    "catalogs": catalogs,
}


def main() -> None:
    """Run every part; the exit code says whether anything went wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=500_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--part", choices=PARTS, help="one part alone")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    figures = {
        name: part(given.seed, given.cases, given.processes)
        for name, part in PARTS.items()
        if given.part in (None, name)
    }
    if given.json:
        print(json.dumps(figures))
    else:
        for name, found in figures.items():
            print(f"{name}: {found['cases']:,} cases, {len(found['wrong'])} wrong")
            for outcome, times in found["outcomes"].items():
                print(f"  {times:>9,}  {outcome}")
            for case in found["wrong"][:20]:
                print(f"  wrong: {case}")
    sys.exit(any(found["wrong"] for found in figures.values()))


if __name__ == "__main__":
    main()
