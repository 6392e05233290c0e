"""Statements of strangers, through the guard and into the engines."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path

from tests.soak.figures import Figures, in_chunks
from tests.support.fuzz import fuzz

_CHUNK = 10_000
_RUN_EVERY = 100


def statements(seed: int, count: int, processes: int) -> Figures:
    """The guard fuzz, in chunks with a seed each."""
    return in_chunks(_chunk, _CHUNK, seed, count, processes)


def _chunk(chunk: tuple[int, int]) -> tuple[Counter[str], list[str]]:
    seed, count = chunk
    with tempfile.TemporaryDirectory(prefix="dovetail-soak-") as folder:
        outcomes, wrong = fuzz(Path(folder), seed, count, run_every=_RUN_EVERY)
    return outcomes, [repr(case) for case in wrong]
