"""What an update did, and how long each of its stages took."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from dovetail.catalog.reader import CatalogReader
from dovetail.domain import Skipped, TableId
from dovetail.offline.purpose import PurposeSummary


@dataclass(frozen=True, slots=True)
class StageTime:
    """How long a stage took: seconds on the clock, and CPU seconds of all its processes.

    The CPU seconds of a Ray cluster's nodes are not counted.
    """

    stage: str
    seconds: float
    cpu_seconds: float


@dataclass(frozen=True, slots=True)
class UpdateSummary:
    """What an update did, with the catalog it led to.

    `retained` are tables that could not be read and stay as they were. `note` says what search has
    to go without, if anything. `purposes` is there if a language model was asked for them.
    `redeclared` are tables with the same contents, whose keys or comments are others than before.
    `notices` are lines for the user: declared keys that a source did not tell, and what of a dbt
    project was used, and what could not be.
    """

    catalog: CatalogReader
    added: tuple[TableId, ...]
    changed: tuple[TableId, ...]
    dropped: tuple[TableId, ...]
    retained: tuple[TableId, ...]
    unchanged: int
    skipped: tuple[Skipped, ...]
    note: str = ""
    purposes: PurposeSummary | None = None
    stages: tuple[StageTime, ...] = ()
    redeclared: tuple[TableId, ...] = ()
    notices: tuple[str, ...] = ()

    @property
    def seconds(self) -> float:
        """The seconds of all stages."""
        return sum(stage.seconds for stage in self.stages)


class StageClock:
    """Times the stages of an update, one after another."""

    def __init__(self) -> None:
        self.times: list[StageTime] = []

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time what happens inside as one stage."""
        began, spent = time.perf_counter(), _cpu_seconds()
        yield
        seconds = time.perf_counter() - began
        self.times.append(StageTime(name, seconds, _cpu_seconds() - spent))


def _cpu_seconds() -> float:
    """The CPU seconds of this process and of those it started and saw end."""
    return sum(os.times()[:4])
