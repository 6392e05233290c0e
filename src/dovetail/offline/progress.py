"""Progress: how far a run has come, told to a callback while it works."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a run stands: its stage, how much of that is done, and what it is working on.

    >>> progress = Progress("read", done=3, total=8, detail="orders")
    >>> f"{progress.phase}: {progress.done} of {progress.total}"
    'read: 3 of 8'
    """

    phase: str
    done: int
    total: int
    detail: str = ""


ProgressCallback = Callable[[Progress], None]
