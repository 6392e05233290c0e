"""Attacks of the kinds that once succeeded, a hundred variants of each."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.soak.figures import Figures, figures
from tests.support.kinds import KINDS, attack


def kinds(seed: int, count: int, processes: int) -> Figures:
    """As many variants of every kind."""
    del processes
    with tempfile.TemporaryDirectory(prefix="dovetail-soak-") as folder:
        return figures(*attack(Path(folder).resolve(), seed, max(1, count // len(KINDS))))
