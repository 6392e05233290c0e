"""Where the offline line bends as workers are added: task times of a real run, scheduled on many.

    dovetail bench run workers                            three lakes, on 1, 4, 16 and 64 workers
    dovetail bench run workers --columns 10000000           and as if there were as many columns

What memory the driver takes, `programs/driver_memory.py` measures.

A lake is indexed once with every job that an engine would be given done in this process, one after
the other, and timed in CPU seconds. What a stage took besides its jobs is its serial part, done by
the driver. Then the jobs are given, in their order, to whichever of N workers is free first. A job
costs `--overhead` seconds more (Ray's, measured), and writes at `--network` bytes a second into the
catalog's folder, which all see; what the driver reads of that, it reads at as many. Each worker
opens the catalog once for join evidence (measured).
`--columns` repeats the jobs and stretches the serial parts in proportion.

tiny         500 tables of 20 columns and 5 rows, one SQLite file (programs/index.py)
systems-50k  2,500 tables of 20 columns and 10 rows whose names refer to each other
tall         100 tables of 10 columns and 40,000 rows, a Parquet file each
spider2      5,105 tables of 193,113 columns, where `make bench-data` unpacked it; if it is named
"""

from __future__ import annotations

import argparse
import heapq
import math
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from dovetail.catalog.reader import CatalogReader
from dovetail.joins.distributed.column_values import ColumnValues
from dovetail.offline.pipeline import update
from dovetail.offline.summary import StageClock
from dovetail.plugins import resolve
from dovetail.ports import Json, Replies, Reply, Tick

WORKERS = (1, 4, 16, 64)
# Tasks whose files the driver does not read: they are put in their place, and that is all.
MOVED = ("profile_batch", "sort_phrases")
TABLES, COLUMNS, ROWS = 100, 10, 40_000


@dataclass(frozen=True, slots=True)
class Task:
    """One job: its CPU seconds, the bytes that it wrote, and how many of them the driver reads."""

    seconds: float
    bytes: int
    read: int


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage: the CPU seconds of the driver, and the jobs of each call, one call after another.

    `opening` is what each worker does once.
    """

    name: str
    serial: float
    calls: tuple[tuple[Task, ...], ...]
    opening: float = 0.0


@dataclass(slots=True)
class RecordingEngine:
    """Does jobs in this process, and writes down how long each took, by stage and call."""

    stage: str = ""
    calls: list[tuple[str, list[Task]]] = field(default_factory=list)

    def map(self, task: str, jobs: Sequence[Json], into: Path, tick: Tick) -> Replies:
        done: list[Task] = []
        self.calls.append((self.stage, done))
        moved = task.partition(":")[2] in MOVED
        for number, job in enumerate(jobs):
            folder = into / str(number)
            folder.mkdir(parents=True, exist_ok=True)
            began = time.process_time()
            result = resolve(task)({**job, "run": "bench"}, folder, tick)
            spent = time.process_time() - began
            sent = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
            done.append(Task(spent, sent, 0 if moved else sent))
            yield Reply(number, result)

    @contextmanager
    def in_stage(self, clock: StageClock, name: str) -> Iterator[None]:
        """A stage of the pipeline, in place of `StageClock.stage`."""
        self.stage = name
        with _STAGE(clock, name):
            yield


_STAGE = StageClock.stage


def tall(folder: Path, rows: int = ROWS, seed: int = 1) -> Path:
    """Tables of a key, references to other keys, numbers and words."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    random = np.random.default_rng(seed)
    words = np.array([f"word{number}" for number in range(5_000)])
    folder.mkdir(parents=True)
    for number in range(TABLES):
        columns: dict[str, Any] = {f"t{number}_id": np.arange(rows) + number * rows}
        for place in range(COLUMNS - 1):
            if place % 3 == 0:
                other = int(random.integers(TABLES))
                columns[f"t{other}_ref{place}"] = random.integers(0, rows, rows) + other * rows
            elif place % 3 == 1:
                columns[f"amount{place}"] = random.integers(0, 10**9, rows)
            else:
                columns[f"label{place}"] = random.choice(words, rows)
        pq.write_table(pa.table(columns), folder / f"t{number}.parquet")
    return folder


def lake(name: str, folder: Path) -> Path:
    """A lake by its name: one of these, or one of programs/index.py by its columns."""
    if name == "tall":
        return tall(folder / "tall")
    from dovetail_bench.programs.index import SPIDER2, generate

    if name == "spider2":
        return SPIDER2
    return generate("10k" if name == "tiny" else name)


def recorded(name: str, *, search: bool) -> tuple[int, list[Stage]]:
    """Index a lake job by job; its columns, and its stages."""
    engine = RecordingEngine()
    with tempfile.TemporaryDirectory(prefix="dovetail-") as scratch:
        source = lake(name, Path(scratch))
        into = Path(scratch) / "catalog"
        with patch.object(StageClock, "stage", lambda clock, stage: engine.in_stage(clock, stage)):
            summary = update([str(source)], into=into, engine=engine, search=search)
        began = time.process_time()
        values = ColumnValues(CatalogReader.open(into))
        opening = time.process_time() - began
    stages = []
    for stage in summary.stages:
        calls = [tasks for name, tasks in engine.calls if name == stage.stage]
        inside = sum(task.seconds for tasks in calls for task in tasks)
        stages.append(
            Stage(
                stage.stage,
                max(stage.cpu_seconds - inside, 0.0),
                tuple(map(tuple, calls)),
                opening if stage.stage in ("joins", "families") else 0.0,
            )
        )
    return len(values), stages


def scaled(stage: Stage, times: float) -> Stage:
    """The stage of a lake so many times as large: as many times the jobs, and the serial part."""
    calls = tuple(
        tuple(call[at % len(call)] for at in range(math.ceil(len(call) * times))) if call else ()
        for call in stage.calls
    )
    return replace(stage, serial=stage.serial * times, calls=calls, opening=stage.opening * times)


@dataclass(frozen=True, slots=True)
class Scheduled:
    """A stage on some workers: its seconds, and what most of them go into."""

    seconds: float
    limit: str


def scheduled(stage: Stage, workers: int, overhead: float, network: float) -> Scheduled:
    """Give the jobs of each call to the worker that is free first; calls wait for each other."""
    sent = sum(task.read for call in stage.calls for task in call) / network
    spans, longest, few = 0.0, 0.0, False
    opened: set[int] = set()
    for call in stage.calls:
        free = [(0.0, worker) for worker in range(workers)]
        for task in call:
            at, worker = heapq.heappop(free)
            start = 0.0 if worker in opened else stage.opening
            opened.add(worker)
            spent = task.seconds + task.bytes / network + overhead
            heapq.heappush(free, (at + start + spent, worker))
        span = max(at for at, _ in free)
        work = sum(task.seconds + task.bytes / network + overhead for task in call) / workers
        spans += span
        longest += max(span - work, 0.0)
        few |= len(call) < workers
    parts = {
        "the driver": stage.serial,
        "what is read back": sent,
        "too few jobs" if few else "uneven jobs": longest,
        "the jobs": spans - longest,
    }
    limit = max(parts, key=lambda part: parts[part])
    return Scheduled(stage.serial + sent + spans, limit)


def report(name: str, columns: int, stages: Sequence[Stage], wanted: int, options: Any) -> None:
    """Print the seconds of each stage on each number of workers, the speed-up and its limit."""
    stages = [scaled(stage, wanted / columns) for stage in stages]
    print(f"{name}: {columns:,} columns measured, {wanted:,} scheduled; seconds, and what limits")
    print(f"{'':14}{'jobs':>8}{'in jobs':>10}{'driver':>10}" + "".join(f"{n:>10}" for n in WORKERS))
    totals = dict.fromkeys(WORKERS, 0.0)
    for stage in stages:
        count = sum(map(len, stage.calls))
        inside = sum(task.seconds for call in stage.calls for task in call)
        line = f"{stage.name:14}{count:>8,}{inside:>10,.1f}{stage.serial:>10,.1f}"
        for workers in WORKERS:
            found = scheduled(stage, workers, options.overhead, options.network)
            totals[workers] += found.seconds
            line += f"{found.seconds:>10,.1f}"
        print(f"{line}   {found.limit}")
    print(f"{'all':42}" + "".join(f"{totals[n]:>10,.1f}" for n in WORKERS))
    print(f"{'speed-up':42}" + "".join(f"{totals[1] / totals[n]:>10.1f}" for n in WORKERS))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--lakes",
        default="tiny,systems-50k,tall",
        help="of those above, or of programs/index.py",
    )
    parser.add_argument("--columns", type=int, help="columns to schedule as well")
    parser.add_argument("--without-search", action="store_true", help="no embeddings, no index")
    parser.add_argument(
        "--overhead", type=float, default=0.005, help="seconds that a job costs more"
    )
    parser.add_argument("--network", type=float, default=1e9, help="bytes a second, of each")
    options = parser.parse_args()
    for name in options.lakes.split(","):
        columns, stages = recorded(name, search=not options.without_search)
        for wanted in filter(None, (columns, options.columns)):
            report(name, columns, stages, wanted, options)


if __name__ == "__main__":
    main()
