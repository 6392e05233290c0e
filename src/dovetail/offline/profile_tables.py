"""Has an engine read and profile tables, and takes in the segments that its workers write."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field

from dovetail.catalog.records import Records
from dovetail.catalog.segment import Segment
from dovetail.catalog.writer import CatalogWriter
from dovetail.domain import Skipped
from dovetail.offline.plan import Plan
from dovetail.offline.summary import Progress, ProgressCallback
from dovetail.ports import Engine, Json
from dovetail.profile.batch import TASK, TableToRead, close_sources
from dovetail.profile.profiler import ProfileOptions

# Tables per job: enough that starting one costs little, few enough that jobs spread evenly. It
# depends on the number of tables alone, so that every engine and machine makes the same segments.
_JOBS, _FEWEST, _MOST = 32, 8, 256
_LARGEST_JOB = 256 << 20
# The smallest table counts as so many bytes, so that a second worker starts from 768 of them on:
# 500 tables of 20 columns took 3.0 CPU seconds in this process, and 5.8 with two workers.
_LEAST_WEIGHT = 32 << 10


@dataclass(slots=True)
class Profiled:
    """The tables that were read: their records, the segments of these, and what was skipped."""

    records: list[Records] = field(default_factory=list)
    segments: dict[str, Segment] = field(default_factory=dict)
    skipped: list[Skipped] = field(default_factory=list)


def profile_tables(
    plan: Plan, writer: CatalogWriter, engine: Engine, on_progress: ProgressCallback
) -> Profiled:
    """Read and profile the tables that a plan says are to be read, with an engine.

    A job is lost if its worker dies. Its tables are then read one by one, each in a worker of its
    own, so that only the one to blame is left behind.
    """
    tables = plan.to_read
    run = _EngineRun(writer, plan.options, engine, _ReadProgress(on_progress, len(tables)))
    try:
        lost = run.map(_jobs(tables), apart=False)
        run.map([[table] for job in lost for table in job], apart=True)
    finally:
        close_sources()  # which are open if the engine works in this process
    return run.profiled


@dataclass(frozen=True, slots=True)
class _EngineRun:
    """Gives jobs to the engine and collects what comes back."""

    writer: CatalogWriter
    options: ProfileOptions
    engine: Engine
    progress: _ReadProgress
    profiled: Profiled = field(default_factory=Profiled)

    def map(self, jobs: list[list[TableToRead]], *, apart: bool) -> list[list[TableToRead]]:
        """Have jobs done; returns those of several tables that were lost with their worker."""
        if not jobs:
            return []
        requests = [
            {
                "tables": [table.to_json() for table in job],
                "options": self.options.to_json(),
                "weight": sum(max(table.listing.weight, _LEAST_WEIGHT) for table in job),
                "apart": apart,
            }
            for job in jobs
        ]
        lost: list[list[TableToRead]] = []
        with (
            self.writer.staging() as folder,
            closing(self.engine.map(TASK, requests, folder, self.progress.tick)) as replies,
        ):
            for reply in replies:
                job = jobs[reply.job]
                if reply.lost and len(job) > 1:
                    lost.append(job)
                    continue
                if reply.lost:
                    why = f"{reply.lost} while reading it"
                    self.profiled.skipped.append(Skipped(job[0].id.source, job[0].id.name, why))
                self.profiled.skipped += [
                    Skipped(*skip) for skip in reply.result.get("skipped", ())
                ]
                if name := reply.result.get("segment"):
                    segment = self.writer.adopt(folder / str(reply.job), name)
                    self.profiled.segments[name] = segment
                    self.profiled.records.append(segment.records())
                self.progress.finished(job)
        return lost


class _ReadProgress:
    """Turns what workers report into progress."""

    def __init__(self, on_progress: ProgressCallback, total: int) -> None:
        self._on_progress = on_progress
        self._total = total
        self._done: set[str] = set()

    def tick(self, news: Json) -> None:
        if news.get("done"):
            self._done.add(news["table"])
        detail = f"{news['table']}, {news['rows']:,} rows" if "rows" in news else ""
        self._on_progress(Progress("read", len(self._done), self._total, detail))

    def finished(self, job: list[TableToRead]) -> None:
        self._done.update(str(table.id) for table in job)
        self._on_progress(Progress("read", len(self._done), self._total))


def _jobs(tables: Sequence[TableToRead]) -> list[list[TableToRead]]:
    """The tables in jobs of about equal work."""
    ordered = sorted(tables, key=lambda table: table.id)
    size = min(_MOST, max(_FEWEST, len(ordered) // _JOBS))
    jobs: list[list[TableToRead]] = []
    weight = 0
    for table in ordered:
        if not jobs or len(jobs[-1]) == size or weight + table.listing.weight > _LARGEST_JOB:
            jobs.append([])
            weight = 0
        jobs[-1].append(table)
        weight += table.listing.weight
    return jobs
