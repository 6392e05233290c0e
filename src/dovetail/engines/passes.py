"""Passes: pure functions over ranges, run in this process or by the workers of an engine.

A pass takes what it passes over, a range of it, and what all ranges share, and returns arrays. What
is passed over, a worker opens for itself: a catalog, say, if its node sees the folder. A job that
was lost with its worker, or that a worker cannot do (its node does not see the catalog's folder, or
has no such model), is done in this process: no stage depends on where it runs.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import dataclass, fields, is_dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from dovetail.errors import DovetailError
from dovetail.plugins import resolve
from dovetail.ports import ConnectedEngine, Engine, Json, Tick

Arrays = dict[str, npt.NDArray[Any]]
# What the ranges of a pass share: arrays, and dataclasses of arrays, by name.
Shared = Mapping[str, Any]
Range = tuple[int, int]
Values = TypeVar("Values")
# A pass over a range of values, from a first to before a last.
Pass = Callable[[Values, int, int, Shared], Arrays]

# What a task answers with that cannot be done where it runs.
UNABLE: Json = {"unable": True}
_TASK = "dovetail.engines.passes:run_range"
# The file of what is no array in a shared dataclass, and the name of its class there.
_REST, _CLASS = "rest.json", "class"


@dataclass(frozen=True, slots=True)
class Done:
    """A job that is done: its number, its result, and the folder of the files it wrote."""

    job: int
    result: Json
    folder: Path


@dataclass(frozen=True, slots=True)
class Workers:
    """Does jobs on an engine, each within so many bytes of memory."""

    engine: Engine
    memory: int | None = None

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
        bounded = [{**job, "memory": self.memory} for job in jobs]
        with closing(self.engine.map(task, bounded, into, _ignore)) as replies:
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


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """Where workers run passes: `scratch` is a new folder that they see, if they see any of ours.

    A worker opens what is passed over by the function named `open`, given what is said `about` it;
    what it opens can be closed.
    """

    workers: Workers
    scratch: Path
    open: str
    about: Json


class Passes(Generic[Values]):
    """Runs passes over `values`: in this process, or elsewhere."""

    def __init__(self, values: Values, elsewhere: Elsewhere | None = None) -> None:
        self.values = values
        self.elsewhere = elsewhere
        self._run = 0

    def run(self, work: Pass[Values], ranges: Sequence[Range], shared: Shared) -> list[Arrays]:
        """The arrays of each range, in order; a pass of one range is not worth a worker."""
        if self.elsewhere is None or len(ranges) < 2:
            return [work(self.values, first, last, shared) for first, last in ranges]
        self._run += 1
        folder = self.elsewhere.scratch.absolute() / str(self._run)
        _write_shared(shared, folder)
        named = {"pass": f"{work.__module__}:{work.__qualname__}", "shared": str(folder)}
        named |= {"open": self.elsewhere.open, "about": json.dumps(self.elsewhere.about)}
        jobs = [{**named, "first": first, "last": last} for first, last in ranges]
        here = partial(_range_here, work, self.values, shared)
        done = sorted(self.elsewhere.workers.map(_TASK, jobs, folder, here), key=lambda d: d.job)
        return [_arrays_in(each.folder) for each in done]

    def joined(self, work: Pass[Values], ranges: Sequence[Range], shared: Shared) -> Arrays:
        """The arrays of all ranges one after the other, where there is a range at all."""
        parts = self.run(work, ranges, shared)
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def run_range(job: Json, folder: Path, tick: Tick) -> Json:
    """The task of a worker: a pass over one range."""
    del tick
    if not Path(job["shared"]).is_dir():
        return UNABLE
    try:
        values = _opened(job["open"], job["about"])
    except (DovetailError, OSError):
        return UNABLE
    shared = _read_shared(Path(job["shared"]))
    return _save(resolve(job["pass"])(values, job["first"], job["last"], shared), folder)


def _range_here(
    work: Pass[Values], values: Values, shared: Shared, job: Json, folder: Path
) -> Json:
    return _save(work(values, job["first"], job["last"], shared), folder)


def _save(arrays: Arrays, folder: Path) -> Json:
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
    return {"arrays": sorted(arrays)}


def _opened(name: str, about: str) -> Any:
    """What a worker passes over, kept for its next job."""
    if (name, about) not in _OPENED:
        _close_opened()
        _OPENED[name, about] = resolve(name)(json.loads(about))
    return _OPENED[name, about]


_OPENED: dict[tuple[str, str], Any] = {}


def _close_opened() -> None:
    while _OPENED:
        _OPENED.popitem()[1].close()


@contextmanager
def opened_here() -> Iterator[None]:
    """Close what jobs opened, where the engine has them run in this process."""
    try:
        yield
    finally:
        _close_opened()
        _read_shared.cache_clear()


def _write_shared(shared: Shared, folder: Path) -> None:
    """Write arrays, and dataclasses of arrays, into a new folder: an array is a file, a dataclass
    a folder; what is left, numbers and texts, stands in one JSON file."""
    folder.mkdir()
    rest: dict[str, Any] = {}
    for name, value in shared.items():
        if isinstance(value, np.ndarray):
            np.save(folder / f"{name}.npy", value)
        elif is_dataclass(value):
            kind = type(value)
            parts = {field.name: getattr(value, field.name) for field in fields(value)}
            parts[_CLASS] = f"{kind.__module__}:{kind.__qualname__}"
            _write_shared(parts, folder / name)
        else:
            rest[name] = value
    (folder / _REST).write_text(json.dumps(rest), encoding="utf-8")


@lru_cache(maxsize=4)
def _read_shared(folder: Path) -> Any:
    """What was written into a folder, its arrays mapped, kept for the next job of this process."""
    parts: dict[str, Any] = json.loads((folder / _REST).read_text(encoding="utf-8"))
    parts |= _arrays_in(folder)
    for path in folder.iterdir():
        if (path / _REST).is_file():
            parts[path.name] = _read_shared.__wrapped__(path)
    kind = parts.pop(_CLASS, None)
    return resolve(kind)(**parts) if kind else parts


def _arrays_in(folder: Path) -> Arrays:
    """The arrays in a folder, mapped.

    They are plain arrays: those that know that they are mapped take longer for small parts.
    """
    return {
        file.stem: np.load(file, mmap_mode="r", allow_pickle=False).view(np.ndarray)
        for file in folder.glob("*.npy")
    }


def _ignore(news: Json) -> None:
    """Nobody listens."""
