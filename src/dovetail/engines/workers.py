"""The workers of an engine, as the stages after profiling use them: many jobs, all of them done.

A job that was lost with its worker, or that a worker cannot do (its node does not see the catalog's
folder, or has no such model), is done in this process: no stage depends on where it runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass
from pathlib import Path

from dovetail.plugins import resolve
from dovetail.ports import ConnectedEngine, Engine, Json

# What a task answers with that cannot be done where it runs.
UNABLE: Json = {"unable": True}


@dataclass(frozen=True, slots=True)
class Done:
    """A job that is done: its number, its result, and the folder of the files it wrote."""

    job: int
    result: Json
    folder: Path


@dataclass(frozen=True, slots=True)
class Workers:
    """Does jobs on an engine."""

    engine: Engine

    def map(
        self,
        task: str,
        jobs: Sequence[Json],
        into: Path,
        here: Callable[[Json, Path], Json] | None = None,
    ) -> Iterator[Done]:
        """Do every job, in any order; `task` and `into` are those of `Engine.map`.

        `here` does what workers left undone, instead of the task.
        """
        if not jobs:
            return
        with closing(self.engine.map(task, jobs, into, _ignore)) as replies:
            for reply in replies:
                folder, result = into / str(reply.job), reply.result
                if reply.lost or result == UNABLE:
                    folder.mkdir(parents=True, exist_ok=True)
                    job = jobs[reply.job]
                    result = here(job, folder) if here else resolve(task)(job, folder, _ignore)
                yield Done(reply.job, result, folder)


def connected(engine: Engine) -> AbstractContextManager[None]:
    """Keep an engine connected from its first job until the context ends, if it connects at all."""
    return engine.connected() if isinstance(engine, ConnectedEngine) else nullcontext()


def _ignore(news: Json) -> None:
    """Nobody listens."""
