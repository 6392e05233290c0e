"""How runs are made: where they are kept, with which settings, how many questions at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from dovetail.offline.summary import ProgressCallback
from dovetail.settings import Settings


@dataclass(frozen=True, slots=True)
class RunConfig:
    """Where runs are kept and how they are made.

    `note` receives what the result does not say, a line at a time. `corpus` is what the user calls
    the dataset; it stands in the command that is kept with each run.
    """

    runs: Path
    settings: Settings
    workers: int = 1
    on_progress: ProgressCallback | None = None
    note: Callable[[str], None] = lambda _: None
    corpus: str = ""
