"""The job that engines run: read some tables, profile them, and write a segment.

It runs in a worker, here or on a cluster: JSON in, JSON out, the bulk in files beside.
"""

from __future__ import annotations

import errno
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from dovetail.catalog.records import FORM, TableRecord, to_records
from dovetail.catalog.segment import SegmentWriter
from dovetail.domain import Column, Estimate, Kind, Skipped, Table, TableId
from dovetail.errors import DovetailError, RescanError
from dovetail.hashing import HASH_VERSION, HashCipher
from dovetail.memory import ran_out, too_little
from dovetail.plugins import open_source
from dovetail.ports import ConnectedSource, Json, Listing, Source, SourceSpec, TableStatistics, Tick
from dovetail.profile.masks import Masks
from dovetail.profile.normal_forms import FEWEST
from dovetail.profile.profiler import (
    PROFILE_VERSION,
    ProfileOptions,
    TableProfiler,
    with_statistics,
)
from dovetail.sources.server_source import announce

TASK = "dovetail.profile.batch:profile_batch"
# Errors of the place we write to: no other table would fare better.
FULL_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)
# A source may learn more than once that it must read a table another way.
_RESCANS = 3

Read = TypeVar("Read")


@dataclass(frozen=True, slots=True)
class TableToRead:
    """A table that must be read: the source it is in, and where it is there."""

    spec: SourceSpec
    listing: Listing

    @property
    def id(self) -> TableId:
        return TableId(self.spec.label, self.listing.name)

    def to_json(self) -> Json:
        return {"spec": self.spec.to_json(), "listing": asdict(self.listing)}

    @classmethod
    def from_json(cls, data: Json) -> TableToRead:
        return cls(SourceSpec.from_json(data["spec"]), Listing(**data["listing"]))


def profile_key(options: ProfileOptions) -> Json:
    """All that a profile depends on besides the data: a catalog has one of these throughout."""
    versions = {"hash_version": HASH_VERSION, "profile_version": PROFILE_VERSION}
    return {**options.to_json(), **versions}


def profile_batch(job: Json, folder: Path, tick: Tick) -> Json:
    """Profile the tables of a job into a segment in `folder`.

    The reply names the segment ('' when no table could be read) and what was skipped, and why.
    Where a table takes all the memory there is, some of it stays taken, and the tables behind it
    would pay for that: they are `unread`, by their places in the job, and so is that table, if
    there are several.
    """
    options = ProfileOptions.from_json(job["options"])
    scratch = folder / "scratch"
    cipher = HashCipher(bytes.fromhex(job["key"])) if options.key_id else None
    profiler = partial(TableProfiler, options, scratch, cipher)
    masks = Masks(detect=options.mask, columns=options.mask_columns, no_values=cipher is not None)
    tables = [TableToRead.from_json(item) for item in job["tables"]]
    listed: dict[str, list[Listing]] = {}
    for table in tables:
        listed.setdefault(table.spec.label, []).append(table.listing)
    label: str | None = None
    records: list[TableRecord] = []
    skipped: list[Skipped] = []
    unread: list[int] = []
    with SegmentWriter(folder) as writer, opened_for(job.get("run")):
        for at, table in enumerate(tables):
            mark = writer.mark()
            try:
                source = opened(table.spec)
                if table.spec.label != label:
                    label = table.spec.label
                    announce(source, listed[label], {}, rows=True)
                read, token = _read(source, table, profiler, tick)
                records.append(_record(read, table, token, writer, masks))
                skipped += [
                    Skipped(table.id.source, f"{table.id.name}/{part}", why)
                    for part, why in sorted(read.left_out.items())
                ]
            except (DovetailError, OSError, MemoryError) as error:
                if isinstance(error, OSError) and error.errno in FULL_DISK:
                    raise
                writer.rewind(mark)
                if ran_out(error) and len(tables) > 1:
                    unread = list(range(at, len(tables)))
                    break
                why = reason(error)
                if cipher is not None:  # an error may quote a cell
                    why = f"it cannot be read ({type(error).__name__})"
                skipped.append(Skipped(table.id.source, table.id.name, why))
            finally:
                shutil.rmtree(scratch, ignore_errors=True)
            tick({"table": str(table.id), "done": True})
        segment = writer.finish(to_records(records), profile_key(options)) if records else ""
        if skipped or unread:  # over a connection that broke, perhaps
            close_broken()
    return {
        "segment": segment,
        "skipped": [[skip.source, skip.table, skip.reason] for skip in skipped],
        "unread": unread,
    }


def _read(
    source: Source, table: TableToRead, profiler: Callable[[], TableProfiler], tick: Tick
) -> tuple[TableProfiler, str]:
    # The fingerprint is taken first: a change during the scan is then found by the next run.
    token = source.fingerprint(table.listing, None).token
    return rescanned(partial(_scan, source, table, profiler, tick)), token


def _scan(
    source: Source, table: TableToRead, make: Callable[[], TableProfiler], tick: Tick
) -> TableProfiler:
    profiler = make()
    for rows in profiler.read(source.scan(table.listing)):
        tick({"table": str(table.id), "rows": rows})
    return profiler


def rescanned(read: Callable[[], Read]) -> Read:
    """What reading a table gives, begun anew where its source must read it another way."""
    for _ in range(_RESCANS):
        with suppress(RescanError):
            return read()
    return read()


def _record(
    profiler: TableProfiler,
    to_read: TableToRead,
    token: str,
    writer: SegmentWriter,
    masks: Masks,
) -> TableRecord:
    columns, places = [], []
    stated = profiler.statistics
    for at, column in enumerate(profiler.columns):
        exact = column.may_be_key
        stored = writer.add_value_hashes(profiler.runs(column), exact)
        distinct, kept, hashes_at, counts_at = stored
        profile = column.profile(distinct, kept)
        if stated is not None and len(stated.columns) == len(profiler.columns):
            profile = with_statistics(profile, stated.columns[at], stated.rows)
        columns.append(masks.column(Column(column.name, column.type, profile)))
        forms = [
            dict(zip(FORM, (name, maximum, *writer.add_value_hashes(runs, exact)), strict=True))
            for name, maximum, runs in (column.forms.forms() if distinct >= FEWEST else ())
        ]
        phrases = column.phrases.merged() if column.kind is Kind.TEXT else ()
        phrases_at, searched = writer.add_phrases(hashes for hashes, _ in phrases)
        places.append(
            {
                "hashes_at": hashes_at,
                "counts_at": counts_at,
                "phrases_at": phrases_at,
                "phrases": searched,
                "views": forms,
            }
        )
    table = Table(
        id=to_read.id,
        columns=tuple(columns),
        rows=profiler.rows,
        sample=masks.rows([column.name for column in profiler.columns], profiler.sample()),
        digest=profiler.digest(),
        estimate=_estimate(stated) if stated is not None else None,
    )
    return TableRecord(table, to_read.spec.root, token, places)


def _estimate(stated: TableStatistics) -> Estimate:
    return Estimate(
        stated.rows,
        tuple(round(column.null_share, 6) for column in stated.columns),
        tuple(column.distinct for column in stated.columns),
    )


def reason(error: BaseException) -> str:
    """Why something could not be read, in one line for the summary."""
    if isinstance(error, MemoryError):
        return too_little()
    text = error.strerror if isinstance(error, OSError) else None
    message = " ".join((text or str(error)).split())
    return f"{message}: {too_little()}" if ran_out(error) else message


class _OpenSources(threading.local):
    """The sources that a thread has open, and the run that it opened them for.

    To open a source may take as long as reading hundreds of its tables: SQLite parses the
    definitions of all of them, a server is logged in to. So they stay open for the next job.
    """

    def __init__(self) -> None:
        self.run: str | None = None
        self.by_label: dict[str, Source] = {}


_open = _OpenSources()


@contextmanager
def opened_for(run: str | None) -> Iterator[None]:
    """Leave what a job opens open for the next job of its run; without a run it is closed.

    Those of an earlier run are closed first. A job that fails leaves none open, for it may have
    failed over one of them.
    """
    if run is None or run != _open.run:
        close_sources()
        _open.run = run
    try:
        yield
    except BaseException:
        close_sources()
        raise
    if run is None:
        close_sources()


def close_sources() -> None:
    """Close what the last run of this thread left open."""
    while _open.by_label:
        _open.by_label.popitem()[1].close()


def opened(spec: SourceSpec) -> Source:
    """The source of a spec, opened the first time."""
    if spec.label not in _open.by_label:
        _open.by_label[spec.label] = open_source(spec)
    return _open.by_label[spec.label]


def close_broken() -> None:
    """Close those that no longer answer, or cannot tell; they are opened again when needed.

    A server is asked, for to open it anew is to ask it for the columns of all its tables.
    """
    for label, source in list(_open.by_label.items()):
        if not (isinstance(source, ConnectedSource) and source.answers()):
            _open.by_label.pop(label).close()
