"""Hostile names, by every way out."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path

from tests.soak.figures import Figures, in_chunks
from tests.support.hostile_names import Attack
from tests.support.hostile_names import names as hostile_names

_CHUNK = 40


def names(seed: int, count: int, processes: int) -> Figures:
    """Names in chunks with a seed each; every chunk is a folder of sources and a catalog."""
    done = in_chunks(_chunk, _CHUNK, seed, count, processes)
    return {**done, "cases": count}


def _chunk(chunk: tuple[int, int]) -> tuple[Counter[str], list[str]]:
    with tempfile.TemporaryDirectory(prefix="dovetail-soak-") as folder:
        return Attack(Path(folder) / "here", hostile_names(*chunk)).run()
