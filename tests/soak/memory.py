"""A real pile indexed under lower and lower ceilings of memory: what is held, and what gives way."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter
from pathlib import Path

import dovetail
from tests.soak.figures import ROOT, Figures, Wanted, figures

# The settings that are tried, in megabytes, and what a ceiling of the system's own is set to: the
# address space (`ulimit -v`), in which everything counts that is mapped, read-only files as well.
CEILINGS = (4096, 1024, 512, 256, 128, 96, 64, 48, 32, 16)
_PILE = "telecom"
_REFUSED = "needs more memory than the setting index_memory_mb"
_MAPPED = 3 << 30


def memory(wanted: Wanted) -> Figures:
    """As many ceilings as wished, the usual one first, and a ceiling that the system sets."""
    outcomes: Counter[str] = Counter()
    wrong: list[str] = []
    told: list[str] = []
    with tempfile.TemporaryDirectory(prefix="dovetail-soak-") as place:
        folder = Path(place)
        pile = _unpacked(folder)
        whole: list[str] = []
        for ceiling in CEILINGS[: wanted.cases]:
            if wanted.over:
                break
            held, how = _index(pile, folder / str(ceiling), ceiling)
            found = _joins(folder / str(ceiling)) if how == "whole" else []
            whole = whole or found
            how = "whole, fewer joins" if how == "whole" and found != whole else how
            outcomes[how] += 1
            wrong += [f"{ceiling} MB: {how}"] if how.startswith("wrong") else []
            same = len(set(whole) & set(found))
            joins = f", {same} of {len(whole)} joins" if found else ""
            told.append(f"{ceiling} MB: {how}{joins}, held {held} MB")
    found_figures = figures(outcomes, wrong)
    found_figures["measured"] = {f"pile {_PILE}, ceiling": "; ".join(told)}
    return found_figures


def _unpacked(folder: Path) -> Path:
    """The tables of a company, made from what is kept of it."""
    with tarfile.open(ROOT / "bench" / "piles" / f"{_PILE}.tar.xz") as packed:
        packed.extractall(folder, filter="data")
    made = folder / _PILE
    program = [sys.executable, str(made / "gen.py"), str(made / "pile"), _PILE]
    subprocess.run(program, check=True, capture_output=True)
    return made / "pile"


def _index(pile: Path, into: Path, ceiling: int) -> tuple[int, str]:
    """Index in a process; returns the megabytes that it held at most, and how it ended."""
    environ = {**os.environ, "DOVETAIL_INDEX_MEMORY_MB": str(ceiling), "DOVETAIL_WORKERS": "1"}
    command = [sys.executable, "-m", "dovetail", "index", str(pile), "-C", str(into), "--quiet"]
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(command, env=environ, stdout=subprocess.DEVNULL, stderr=errors)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        errors.seek(0)
        told = errors.read().decode()
    held = used.ru_maxrss >> 10
    if process.returncode == 0:
        return held, "whole"
    if process.returncode == 1 and told.count("\n") == 1 and _REFUSED in told:
        return held, "one error that names the setting"
    return held, f"wrong: {process.returncode} {told[:300]}"


def _joins(into: Path) -> list[str]:
    catalog = dovetail.open(into, dovetail.Settings(embedder="none"))
    return [repr(edge) for edge in catalog.joins()]
