"""Texts made from good ones, into every parser of outside input."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path

from tests.soak.figures import Figures, in_chunks
from tests.support.parsers import fuzz
from tests.support.parsers import parsers as all_parsers

_CHUNK = 25_000


def parsers(seed: int, count: int, processes: int) -> Figures:
    """Cases in chunks with a seed each."""
    return in_chunks(_chunk, _CHUNK, seed, count, processes)


def _chunk(chunk: tuple[int, int]) -> tuple[Counter[str], list[str]]:
    with tempfile.TemporaryDirectory(prefix="dovetail-soak-") as folder:
        return fuzz(all_parsers(Path(folder)), *chunk)
