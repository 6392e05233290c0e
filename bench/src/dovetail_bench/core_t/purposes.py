"""The paper's purposes: a language model writes what each table is for, one call per table.

The model sees a table's name, header and sampled rows. A purpose is kept as the description of its
table, together with what it was written from, and written anew only for another model, another
prompt or another sample.
"""

from __future__ import annotations

import hashlib
import re
import time
from contextlib import closing
from dataclasses import dataclass, replace

from dovetail.catalog.descriptions import DescriptionFile, TableKey, Written
from dovetail.catalog.reader import CatalogReader
from dovetail.domain import Description, Skipped, Table
from dovetail.errors import ModelError, PendingError
from dovetail.models.chat import Reply, ask_all, without_thoughts
from dovetail.offline.describe import PHASE, Prices
from dovetail.offline.summary import DescribeSummary, Progress, ProgressCallback
from dovetail.ports import LLM
from dovetail.prompts import read_prompt
from dovetail.text import fenced
from dovetail_bench.markdown import markdown
from dovetail_bench.prompts import PROMPTS

# The paper sets no limit: no paragraph comes near it.
MAX_TOKENS = 1_024
_FAILURES_IN_A_ROW = 20
_NONE = re.compile(r"\W*none\W*", re.IGNORECASE)
_LABEL = re.compile(r"^\W*(?:the )?purpose(?: of this table)?\W*:\s*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Request:
    """A table to be described, for all those that look the same; `key` names what is shown."""

    key: str
    content: str
    tables: tuple[Table, ...]


def write_purposes(
    catalog: CatalogReader,
    llm: LLM,
    *,
    on_progress: ProgressCallback | None = None,
    workers: int = 8,
    prices: Prices | None = None,
) -> DescribeSummary:
    """Have a model write the purpose of every table that it has written none of yet.

    Each is saved as soon as it is there, so a run that is interrupted goes on where it was. A table
    whose call fails stays without one, and is tried again by the next run.
    """
    return _Run(catalog, llm, on_progress or (lambda _: None), prices or Prices())(workers)


class _Run:
    """One pass over a catalog. Threads ask; only the caller's own writes, counts and reports."""

    def __init__(
        self, catalog: CatalogReader, llm: LLM, on_progress: ProgressCallback, prices: Prices
    ) -> None:
        self._started = time.perf_counter()
        self._catalog = catalog
        self._llm = llm
        self._on_progress = on_progress
        self._prices = prices
        self._prompt = read_prompt("purpose_paragraph", PROMPTS)
        self._file = DescriptionFile(catalog.folder)
        self._summary = DescribeSummary(model=llm.model_id)
        self._in_a_row = 0

    def __call__(self, workers: int) -> DescribeSummary:
        self._progress()
        waiting = dict(enumerate(self._missing()))
        conversations = [
            self._prompt.fill(table=fenced(request.content)) for request in waiting.values()
        ]
        limits = [MAX_TOKENS] * len(conversations)
        replies = ask_all(self._llm, conversations, workers=workers, max_tokens=limits)
        with closing(replies):
            for number, reply in replies:
                self._take(waiting.pop(number), reply)
                self._progress()
                if self._in_a_row >= _FAILURES_IN_A_ROW:
                    break
        for request in waiting.values():
            self._fail(request, f"not tried, after {self._in_a_row} failures in a row")
        failed = tuple(sorted(self._summary.failed, key=lambda skip: (skip.source, skip.table)))
        seconds = time.perf_counter() - self._started
        return replace(self._summary, failed=failed, seconds=seconds)

    def _missing(self) -> list[_Request]:
        """What is to be asked: once for tables that look the same, and never what was answered.

        What a purpose was written from stands in its line after the digest of the prompt.
        """
        newest: dict[str, Written] = {}
        answered: dict[str, str] = {}
        for line in self._file.lines():
            newest[line.key.exact] = line
            if self._is_ours(line):
                answered[line.prompt.rpartition(" ")[2]] = line.description.text
        wanted: dict[str, _Request] = {}
        for table in self._catalog:
            content = markdown(table)
            key = hashlib.sha256(content.encode("utf-8", "replace")).hexdigest()[:32]
            request = _Request(key, content, (table,))
            if key in answered:
                known = newest.get(_key(table).exact)
                if (
                    known is None
                    or not self._is_ours(known)
                    or known.description.text != answered[key]
                ):
                    self._write(request, answered[key])
                self._count(reused=1)
            elif key in wanted:
                wanted[key] = replace(request, tables=wanted[key].tables + request.tables)
            else:
                wanted[key] = request
        return list(wanted.values())

    def _is_ours(self, line: Written) -> bool:
        prompt, _, _ = line.prompt.rpartition(" ")
        return line.description.author == self._summary.model and prompt == self._prompt.digest

    def _prompt_of(self, request: _Request) -> str:
        return f"{self._prompt.digest} {request.key}"

    def _take(self, request: _Request, reply: Reply) -> None:
        if isinstance(reply, PendingError):
            self._count(pending=len(request.tables))
            return
        if isinstance(reply, ModelError):
            self._in_a_row += 1
            self._fail(request, str(reply))
            return
        self._count(tokens_in=reply.tokens_in, tokens_out=reply.tokens_out)
        if not reply.cached:
            cost = self._prices.cost(reply.tokens_in, reply.tokens_out)
            self._summary = replace(self._summary, cost=self._summary.cost + cost)
        text = read_purpose(reply.text)
        if text is None:
            self._fail(request, "the model answered with nothing")
            return
        self._in_a_row = 0
        self._write(request, text)
        self._count(written=len(request.tables))

    def _count(self, **more: int) -> None:
        counts = {name: getattr(self._summary, name) + count for name, count in more.items()}
        self._summary = replace(self._summary, **counts)

    def _fail(self, request: _Request, reason: str) -> None:
        failed = [Skipped(table.source, table.name, reason) for table in request.tables]
        self._summary = replace(self._summary, failed=(*self._summary.failed, *failed))

    def _write(self, request: _Request, text: str) -> None:
        description = Description(text, self._summary.model)
        prompt = self._prompt_of(request)
        self._file.add(Written(_key(table), description, prompt) for table in request.tables)

    def _progress(self) -> None:
        summary = self._summary
        detail = f"{summary.tokens_in:,} tokens in, {summary.tokens_out:,} out"
        if summary.cost:
            detail += f", cost {summary.cost:.4f}"
        done = summary.reused + summary.written + summary.pending + len(summary.failed)
        self._on_progress(Progress(PHASE, done, len(self._catalog), detail))


def _key(table: Table) -> TableKey:
    return TableKey.of(table.id, (column.name for column in table.columns))


def read_purpose(reply: str) -> str | None:
    """The purpose in a reply: empty where the model says None, None where it says nothing.

    >>> read_purpose("Purpose: Sales of **each** shop.\\n"), read_purpose("`None.`")
    ('Sales of **each** shop.', '')
    """
    text = " ".join(without_thoughts(reply).split())
    text = "".join(char for char in _LABEL.sub("", text) if char.isprintable())
    if not text.strip():
        return None
    return "" if _NONE.fullmatch(text) else text.strip("\"`' ")
