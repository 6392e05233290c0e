"""Has a language model write the purpose of each table: a sentence or two on what it is for.

A purpose is saved as soon as it is there, together with what it was written from. It is written
anew only for another model, another prompt or another sample.
"""

from __future__ import annotations

import hashlib
import re
import time
from contextlib import closing
from dataclasses import dataclass, replace

from dovetail.catalog.purposes import purpose_journal, purpose_lines
from dovetail.catalog.reader import CatalogReader
from dovetail.domain import Skipped, Table, TableId
from dovetail.domain.schema import WIDTH, markdown
from dovetail.errors import CatalogError, ModelError, PendingError
from dovetail.models.chat import Reply, ask_all, without_thoughts
from dovetail.offline.summary import Progress, ProgressCallback, PurposeSummary
from dovetail.ports import LLM, Json
from dovetail.prompts import Prompt, read_prompt
from dovetail.text import cut, fenced

PHASE = "describe"
MAX_TOKENS = 256
_LONGEST_CONTENT = 12_000
# Characters of a purpose that are kept.
_LONGEST = 600
_FAILURES_IN_A_ROW = 20
_NONE = re.compile(r"\W*none\W*", re.IGNORECASE)
_LABEL = re.compile(r"^\W*(?:the )?purpose(?: of this table)?\W*:\s*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Prices:
    """What a million tokens cost, in any currency."""

    tokens_in: float = 0.0
    tokens_out: float = 0.0

    def cost(self, tokens_in: int, tokens_out: int) -> float:
        return (tokens_in * self.tokens_in + tokens_out * self.tokens_out) / 1e6


@dataclass(frozen=True, slots=True)
class _Request:
    """A table to be described, for all those that look the same."""

    key: str
    content: str
    tables: tuple[tuple[TableId, str], ...]


def write_purposes(
    catalog: CatalogReader,
    llm: LLM,
    *,
    on_progress: ProgressCallback | None = None,
    workers: int = 8,
    prices: Prices | None = None,
    prompt: Prompt | None = None,
    longest: int = _LONGEST,
) -> PurposeSummary:
    """Have a model describe every table that it has not described yet.

    `prompt` asks for it in other words than ours; of a reply, `longest` characters are kept. Each
    purpose is saved as soon as it is there, so a run that is interrupted goes on where it was. A
    table whose call fails stays without one, and is tried again by the next run.
    """
    run = _Run(
        catalog,
        llm,
        on_progress or (lambda _: None),
        prices or Prices(),
        prompt or read_prompt("purpose"),
        longest,
    )
    return run(workers)


class _Run:
    """One pass over a catalog. Threads ask; only the caller's own writes, counts and reports."""

    def __init__(
        self,
        catalog: CatalogReader,
        llm: LLM,
        on_progress: ProgressCallback,
        prices: Prices,
        prompt: Prompt,
        longest: int,
    ) -> None:
        self._started = time.perf_counter()
        self._catalog = catalog
        self._llm = llm
        self._on_progress = on_progress
        self._prices = prices
        self._prompt, self._longest = prompt, longest
        self._journal = purpose_journal(catalog)
        self._summary = PurposeSummary(model=llm.model_id)
        self._in_a_row = 0

    def __call__(self, workers: int) -> PurposeSummary:
        self._progress()
        waiting = dict(enumerate(self._missing()))
        conversations = [
            self._prompt.fill(table=fenced(request.content)) for request in waiting.values()
        ]
        replies = ask_all(self._llm, conversations, workers=workers, max_tokens=MAX_TOKENS)
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
        """What is to be asked: once for tables that look the same, and never what was answered."""
        newest: dict[tuple[str, str], Json] = {}
        answered: dict[str, str] = {}
        for line in purpose_lines(self._journal):
            newest[line["digest"], line["name"]] = line
            if self._is_ours(line):
                answered[line["content"]] = line["purpose"]
        wanted: dict[str, _Request] = {}
        for table in self._catalog:
            known = newest.get((table.digest, table.name))
            if known and self._is_ours(known):
                self._count(reused=1)
                continue
            content = table_content(table)
            key = hashlib.sha256(content.encode("utf-8", "replace")).hexdigest()[:32]
            request = _Request(key, content, ((table.id, table.digest),))
            if key in answered:
                self._write(request, answered[key])
                self._count(reused=1)
            elif key in wanted:
                wanted[key] = replace(request, tables=wanted[key].tables + request.tables)
            else:
                wanted[key] = request
        return list(wanted.values())

    def _is_ours(self, line: Json) -> bool:
        return bool(line["model"] == self._summary.model and line["prompt"] == self._prompt.digest)

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
        text = read_purpose(reply.text, self._longest)
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
        failed = [Skipped(table.source, table.name, reason) for table, _ in request.tables]
        self._summary = replace(self._summary, failed=(*self._summary.failed, *failed))

    def _write(self, request: _Request, text: str) -> None:
        try:
            with self._journal.writing():
                for table, digest in request.tables:
                    self._journal.append(
                        {
                            "digest": digest,
                            "name": table.name,
                            "content": request.key,
                            "model": self._summary.model,
                            "prompt": self._prompt.digest,
                            "purpose": text,
                        }
                    )
        except OSError as error:
            raise CatalogError(
                f"cannot write to {self._journal.path}: {error.strerror}; "
                "purposes that were finished are kept"
            ) from None

    def _progress(self) -> None:
        summary = self._summary
        detail = f"{summary.tokens_in:,} tokens in, {summary.tokens_out:,} out"
        if summary.cost:
            detail += f", cost {summary.cost:.4f}"
        done = summary.reused + summary.written + summary.pending + len(summary.failed)
        self._on_progress(Progress(PHASE, done, len(self._catalog), detail))


def table_content(table: Table) -> str:
    """A table as the model sees it: narrower, and at last in part, the more columns it has."""
    for width in (WIDTH, 40, 16):
        content = markdown(table, width=width)
        if len(content) <= _LONGEST_CONTENT:
            return content
    return markdown(table, width=16, columns=_LONGEST_CONTENT // (20 * (len(table.sample) + 2)))


def read_purpose(reply: str, longest: int = _LONGEST) -> str | None:
    """The purpose in a reply: empty where the model says None, None where it says nothing.

    >>> read_purpose("Purpose: Sales of **each** shop.\\n"), read_purpose("`None.`")
    ('Sales of **each** shop.', '')
    """
    text = " ".join(without_thoughts(reply).split())
    text = "".join(char for char in _LABEL.sub("", text) if char.isprintable())
    if not text.strip():
        return None
    return "" if _NONE.fullmatch(text) else cut(text.strip("\"`' "), longest)
