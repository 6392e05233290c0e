"""Catalogs that somebody tampered with, each used as a user would."""

from __future__ import annotations

import signal
import tempfile
from collections import Counter
from functools import partial
from pathlib import Path

from tests.soak.figures import Chunk, Ended, Figures, Wanted, in_chunks
from tests.support import tampering

# What a tampered catalog may take; a pipe in it would make a reader wait for ever.
_MOST_SECONDS = 120


def catalogs(wanted: Wanted) -> Figures:
    """Tampered catalogs, each used as a user would."""
    with tempfile.TemporaryDirectory(prefix="dovetail-soak-") as folder:
        tampering.build(Path(folder))
        return in_chunks(partial(_tampered, folder), 1, wanted)


def _tampered(whole: str, chunk: Chunk) -> Ended:
    signal.signal(signal.SIGALRM, _hangs)
    signal.alarm(_MOST_SECONDS)
    try:
        with tempfile.TemporaryDirectory(prefix="dovetail-soak-") as place:
            done, problem = tampering.harm(Path(whole), Path(place), chunk[0])
    finally:
        signal.alarm(0)
    outcome = done[0].partition(" ")[0] if done else "nothing"
    return Counter([outcome]), [f"{', '.join(done)}: {problem}"] if problem else []


def _hangs(*_: object) -> None:
    raise TimeoutError(f"not done after {_MOST_SECONDS} seconds")
