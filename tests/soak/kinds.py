"""Attacks of the kinds that once succeeded, a hundred variants of each."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.soak.figures import Chunk, Ended, Figures, Wanted, in_chunks
from tests.support.kinds import KINDS, attack

# Variants of all kinds together that are tried in a row.
_CHUNK = 100 * len(KINDS)


def kinds(wanted: Wanted) -> Figures:
    """As many variants of every kind."""
    return in_chunks(_chunk, _CHUNK, wanted)


def _chunk(chunk: Chunk) -> Ended:
    seed, count = chunk
    with tempfile.TemporaryDirectory(prefix="dovetail-soak-") as folder:
        return attack(Path(folder).resolve(), seed, max(1, count // len(KINDS)))
