"""Catalogs that somebody tampered with, each used as a user would."""

from __future__ import annotations

import signal
import sys
import tempfile
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from pathlib import Path

from tests.soak.figures import Figures, figures
from tests.support import tampering

# What a tampered catalog may take; a pipe in it would make a reader wait for ever.
_MOST_SECONDS = 120


def catalogs(seed: int, count: int, processes: int) -> Figures:
    """Tampered catalogs, each used as a user would."""
    outcomes: Counter[str] = Counter()
    wrong: list[str] = []
    with (
        tempfile.TemporaryDirectory(prefix="dovetail-soak-") as folder,
        ProcessPoolExecutor(processes) as pool,
    ):
        tampering.build(Path(folder))
        seeds = range(seed, seed + count)
        for number, (done, found) in enumerate(pool.map(_tampered, repeat(folder), seeds), 1):
            outcomes[done[0].partition(" ")[0] if done else "nothing"] += 1
            wrong += [f"{', '.join(done)}: {found}"] if found else []
            if number % 100 == 0:
                print(f"{number:>9,} of {count:,} catalogs", file=sys.stderr)
    return figures(outcomes, wrong)


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
