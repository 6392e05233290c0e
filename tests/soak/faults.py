"""The faults of tests/faults, at length."""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from tests.faults.bench_runs import killed_runs
from tests.faults.events import BROKEN, FULL, KILL, READ_ONLY
from tests.faults.flips import flips, mendings
from tests.faults.instants import strikes
from tests.faults.place import whole
from tests.soak.figures import Figures, figures

# Cases that a process does in a row, in a folder of its own.
_IN_A_ROW = 21
_FLIPS_IN_A_ROW = 500
_Ended = tuple[Counter[str], list[str]]


def kills(seed: int, count: int, processes: int) -> Figures:
    """Kill -9 before a change to files."""
    return _spread(_killed, seed, count, processes, _IN_A_ROW)


def disks(seed: int, count: int, processes: int) -> Figures:
    """A disk that is full, read-only or broken from one change to files on."""
    return _spread(_refused, seed, count, processes, _IN_A_ROW)


def changed_bytes(seed: int, count: int, processes: int) -> Figures:
    """Bits that are flipped, and noticed."""
    return _spread(_flipped, seed, count, processes, _FLIPS_IN_A_ROW)


def repairs(seed: int, count: int, processes: int) -> Figures:
    """Bits that are flipped, and mended."""
    return _spread(_mended, seed, count, processes, _IN_A_ROW)


def _spread(
    cases: Callable[[int, int, Path], _Ended], seed: int, count: int, processes: int, chunk: int
) -> Figures:
    """The cases of many folders, each with a seed of its own."""
    counts = [min(chunk, count - at) for at in range(0, count, chunk)]
    outcomes: Counter[str] = Counter()
    wrong: list[str] = []
    with ProcessPoolExecutor(processes, max_tasks_per_child=1) as pool:
        seeds = range(seed, seed + len(counts))
        for ended, problems in pool.map(_in_a_folder, [cases] * len(counts), seeds, counts):
            outcomes += ended
            wrong += problems
            print(f"{outcomes.total():>9,} of {count:,}, {len(wrong)} wrong", file=sys.stderr)
    return figures(outcomes, wrong)


def _in_a_folder(cases: Callable[[int, int, Path], _Ended], seed: int, count: int) -> _Ended:
    with tempfile.TemporaryDirectory(prefix="dovetail-soak-") as folder:
        return cases(seed, count, Path(folder).resolve())


def _killed(seed: int, count: int, folder: Path) -> _Ended:
    """A third of them in runs of the evaluation, which take no time."""
    outcomes, wrong = killed_runs(folder / "runs", seed, count // 3)
    struck, more = strikes(folder / "catalogs", seed, count - count // 3, [KILL])
    return outcomes + struck, wrong + more


def _refused(seed: int, count: int, folder: Path) -> _Ended:
    return strikes(folder, seed, count, [FULL, READ_ONLY, BROKEN])


def _flipped(seed: int, count: int, folder: Path) -> _Ended:
    return flips(whole(folder), seed, count)


def _mended(seed: int, count: int, folder: Path) -> _Ended:
    whole(folder)
    return mendings(folder, seed, count)
