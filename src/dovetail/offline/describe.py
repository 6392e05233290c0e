"""Has tables described: a sentence for each logical table, and glosses of cryptic columns.

A language model is asked for eight to sixteen tables of one schema at a time, or anyone else is
shown the same batches and saves what they know. A description is kept as soon as it is there, under
the table's source, name and columns; it is asked for anew only for another model, prompt or schema,
and where people's notes say something else of the table.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property

from dovetail.catalog.descriptions import DescriptionFile, TableKey, Written, table_keys
from dovetail.catalog.reader import CatalogReader
from dovetail.domain import Description, Skipped, TableId
from dovetail.errors import ModelError, PendingError, UsageError
from dovetail.models.chat import Reply, ask_all, estimate_tokens, parse_json
from dovetail.offline.describe_batch import Batch, Shown
from dovetail.offline.summary import DescribeSummary, Progress, ProgressCallback
from dovetail.ports import LLM, Message
from dovetail.prompts import read_prompt
from dovetail.text import sentence

PHASE = "describe"
# Tokens that the reply takes for a table, as estimated before anything is asked; and how many it
# may take: far more, for models that think aloud, but no model writes on for ever.
_REPLY_TOKENS, _MOST_REPLY_TOKENS = 60, 512
# Characters of a description and of a gloss that are kept.
_LONGEST, _LONGEST_GLOSS = 300, 80
# Tables of a batch in which what a model left out is asked for once more.
_AGAIN = 4
_FAILURES_IN_A_ROW = 5


@dataclass(frozen=True, slots=True)
class Prices:
    """What a million tokens cost, in any currency."""

    tokens_in: float = 0.0
    tokens_out: float = 0.0

    def cost(self, tokens_in: int, tokens_out: int) -> float:
        return (tokens_in * self.tokens_in + tokens_out * self.tokens_out) / 1e6


@dataclass(frozen=True, slots=True)
class DescribePlan:
    """What describing takes, before it begins: tables, requests, and tokens as estimated.

    `described` counts the tables that are described already.
    """

    tables: int
    requests: int
    described: int
    tokens_in: int
    tokens_out: int
    cost: float


class Describer:
    """The logical tables of a catalog, those of them that are described, and what is to be asked.

    By the id of a model, tables count as described by that model and our prompt, or by whoever was
    not asked by a prompt of ours; without one, by anyone. What is to be asked `again` does not
    count as described by the model.
    """

    def __init__(
        self, catalog: CatalogReader, model: str | None = None, *, again: bool = False
    ) -> None:
        self.catalog = catalog
        self._file = DescriptionFile(catalog.folder)
        self._prompt = read_prompt("describe")
        self._model, self._again = model, again
        self.shown = Shown(catalog)
        self._noted = dict(self._noted_prompts())
        self.missing: list[TableId] = []
        self._late: list[Written] = []
        self._look_up()

    @cached_property
    def _keys(self) -> dict[TableId, TableKey]:
        return dict(table_keys(self.catalog.records))

    def _noted_prompts(self) -> Iterator[tuple[str, str]]:
        """The prompts of tables that notes speak of, by the tables' keys: with what these say."""
        for table in self.shown.logical():
            if remarks := self.shown.notes.remarks_on(table):
                said = hashlib.sha256("\n".join(map(str, remarks)).encode()).hexdigest()
                for member in self.shown.members(table):
                    yield self._keys[member].exact, f"{self._prompt.digest} {said[:16]}"

    def _prompt_of(self, key: TableKey) -> str:
        """What names the prompt that a description answers."""
        return self._noted.get(key.exact, self._prompt.digest)

    def _look_up(self) -> None:
        """Find the logical tables that are not described yet (`missing`), and what is to be written
        again: for new members of a family, or because another model wrote since."""
        newest: dict[str, Written] = {}
        exact: dict[str, Written] = {}
        sliced: dict[str, Written] = {}
        for each in self._file.lines():
            newest[each.key.exact] = each
            if self._model is None or not each.prompt or self._is_ours(each):
                exact[each.key.exact] = each
                if each.sliced:
                    sliced[each.key.like] = each
        for table in self.shown.logical():
            key = self._keys[table]
            known = exact.get(key.exact) or sliced.get(key.like)
            if known is None:
                self.missing.append(table)
                continue
            for member in map(self._keys.__getitem__, self.shown.members(table)):
                last = newest.get(member.exact)
                if last is None or (last.prompt and last is not exact.get(member.exact)):
                    self._late.append(replace(known, key=member))

    def write_known(self) -> None:
        """Keep what is known already for the tables that it is to be written again for."""
        if self._late:
            self._file.add(self._late)
            self._late = []

    def _is_ours(self, written: Written) -> bool:
        by_model = written.description.author == self._model and not self._again
        return by_model and written.prompt == self._prompt_of(written.key)

    @cached_property
    def batches(self) -> list[Batch]:
        """What is to be asked."""
        return list(self.shown.batches(self.missing))

    def conversation(self, batch: Batch) -> Sequence[Message]:
        """The request for a batch."""
        return self._prompt.fill(tables=batch.text)

    def ask(
        self, llm: LLM, batches: Sequence[Batch], *, workers: int = 1
    ) -> Generator[tuple[int, Reply], None, None]:
        """The number of each batch with what a model says to it."""
        conversations = [self.conversation(batch) for batch in batches]
        limits = [_MOST_REPLY_TOKENS * len(batch.tables) for batch in batches]
        return ask_all(llm, conversations, workers=workers, max_tokens=limits)

    def plan(self, prices: Prices) -> DescribePlan:
        """What it takes to describe what is missing."""
        asked = (message for batch in self.batches for message in self.conversation(batch))
        tokens_in = sum(estimate_tokens(message.content) for message in asked)
        tokens_out = _REPLY_TOKENS * len(self.missing)
        return DescribePlan(
            tables=len(self.missing),
            requests=len(self.batches),
            described=len(self.shown.logical()) - len(self.missing),
            tokens_in=tokens_in,
            tokens_out=tokens_out,
            cost=prices.cost(tokens_in, tokens_out),
        )

    def write(self, described: Mapping[TableId, Description], *, asked: bool = True) -> None:
        """Keep descriptions of logical tables, for every member of their families."""
        self._file.add(
            Written(
                key, description, self._prompt_of(key) if asked else "", self.shown.is_sliced(table)
            )
            for table, description in described.items()
            for key in map(self._keys.__getitem__, self.shown.members(table))
        )


def describe(
    catalog: CatalogReader,
    llm: LLM,
    *,
    on_progress: ProgressCallback | None = None,
    workers: int = 8,
    prices: Prices | None = None,
    again: bool = False,
) -> DescribeSummary:
    """Have a model describe every logical table that it has not described yet, or `again`.

    Each description is saved as soon as it is there, so a run that is interrupted goes on where it
    was. A table that the model leaves out is asked for once more; one that stays without is tried
    again by the next run.
    """
    describer = Describer(catalog, llm.model_id, again=again)
    return _Run(describer, llm, on_progress or (lambda _: None), prices or Prices())(workers)


class _Run:
    """One pass over a catalog. Threads ask; only the caller's own writes, counts and reports."""

    def __init__(
        self, describer: Describer, llm: LLM, on_progress: ProgressCallback, prices: Prices
    ) -> None:
        self._started = time.perf_counter()
        self._llm, self._on_progress, self._prices = llm, on_progress, prices
        self._describer = describer
        missing = self._describer.missing
        self._total = len(self._describer.shown.logical())
        self._summary = DescribeSummary(llm.model_id, reused=self._total - len(missing))
        # Why a table has no description yet.
        self._reasons: dict[TableId, str] = dict.fromkeys(missing, "")
        self._in_a_row = 0

    def __call__(self, workers: int) -> DescribeSummary:
        self._describer.write_known()
        self._progress()
        self._ask(self._describer.batches, workers)
        left = [table for table, reason in self._reasons.items() if reason]
        if left and self._in_a_row < _FAILURES_IN_A_ROW:
            self._ask(list(self._describer.shown.batches(left, most=_AGAIN)), workers)
        failed = [
            Skipped(
                table.source, table.name, reason or f"not tried, after {self._in_a_row} failures"
            )
            for table, reason in sorted(self._reasons.items())
        ]
        seconds = time.perf_counter() - self._started
        return replace(self._summary, failed=tuple(failed), seconds=seconds)

    def _ask(self, batches: Sequence[Batch], workers: int) -> None:
        with closing(self._describer.ask(self._llm, batches, workers=workers)) as replies:
            for number, reply in replies:
                self._take(batches[number], reply)
                self._progress()
                if self._in_a_row >= _FAILURES_IN_A_ROW:
                    break

    def _take(self, batch: Batch, reply: Reply) -> None:
        if isinstance(reply, PendingError):
            self._count(pending=len(batch.tables))
            for table in batch.tables:
                self._reasons.pop(table, None)
            return
        if isinstance(reply, ModelError):
            self._fail(batch.tables, str(reply))
            return
        self._count(tokens_in=reply.tokens_in, tokens_out=reply.tokens_out, requests=1)
        if not reply.cached:
            cost = self._prices.cost(reply.tokens_in, reply.tokens_out)
            self._summary = replace(self._summary, cost=self._summary.cost + cost)
        result = read_reply(reply.text, batch, self._describer.catalog, self._llm.model_id)
        self._count(dropped=result.dropped)
        if not result.described:
            reply.forget()
            self._fail(batch.tables, result.problem)
            return
        self._in_a_row = 0
        self._describer.write(result.described)
        self._count(written=len(result.described))
        for table in batch.tables:
            if table in result.described:
                self._reasons.pop(table, None)
            else:
                self._reasons[table] = "the model left it out"

    def _count(self, **more: int) -> None:
        counts = {name: getattr(self._summary, name) + count for name, count in more.items()}
        self._summary = replace(self._summary, **counts)

    def _fail(self, tables: Iterable[TableId], reason: str) -> None:
        self._in_a_row += 1
        self._reasons.update(dict.fromkeys(tables, reason))

    def _progress(self) -> None:
        summary = self._summary
        detail = f"{summary.tokens_in:,} tokens in, {summary.tokens_out:,} out"
        if summary.cost:
            detail += f", cost {summary.cost:.4f}"
        self._on_progress(Progress(PHASE, self._total - len(self._reasons), self._total, detail))


@dataclass(frozen=True, slots=True)
class ReadReply:
    """What of a reply is of use: descriptions by table; how many entries were of none that was
    asked about (`dropped`); and, where nothing is of use, why."""

    described: Mapping[TableId, Description]
    dropped: int
    problem: str = ""


def read_reply(text: str, batch: Batch, catalog: CatalogReader, author: str) -> ReadReply:
    """Read a reply to a batch: a JSON object of tables, or a list of them with their names.

    An entry of another table, or one that is no object with a description or glosses, is dropped;
    so is the gloss of a column that the table has not. Texts are cut, and lose what is no text.
    """
    document = parse_json(text)
    if document is None:
        return ReadReply({}, 0, "the model answered with no JSON")
    by_name = _by_name(batch.names)
    described: dict[TableId, Description] = {}
    dropped = 0
    for name, entry in _entries(document):
        table = by_name.get(name.strip().casefold())
        description = _read_entry(entry, catalog, table, author) if table is not None else None
        if table is None or description is None or table in described:
            dropped += 1
        else:
            described[table] = description
    return ReadReply(described, dropped, "the model answered with no table that it was asked about")


def _by_name(names: Iterable[tuple[TableId, str]]) -> dict[str, TableId]:
    """Tables by the ways to name them in a reply: as shown, by id, and by a name that is one's."""
    by_name: dict[str, TableId] = {}
    for table, shown in names:
        for name in (shown, str(table), table.name):
            by_name.setdefault(name.strip().casefold(), table)
    return by_name


def _entries(document: Mapping[str, object] | Sequence[object]) -> Iterable[tuple[str, object]]:
    if isinstance(document, Mapping):
        inner = document.get("tables")
        if len(document) == 1 and isinstance(inner, dict | list):
            return _entries(inner)
        return [(str(name), entry) for name, entry in document.items()]
    listed = [each for each in document if isinstance(each, Mapping)]
    return [(str(each.get("table", each.get("name", ""))), each) for each in listed]


def _read_entry(
    entry: object, catalog: CatalogReader, table: TableId, author: str
) -> Description | None:
    """What an entry says of a table; None where it has not the form that was asked for."""
    if isinstance(entry, str):
        entry = {"description": entry}
    if not isinstance(entry, Mapping) or not {"description", "columns"} & entry.keys():
        return None
    text, columns = entry.get("description") or "", entry.get("columns") or {}
    if not isinstance(text, str) or not isinstance(columns, Mapping):
        return None
    names = {column.name.casefold(): column.name for column in catalog[table].columns}
    glosses = {}
    for column, gloss in columns.items():
        name = names.get(str(column).strip().casefold())
        if (
            name is not None
            and isinstance(gloss, str)
            and (words := sentence(gloss, _LONGEST_GLOSS))
        ):
            glosses[name] = words
    return Description(sentence(text, _LONGEST), author, glosses)


@dataclass(frozen=True, slots=True)
class TablesToDescribe:
    """The next tables that nobody described yet, and how many such there are in all (`missing`).

    `text` shows them with what helps to read their names; it is empty where none is left.
    """

    tables: tuple[TableId, ...]
    text: str
    missing: int


@dataclass(frozen=True, slots=True)
class SavedDescriptions:
    """How many logical tables have what was given, and the names under which something is not in
    force: of no table or column, without a description, or of what people described already."""

    saved: int
    refused: tuple[str, ...]


def tables_to_describe(catalog: CatalogReader, limit: int) -> TablesToDescribe:
    """The next tables that nobody described yet, at most `limit`, of one schema or of several
    small ones."""
    describer = Describer(catalog)
    first = describer.missing[:limit]
    batch = next(describer.shown.batches(first, most=limit), Batch((), ""))
    return TablesToDescribe(batch.tables, batch.text, len(describer.missing))


def _others(entry: object, columns: Iterable[str]) -> Iterator[str]:
    """The columns of an entry that are none of these."""
    folded = {column.casefold() for column in columns}
    glosses = entry.get("columns") if isinstance(entry, Mapping) else None
    for column in glosses if isinstance(glosses, Mapping) else ():
        if str(column).strip().casefold() not in folded:
            yield str(column)


def save_descriptions(
    catalog: CatalogReader, given: Mapping[str, object], author: str
) -> SavedDescriptions:
    """Keep descriptions that somebody gives under the names of tables, for all members of their
    families: `{"description": "…", "columns": {"COLUMN": "…"}}` each."""
    if not author.strip():
        raise UsageError("whoever describes tables has a name; give one as author")
    described: dict[TableId, Description] = {}
    refused: list[str] = []
    saved: set[TableId] = set()
    describer = Describer(catalog)
    for name, entry in given.items():
        table = catalog[name].id if name in catalog else None
        description = _read_entry(entry, catalog, table, author) if table is not None else None
        if table is None or not description:
            refused.append(name)
            continue
        logical = describer.shown.families.canonical(table)
        described[logical] = description
        by_people = describer.shown.by_people(catalog[logical])
        written = {column.name for column in by_people.columns if column.comment}
        in_force = description.glosses.keys() - written
        refused += [name] if description.text and by_people.comment else []
        refused += [f"{name}.{column}" for column in _others(entry, in_force)]
        if in_force or (description.text and not by_people.comment):
            saved.add(logical)
    if described:  # also what is not in force: nobody is asked about these tables again
        describer.write(described, asked=False)
    return SavedDescriptions(len(saved), tuple(refused))
