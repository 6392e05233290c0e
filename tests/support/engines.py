"""Engines for tests: one that loses every job, and one that does them in this process."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dovetail.engines.local import LocalEngine
from dovetail.engines.passes import UNABLE, Workers
from dovetail.ports import Json, Replies, Reply, Tick


class LosingEngine:
    """Every worker of this engine dies, or is unable to do its job."""

    def __init__(self, *, unable: bool = False) -> None:
        self.unable = unable
        self.jobs = 0

    def map(self, task: str, jobs: Sequence[Json], into: Path, tick: Tick) -> Replies:
        del task, into, tick
        for number in range(len(jobs)):
            self.jobs += 1
            yield Reply(number, UNABLE) if self.unable else Reply(number, {}, lost="it died")


class CountingEngine:
    """Does the jobs in this process, last one first, and counts those of each task."""

    def __init__(self) -> None:
        self.done: dict[str, int] = {}

    def map(self, task: str, jobs: Sequence[Json], into: Path, tick: Tick) -> Replies:
        last = len(jobs) - 1
        for reply in LocalEngine(workers=1).map(task, jobs[::-1], into / "reversed", tick):
            (into / "reversed" / str(reply.job)).rename(into / str(last - reply.job))
            name = jobs[last - reply.job].get("pass", task).partition(":")[2]
            self.done[name] = self.done.get(name, 0) + 1
            yield Reply(last - reply.job, reply.result)


def counting() -> tuple[CountingEngine, Workers]:
    """An engine that counts, and workers on it."""
    engine = CountingEngine()
    return engine, Workers(engine)
