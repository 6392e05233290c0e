"""A run on disk: an append-only JSONL file, a line per question, with its traces in a second file.

The first line says what was run and how. A line that a crash left unfinished at the end is cut off
when the run goes on; whatever else does not read is an error.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path

from dovetail.domain import TableId
from dovetail.errors import LockedError
from dovetail.ports import Json
from dovetail_bench.errors import DatasetError
from dovetail_bench.questions import Question

Trace = tuple[Mapping[str, object], ...]


@dataclass(frozen=True, slots=True)
class Found:
    """A table in a record: which, at what stage it came in, how relevant it was."""

    source: str
    name: str
    stage: str
    relevance: float

    @property
    def id(self) -> TableId:
        return TableId(self.source, self.name)


@dataclass(frozen=True, slots=True)
class Written:
    """The SQL that was written over the tables of a record, and what came of it.

    `error` is empty where its rows are those of the gold SQL; else it is the class of what went
    wrong, and `reason` tells it. `again`: the model was told what could not run, and wrote anew.
    """

    sql: str
    error: str
    reason: str
    again: bool


@dataclass(frozen=True, slots=True)
class Record:
    """What a retriever found for one question and what that cost; `trace` is the trace's id.

    `timeout`: a clock ended its work, so that another machine may find something else. Where the
    run went on to SQL, the cost is that of both, and `written` is there. `alternatives` are other
    sets that it offered, by the ids of their tables.
    """

    question: str
    tables: tuple[Found, ...]
    tokens_in: int
    tokens_out: int
    llm_calls: int
    fallback: bool
    seconds: float
    trace: str
    written: Written | None = None
    timeout: bool = False
    alternatives: tuple[tuple[str, ...], ...] = ()

    @property
    def ids(self) -> list[TableId]:
        return [table.id for table in self.tables]

    def to_json(self) -> Json:
        """A line of a run."""
        row = asdict(self)
        return {name: row[name] for name in row if name in _FIELDS or row[name]}

    @classmethod
    def from_json(cls, row: Json) -> Record:
        """A line of a run, read again; one that is none raises an error of Python's own."""
        given = {name: row[name] for name in _FIELDS}
        given["tables"] = tuple(Found(**table) for table in row["tables"])
        given["question"] = str(row["question"])
        written = row.get("written")
        return cls(
            **given,
            written=None if written is None else Written(**written),
            timeout=bool(row.get("timeout")),
            alternatives=tuple(tuple(tables) for tables in row.get("alternatives", ())),
        )


_RARE = ("written", "timeout", "alternatives")  # left out of a line where there is none
_FIELDS = tuple(field.name for field in fields(Record) if field.name not in _RARE)


@dataclass(frozen=True, slots=True)
class Run:
    """A run as it was read: what it says about itself, and its records by question, in order.

    `about` is what decides its outcome, `made` what else there is to know: the command that began
    it, whether it is a ranking.
    """

    path: Path
    about: Json
    records: Mapping[str, Record]
    made: Json = field(default_factory=dict)


class RunWriter:
    """A run that goes on; its file is locked."""

    def __init__(self, run: Run, descriptor: int, *, begun: bool) -> None:
        self._path = run.path
        self._descriptor = descriptor
        made = {"made": run.made} if run.made else {}
        self._head = b"" if begun else _line({"run": run.about, **made})
        self.records = dict(run.records)

    def of(self, questions: Iterable[Question]) -> list[Record]:
        """The records of these questions, in their order, as far as they are there."""
        return [self.records[each.id] for each in questions if each.id in self.records]

    def append(self, record: Record, trace: Trace) -> None:
        """Add a question that was not there; its trace is on disk before it is."""
        if record.question in self.records:
            raise DatasetError(f"question {record.question} is in {self._path} already")
        line = {"trace": record.trace, "question": record.question, "stages": trace}
        with traces_of(self._path).open("ab") as file:
            file.write(_line(line))
        _write(self._descriptor, self._head + _line(record.to_json()))
        self._head = b""
        self.records[record.question] = record


@contextmanager
def resumed(path: Path, about: Json, *, made: Json | None = None) -> Iterator[RunWriter]:
    """Go on with the run in a file, or begin it; what is there stays.

    `made` is written where it begins and not compared where it goes on.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise LockedError(
                f"{path} is being written by another process; wait for it, or choose other --runs"
            ) from None
        content = path.read_bytes()
        whole = content.rfind(b"\n") + 1
        os.ftruncate(descriptor, whole)
        if not whole:
            yield RunWriter(Run(path, about, {}, made=made or {}), descriptor, begun=False)
            return
        run = _parse(path, content[:whole])
        if run.about != about:
            raise DatasetError(f"{path} is of another run: {_difference(run.about, about)}")
        yield RunWriter(run, descriptor, begun=True)
    finally:
        os.close(descriptor)


def read_run(path: Path) -> Run:
    """A run, finished or not; an unfinished last line is left out."""
    content = path.read_bytes()
    return _parse(path, content[: content.rfind(b"\n") + 1])


def run_bytes(run: Run) -> bytes:
    """A finished run as it stands in a file."""
    head: Json = {"run": run.about, "made": run.made}
    return b"".join(map(_line, [head, *(each.to_json() for each in run.records.values())]))


def trace_id(trace: Trace) -> str:
    """The id of a trace: a digest of its contents."""
    return hashlib.sha256(_line({"stages": trace})).hexdigest()[:16]


def traces_of(path: Path) -> Path:
    """The file of a run's traces."""
    return path.with_suffix(".traces.jsonl")


def _parse(path: Path, content: bytes) -> Run:
    lines = content.splitlines()
    try:
        head = json.loads(lines[0])
        about, made = dict(head["run"]), dict(head.get("made", {}))
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError):
        raise DatasetError(f"{path} is no run: its first line does not say of what") from None
    records: dict[str, Record] = {}
    for number, line in enumerate(lines[1:], start=2):
        try:
            record = Record.from_json(json.loads(line))
        except (LookupError, TypeError, ValueError, AttributeError, RecursionError):
            raise DatasetError(
                f"line {number} of {path} is damaged; remove it, and its question is asked again"
            ) from None
        if record.question in records:
            raise DatasetError(f"{path} has question {record.question} twice; remove line {number}")
        records[record.question] = record
    return Run(path, about, records, made)


def _difference(one: Json, other: Json) -> str:
    names = [name for name in other if one.get(name) != other[name]] or ["unknown"]
    return f"it differs in {', '.join(names)}; move it away, or choose other --runs"


def _line(document: Mapping[str, object]) -> bytes:
    return json.dumps(document, ensure_ascii=False, default=str).encode() + b"\n"


def _write(descriptor: int, content: bytes) -> None:
    while content:
        content = content[os.write(descriptor, content) :]
