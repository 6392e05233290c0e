"""Statements of strangers, through the guard and into the engines."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.soak.figures import Chunk, Ended, Figures, Wanted, in_chunks
from tests.support.fuzz import fuzz

_CHUNK = 10_000
_RUN_EVERY = 100


def statements(wanted: Wanted) -> Figures:
    """The guard fuzz, in chunks with a seed each."""
    return in_chunks(_chunk, _CHUNK, wanted)


def _chunk(chunk: Chunk) -> Ended:
    seed, count = chunk
    with tempfile.TemporaryDirectory(prefix="dovetail-soak-") as folder:
        outcomes, wrong = fuzz(Path(folder), seed, count, run_every=_RUN_EVERY)
    return outcomes, [repr(case) for case in wrong]
