"""The faults of tests/faults, at length."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from tests.faults.bench_runs import killed_runs
from tests.faults.events import BROKEN, FULL, KILL, READ_ONLY, SIGNALS
from tests.faults.flips import flips, mendings
from tests.faults.instants import strikes
from tests.faults.place import whole
from tests.soak.figures import Chunk, Ended, Figures, Wanted, in_chunks

# Cases that a process does in a row, in a folder of its own.
_IN_A_ROW = 21
_SIGNALS_IN_A_ROW = 10
_FLIPS_IN_A_ROW = 500


def kills(wanted: Wanted) -> Figures:
    """Kill -9 before a change to files."""
    return _in_folders(_killed, wanted, _IN_A_ROW)


def signals(wanted: Wanted) -> Figures:
    """SIGTERM or SIGINT before a change to files."""
    return _in_folders(_ended, wanted, _SIGNALS_IN_A_ROW)


def disks(wanted: Wanted) -> Figures:
    """A disk that is full, read-only or broken from one change to files on."""
    return _in_folders(_refused, wanted, _IN_A_ROW)


def changed_bytes(wanted: Wanted) -> Figures:
    """Bits that are flipped, and noticed."""
    return _in_folders(_flipped, wanted, _FLIPS_IN_A_ROW)


def repairs(wanted: Wanted) -> Figures:
    """Bits that are flipped, and mended."""
    return _in_folders(_mended, wanted, _IN_A_ROW)


def _in_folders(cases: Callable[[int, int, Path], Ended], wanted: Wanted, size: int) -> Figures:
    return in_chunks(partial(_in_a_folder, cases), size, wanted, fresh=True)


def _in_a_folder(cases: Callable[[int, int, Path], Ended], chunk: Chunk) -> Ended:
    with tempfile.TemporaryDirectory(prefix="dovetail-soak-") as folder:
        return cases(*chunk, Path(folder).resolve())


def _killed(seed: int, count: int, folder: Path) -> Ended:
    """A third of them in runs of the evaluation, which take no time."""
    outcomes, wrong = killed_runs(folder / "runs", seed, count // 3)
    struck, more = strikes(folder / "catalogs", seed, count - count // 3, [KILL])
    return outcomes + struck, wrong + more


def _ended(seed: int, count: int, folder: Path) -> Ended:
    return strikes(folder, seed, count, list(SIGNALS))


def _refused(seed: int, count: int, folder: Path) -> Ended:
    return strikes(folder, seed, count, [FULL, READ_ONLY, BROKEN])


def _flipped(seed: int, count: int, folder: Path) -> Ended:
    return flips(whole(folder), seed, count)


def _mended(seed: int, count: int, folder: Path) -> Ended:
    whole(folder)
    return mendings(folder, seed, count)
