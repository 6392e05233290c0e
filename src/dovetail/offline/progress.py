"""Progress: how far a run has come, told to a callback while it works."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a run stands: its stage, how much of that is done, and what it is working on."""

    phase: str
    done: int
    total: int
    detail: str = ""


ProgressCallback = Callable[[Progress], None]
