"""Asks the questions that a run does not hold yet, several at a time, and keeps the records."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from dovetail.catalog.reader import CatalogReader
from dovetail.domain import TableSet
from dovetail.errors import PendingError
from dovetail.offline.summary import Progress, ProgressCallback
from dovetail.ports import Retriever
from dovetail.settings import Settings
from dovetail_bench.errors import DatasetError
from dovetail_bench.questions import Question
from dovetail_bench.run_file import Found, Record, RunWriter, Trace, trace_id

T = TypeVar("T")
R = TypeVar("R")

Ask = Callable[[Question], tuple[Record, Trace]]


def ask_all(
    retriever: Retriever,
    questions: Sequence[Question],
    writer: RunWriter,
    *,
    workers: int = 1,
    on_progress: ProgressCallback | None = None,
) -> int:
    """Ask a retriever what the run does not hold yet; returns how many questions `fill` left."""

    def ask(question: Question) -> tuple[Record, Trace]:
        started = time.perf_counter()
        found = retriever.retrieve(question.text)
        return record_of(question.id, found, time.perf_counter() - started), found.trace

    return fill(writer, questions, ask, workers=workers, on_progress=on_progress)


def fill(
    writer: RunWriter,
    questions: Sequence[Question],
    ask: Ask,
    *,
    workers: int = 1,
    on_progress: ProgressCallback | None = None,
) -> int:
    """Ask what the run does not hold yet; returns how many questions wait for recorded replies.

    Records are written in the order of the questions, so a run that was interrupted and one that
    was not leave the same file but for the seconds. A question that waits is not written, and
    those after it are.
    """
    missing = [question for question in questions if question.id not in writer.records]
    done = len(questions) - len(missing)
    pending = 0

    def attempt(question: Question) -> tuple[Record, Trace] | None:
        try:
            return ask(question)
        except PendingError:
            return None
        except Exception as error:
            error.add_note(f"while asking question {question.id}")
            raise

    for answered in _in_order(attempt, missing, workers):
        if answered is None:
            pending += 1
            continue
        record, trace = answered
        writer.append(record, trace)
        done += 1
        if on_progress:
            on_progress(Progress("ask", done, len(questions), record.question))
    return pending


def record_of(question: str, found: TableSet, seconds: float) -> Record:
    """The record of a set; what it cost is summed over the stages of its trace."""

    def total(name: str) -> int:
        values = (stage.get(name, 0) for stage in found.trace)
        return sum(value for value in values if isinstance(value, int))

    return Record(
        question=question,
        tables=tuple(
            Found(each.id.source, each.id.name, each.stage, round(float(each.relevance), 6))
            for each in found.tables
        ),
        tokens_in=total("tokens_in"),
        tokens_out=total("tokens_out"),
        llm_calls=total("llm_calls"),
        fallback=any(stage.get("fallback") for stage in found.trace),
        seconds=round(seconds, 6),
        trace=trace_id(found.trace),
        timeout=any(stage.get("timeout") for stage in found.trace),
        alternatives=tuple(tuple(map(str, other.tables)) for other in found.alternatives),
    )


def check_tables(records: Sequence[Record], catalog: CatalogReader, where: str) -> None:
    """Refuse records that name tables which the catalog does not hold."""
    known = set(catalog.ids)
    strange = sorted({table.id for record in records for table in record.tables} - known)
    if strange:
        raise DatasetError(
            f"{where} names {len(strange)} tables that are not in {catalog.folder}, "
            f"{strange[0]} among them; it was made over another catalog"
        )


def _in_order(work: Callable[[T], R], items: Sequence[T], workers: int) -> Iterator[R]:
    """The results of some work in the order of its items, so many at a time."""
    if workers == 1:
        yield from map(work, items)
        return
    pool = ThreadPoolExecutor(workers)
    pending: deque[Future[R]] = deque()
    try:
        for item in items:
            pending.append(pool.submit(work, item))
            if len(pending) > 2 * workers:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


@dataclass(frozen=True, slots=True)
class RunConfig:
    """Where runs are kept and how they are made.

    `note` receives what the result does not say, a line at a time. `corpus` is what the user calls
    the dataset; it stands in the command that is kept with each run.
    """

    runs: Path
    settings: Settings
    workers: int = 1
    on_progress: ProgressCallback | None = None
    note: Callable[[str], None] = lambda _: None
    corpus: str = ""
