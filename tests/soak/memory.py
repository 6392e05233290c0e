"""A real pile indexed under lower and lower ceilings of memory: what is held, and how it ends."""

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

# Settings in megabytes: the first is the usual one, the last the lowest there is.
CEILINGS = (4096, 2048, 1024, 512, 384, 256)
_PILE = "telecom"
_INDEXED, _TOLD = "indexed", "one error that names the setting"
_REFUSED = "needs more memory than the setting index_memory_mb"


def memory(wanted: Wanted) -> Figures:
    """As many ceilings as wished, the usual one first."""
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
            joins = _joins(folder / str(ceiling)) if how == _INDEXED else []
            whole = whole or joins
            if how == _INDEXED and joins != whole:
                how = f"{_INDEXED}, other joins"
            outcomes[how] += 1
            wrong += [f"{ceiling} MB: {how}"] if how not in (_INDEXED, _TOLD) else []
            told.append(f"{ceiling} MB: {how}, {held} MB held")
    done = figures(outcomes, wrong)
    done["measured"] = {f"the pile {_PILE} ({len(whole)} joins) under": "; ".join(told)}
    return done


def _unpacked(folder: Path) -> Path:
    """The tables of a company, made from what is kept of it."""
    with tarfile.open(ROOT / "bench" / "piles" / f"{_PILE}.tar.xz") as packed:
        packed.extractall(folder, filter="data")
    made = folder / _PILE
    program = [sys.executable, str(made / "gen.py"), str(made / "pile"), str(made)]
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
        return held, _INDEXED
    if process.returncode == 1 and told.count("\n") == 1 and _REFUSED in told:
        return held, _TOLD
    return held, f"ended with {process.returncode}: {told[:300]}"


def _joins(into: Path) -> list[str]:
    catalog = dovetail.open(into, dovetail.Settings(embedder="none"))
    return [repr(edge) for edge in catalog.joins()]
