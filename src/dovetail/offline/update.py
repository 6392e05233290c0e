"""Has an engine read and profile tables, and merges them with the records of before: the content of
the next generation."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import closing
from dataclasses import dataclass, field

from dovetail.catalog.files import staging_folder
from dovetail.catalog.reader import CatalogReader
from dovetail.catalog.records import Records
from dovetail.catalog.segment import Segment
from dovetail.catalog.writer import CatalogWriter, Content
from dovetail.domain import Skipped, TableId
from dovetail.errors import SourceError, UsageError
from dovetail.offline.plan import Plan
from dovetail.offline.summary import Progress, ProgressCallback, UpdateSummary
from dovetail.offline.written import redeclared, with_declarations
from dovetail.plugins import needs_driver
from dovetail.ports import Engine, Json
from dovetail.profile.batch import TASK, TableToRead, close_sources

# Tables per job: enough that starting one costs little, few enough that jobs spread evenly. It
# depends on the number of tables alone, so that every engine and machine makes the same segments.
_JOBS, _FEWEST, _MOST = 32, 8, 256
_LARGEST_JOB = 256 << 20
# The smallest table counts as so many bytes, so that a second worker starts from 768 of them on:
# 500 tables of 20 columns took 3.0 CPU seconds in this process, and 5.8 with two workers.
_LEAST_WEIGHT = 32 << 10
# What reading a table in a worker may take: seconds, and more for every so many bytes.
_SECONDS, _BYTES_A_SECOND = 600, 1 << 16


@dataclass(slots=True)
class Profiled:
    """The tables that were read: their records, the segments of these, and what was skipped."""

    records: list[Records] = field(default_factory=list)
    segments: dict[str, Segment] = field(default_factory=dict)
    skipped: list[Skipped] = field(default_factory=list)


def profile_tables(
    plan: Plan,
    writer: CatalogWriter,
    engine: Engine,
    on_progress: ProgressCallback,
    *,
    memory: int,
) -> Profiled:
    """Read and profile the tables that a plan says are to be read, with an engine.

    A job is lost if its worker dies, of the tables themselves or of the limits that it has: of
    `memory`, and of time. Its tables are then read one by one, each in a worker of its own, so that
    only the one to blame is left behind. So are those of a job that were left unread for want of
    memory.
    """
    tables = plan.to_read
    run = _EngineRun(writer, plan, engine, _ReadProgress(on_progress, len(tables)), memory)
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
    plan: Plan
    engine: Engine
    progress: _ReadProgress
    memory: int
    profiled: Profiled = field(default_factory=Profiled)

    def map(self, jobs: list[list[TableToRead]], *, apart: bool) -> list[list[TableToRead]]:
        """Have jobs done; returns the tables of jobs of several that were lost or left unread."""
        if not jobs:
            return []
        requests = [
            {
                "tables": [table.to_json() for table in job],
                "options": self.plan.options.to_json(),
                "key": self.plan.cipher.key.hex() if self.plan.cipher else "",
                "weight": sum(max(table.listing.weight, _LEAST_WEIGHT) for table in job),
                "apart": apart or any(table.listing.apart for table in job),
                "memory": self.memory,
                "without": [] if any(needs_driver(one.spec.kind) for one in job) else ["pandas"],
                "seconds": _SECONDS + max(table.listing.weight for table in job) // _BYTES_A_SECOND,
            }
            for job in jobs
        ]
        lost: list[list[TableToRead]] = []
        with (
            staging_folder(self.writer.folder) as folder,
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
                unread = [job[at] for at in reply.result.get("unread", ())]
                lost += [unread] if unread else []
                self.progress.finished([table for table in job if table not in unread])
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


def merged(
    plan: Plan, profiled: Profiled, current: CatalogReader | None, *, pooled: bool
) -> tuple[Content, tuple[TableId, ...]]:
    """The tables from now on as their sources have them, and the ids of those retained because
    they could not be read."""
    plan.skipped += profiled.skipped
    if current is None:
        _refuse_nothing(plan, profiled)
    records, retained = merge_records(plan, Records.concat(profiled.records))
    records = with_declarations(
        records,
        plan.declared,
        plan.declaring,
        untold_keys=plan.untold_keys,
        untold_comments=plan.untold_comments,
    )
    plan.skipped += _still_left_out(current.skipped if current is not None else (), plan, records)
    content = Content(
        records=records,
        segments=plan.segments | profiled.segments,
        profile=plan.profile,
        roots=plan.roots.all,
        skipped=tuple(sorted(plan.skipped, key=lambda skip: (skip.source, skip.table))),
        pooled=pooled,
    )
    return content, retained


def summary_of(
    catalog: CatalogReader,
    before: Records,
    retained: tuple[TableId, ...],
    described: Collection[TableId] = (),
) -> UpdateSummary[CatalogReader]:
    """What a catalog has that the records of before had not. Of the tables in `described`, people
    wrote something else than before, whatever their sources declare."""
    now = catalog.records
    old = dict(zip(before.ids, before.tables["digest"].to_pylist(), strict=True))
    new = dict(zip(now.ids, now.tables["digest"].to_pylist(), strict=True))
    changed = tuple(table for table in new if table in old and old[table] != new[table])
    added = tuple(table for table in new if table not in old)
    retold = {*redeclared(before, now), *described}.intersection(new).difference(changed, added)
    return UpdateSummary(
        catalog=catalog,
        added=added,
        changed=changed,
        dropped=tuple(table for table in old if table not in new),
        retained=retained,
        unchanged=len(new) - len(added) - len(changed) - len(retained),
        skipped=catalog.skipped,
        redeclared=tuple(sorted(retold)),
    )


def merge_records(plan: Plan, read: Records) -> tuple[Records, tuple[TableId, ...]]:
    """The records from now on, and the ids of tables retained because they could not be read.

    A table that was read and has the digest it had keeps its old record with the new token, so that
    nothing is written twice.
    """
    before, visited = plan.before, {root.label for root in plan.visited}
    unchanged = _with_tokens(plan.earlier.records, plan.unchanged)
    rows = {table: row for row, table in enumerate(before.ids)} if plan.same_profile else {}
    same, changed = _compare(read, before, rows)
    have = {*unchanged.ids, *read.ids}
    missed = {TableId(skip.source, skip.table) for skip in plan.skipped if skip.table}
    staying: list[int] = []
    retained: list[TableId] = []
    root_of = before.tables["root"].to_pylist()
    for table, row in rows.items():
        root = root_of[row]
        if table in have or root in plan.roots.forgotten:
            continue
        if root not in visited:
            staying.append(row)
        elif table in missed or root in plan.unreadable or plan.is_unreadable(table):
            staying.append(row)
            retained.append(table)
    merged = [
        unchanged,
        _with_tokens(before, same),
        read.take(changed),
        before.take(staying),
    ]
    return Records.concat(merged).sorted(), tuple(retained)


def _compare(
    read: Records, before: Records, rows: dict[TableId, int]
) -> tuple[dict[int, str], list[int]]:
    """Rows of old records that those read now equal, with new tokens; rows of the others."""
    old_digests = before.tables["digest"].to_pylist()
    digests, tokens = read.tables["digest"].to_pylist(), read.tables["token"].to_pylist()
    same: dict[int, str] = {}
    changed: list[int] = []
    for row, table in enumerate(read.ids):
        old = rows.get(table)
        if old is not None and old_digests[old] == digests[row]:
            same[old] = tokens[row]
        else:
            changed.append(row)
    return same, changed


def _with_tokens(records: Records, tokens: dict[int, str]) -> Records:
    """Some records, by row, with their newest tokens."""
    return records.take(list(tokens)).with_column("token", list(tokens.values()))


def _still_left_out(before: Sequence[Skipped], plan: Plan, now: Records) -> list[Skipped]:
    """The parts that were left out of tables which did not change, and so were not read again."""
    mentioned = {TableId(skip.source, skip.table) for skip in plan.skipped} | set(now.ids)
    unchanged = {plan.earlier.records.ids[row] for row in plan.unchanged}
    return [
        skip
        for skip in before
        if TableId(skip.source, skip.table) not in mentioned
        and any(TableId(skip.source, above) in unchanged for above in _prefixes(skip.table))
    ]


def _prefixes(name: str) -> list[str]:
    """The names that a part's name begins with, folder by folder."""
    folders = name.split("/")
    return ["/".join(folders[:at]) for at in range(1, len(folders))]


def _refuse_nothing(plan: Plan, profiled: Profiled) -> None:
    """A first run that could read nothing leaves no catalog behind, only its reason."""
    if plan.skipped and not plan.unchanged and not profiled.records:
        more = f" (and {len(plan.skipped) - 1} more)" if len(plan.skipped) > 1 else ""
        raise SourceError(f"{plan.skipped[0]}{more}")
    if not plan.visited:
        raise UsageError("there is nothing to index yet; name a source")
