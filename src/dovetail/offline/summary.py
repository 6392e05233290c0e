"""What an update tells its caller: how far it has come, and in the end what it did."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar, cast

from dovetail.domain import Skipped, TableId
from dovetail.telemetry import traced
from dovetail.text import count


class InFolder(Protocol):
    """A catalog, by its reader or ready to be asked: it is in a folder."""

    @property
    def folder(self) -> Path:
        """Where it is."""

    def __len__(self) -> int:
        """How many tables it has."""


Opened = TypeVar("Opened", bound=InFolder)
Other = TypeVar("Other", bound=InFolder)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run has come: its stage, how much of that is done, and what it is working on.

    >>> progress = Progress("read", done=3, total=8, detail="orders")
    >>> f"{progress.phase}: {progress.done} of {progress.total}"
    'read: 3 of 8'
    """

    phase: str
    done: int
    total: int
    detail: str = ""


ProgressCallback = Callable[[Progress], None]


@dataclass(frozen=True, slots=True)
class StageTime:
    """How long a stage took: seconds on the clock, and CPU seconds of all its processes.

    The CPU seconds of a Ray cluster's nodes are not counted.
    """

    stage: str
    seconds: float
    cpu_seconds: float


@dataclass(frozen=True, slots=True)
class DescribeSummary:
    """How many logical tables a language model described, and what that cost.

    `reused` counts the tables that it had described already, `pending` those that wait for a reply,
    `dropped` what it said of tables that it was not asked about. `cost` leaves out replies that
    were read from a cache.
    """

    model: str
    written: int = 0
    reused: int = 0
    pending: int = 0
    dropped: int = 0
    failed: tuple[Skipped, ...] = ()
    requests: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float = 0.0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, repr=False)
class UpdateSummary(Generic[Opened]):
    """What an update did, with the catalog ready to be asked.

    `added`, `changed` and `dropped` are ids of tables; `retained` are tables that could not be
    read now and stay as they were; `unchanged` counts the rest. `skipped` says what could not be
    read and why, and `note` what search has to go without, if anything. `descriptions` is there if
    a language model was asked for them; `stages` has the seconds of each stage. `redeclared` are
    tables with the same contents, whose declared keys or comments are others than before, and
    `notices` lines on keys that a source did not tell, and on what of a dbt project was used.
    `masked` counts the columns in which something is not shown, by what it is. `remade` are parts
    of the catalog that were made again, such as joins that an earlier version scored.

    >>> import dovetail
    >>> summary = dovetail.update(["shop.sqlite"], into="shop")
    >>> summary
    <UpdateSummary shop: 6 tables added>
    >>> summary.skipped, len(summary.catalog)
    ((), 6)
    """

    catalog: Opened
    added: tuple[TableId, ...] = ()
    changed: tuple[TableId, ...] = ()
    dropped: tuple[TableId, ...] = ()
    retained: tuple[TableId, ...] = ()
    unchanged: int = 0
    skipped: tuple[Skipped, ...] = ()
    note: str = ""
    descriptions: DescribeSummary | None = None
    stages: tuple[StageTime, ...] = ()
    redeclared: tuple[TableId, ...] = ()
    notices: tuple[str, ...] = ()
    masked: Mapping[str, int] = field(default_factory=dict)
    remade: tuple[str, ...] = ()

    def over(self, catalog: Other) -> UpdateSummary[Other]:
        """The same summary with the catalog as its caller has it."""
        return cast("UpdateSummary[Other]", replace(cast("Any", self), catalog=catalog))

    @property
    def seconds(self) -> float:
        """The seconds of all stages."""
        return sum(stage.seconds for stage in self.stages)

    def to_dict(self) -> dict[str, Any]:
        """The summary as JSON has it: what `dovetail index --json` prints."""
        ids = ("added", "changed", "dropped", "retained", "redeclared")
        stages = [
            {
                "stage": each.stage,
                "seconds": round(each.seconds, 3),
                "cpu_seconds": round(each.cpu_seconds, 3),
            }
            for each in self.stages
        ]
        return {
            "catalog": str(self.catalog.folder),
            "tables": len(self.catalog),
            **{name: [str(table) for table in getattr(self, name)] for name in ids},
            "unchanged": self.unchanged,
            "skipped": [asdict(skip) for skip in self.skipped],
            "note": self.note,
            "notices": list(self.notices),
            "masked": dict(self.masked),
            "remade": list(self.remade),
            "seconds": round(self.seconds, 3),
            "stages": stages,
            **({"descriptions": asdict(self.descriptions)} if self.descriptions else {}),
        }

    def __repr__(self) -> str:
        counts = {
            "added": len(self.added),
            "changed": len(self.changed),
            "dropped": len(self.dropped),
            "retained": len(self.retained),
            "unchanged": self.unchanged,
        }
        parts = [f"{count(number, 'table')} {what}" for what, number in counts.items() if number]
        parts += [f"{len(self.skipped)} skipped"] if self.skipped else []
        return f"<UpdateSummary {self.catalog.folder}: {', '.join(parts) or 'no tables'}>"


class StageClock:
    """Times the stages of an update; one that is run again takes longer."""

    def __init__(self) -> None:
        self._times: dict[str, StageTime] = {}

    @property
    def times(self) -> tuple[StageTime, ...]:
        """The times of the stages so far, in the order in which they were first begun."""
        return tuple(self._times.values())

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time what happens inside as one stage."""
        began, spent = time.perf_counter(), _cpu_seconds()
        with traced(f"index.{name}"):
            yield
        seconds, cpu_seconds = time.perf_counter() - began, _cpu_seconds() - spent
        before = self._times.get(name, StageTime(name, 0.0, 0.0))
        self._times[name] = StageTime(
            name, before.seconds + seconds, before.cpu_seconds + cpu_seconds
        )


def _cpu_seconds() -> float:
    """The CPU seconds of this process and of those it started and saw end."""
    return sum(os.times()[:4])
