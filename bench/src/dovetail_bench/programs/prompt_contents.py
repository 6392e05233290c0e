"""What a selection prompt shows of what the gold query needs; no model is asked.

    dovetail bench run prompt_contents DATA [DATA ...] [--limit 200]

For each prompt: its tokens with the shortest right reply, by our estimate, as a mean and at most,
and as a part of what the paper's takes; the mean number of candidates; the share of questions whose
gold tables are all among them; and of what the gold SQL has, the shares of joins (two tables that
it joins) and of columns that the text names. `compact` and `full` are given 10 candidates,
`grouped` chooses how many. What is shown is read off the text of the prompt, as a model reads it.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from dovetail.answer.relations import relations
from dovetail.answer.scopes import joins, read_columns
from dovetail.answer.tree import parse
from dovetail.catalog.reader import CatalogReader
from dovetail.domain import TableId
from dovetail.errors import GuardError
from dovetail.models.chat import estimate_tokens
from dovetail.retrieve.core_t import CoreTRetriever
from dovetail.retrieve.core_t_options import CoreTOptions
from dovetail.retrieve.opening import searcher_of
from dovetail.retrieve.prompt_groups import MOST
from dovetail.retrieve.registry import COMPACT, FULL, GROUPED
from dovetail.retrieve.select_llm import SelectOptions
from dovetail.settings import Settings
from dovetail_bench.datasets import Dataset, open_dataset
from dovetail_bench.programs.prompts import PAPER, Listener, reply, spaced
from dovetail_bench.questions import Question

CANDIDATES = {COMPACT: 10, GROUPED: MOST, FULL: 10}
HEADS = (
    "corpus", "prompt", "tokens", "most", "of the paper's", "candidates", "gold tables", "joins",
    "columns",
)  # fmt: skip
_JOINED = re.compile(r"^(\d+)\.[^=\n]*=(\d+.*)$", re.MULTILINE)
_NUMBER = re.compile(r"(?:^|,)(\d+)(?=[.,\s]|$)")
_JOINED_IN_FULL = re.compile(r"^(\d+) and (\d+): ", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Needed:
    """What the gold query of a question reads: two tables for each join, and columns."""

    joins: frozenset[frozenset[TableId]]
    columns: frozenset[tuple[TableId, str]]

    @classmethod
    def of(cls, catalog: CatalogReader, question: Question) -> Needed:
        """What can be read off the SQL; nothing where it cannot be parsed."""
        known = relations(catalog[table] for table in question.gold)
        try:
            tree = parse(question.sql or "", "sqlite")
        except GuardError:
            return cls(frozenset(), frozenset())
        pairs = {frozenset((one.left, one.right)) for one in joins(tree, known)}
        columns = frozenset(read_columns(tree, known))
        return cls(frozenset(pair for pair in pairs if len(pair) == 2), columns)


@dataclass
class Counts:
    """Sums over the questions of a corpus for one prompt."""

    tokens: list[int] = field(default_factory=list)
    candidates: int = 0
    complete: int = 0
    joins: int = 0
    joins_shown: int = 0
    columns: int = 0
    columns_shown: int = 0

    def add(self, prompt: str, form: str, shown: Sequence[TableId], question: Question) -> None:
        """Count a prompt's length and whether it has the gold tables."""
        right = [shown.index(table) + 1 for table in question.gold if table in shown]
        self.tokens.append(estimate_tokens(prompt) + estimate_tokens(reply(form, right)))
        self.candidates += len(shown)
        self.complete += len(right) == len(question.gold)

    def cells(self, corpus: str) -> list[str]:
        """The figures as cells of a table."""
        count = len(self.tokens)
        mean = sum(self.tokens) / count
        paper = f"1/{PAPER[corpus] / mean:.1f}" if corpus in PAPER else ""
        return [
            f"{mean:,.0f}",
            f"{max(self.tokens):,}",
            paper,
            f"{self.candidates / count:.1f}",
            f"{100 * self.complete / count:.1f}",
            f"{100 * self.joins_shown / max(1, self.joins):.1f}",
            f"{100 * self.columns_shown / max(1, self.columns):.1f}",
        ]


def joined_in(prompt: str, form: str) -> set[frozenset[int]]:
    """The numbers of two tables for each join that a prompt shows."""
    if form == FULL:
        return {frozenset(map(int, pair)) for pair in _JOINED_IN_FULL.findall(prompt)}
    return {
        frozenset((int(one), int(other)))
        for one, others in _JOINED.findall(prompt)
        for other in _NUMBER.findall(others)
    }


def text_of(prompt: str, form: str, number: int) -> str:
    """The part of a prompt that speaks of a table: its line or its block, and its joins."""
    if form == FULL:
        block = re.search(rf"^Candidate {number}\n(.*?)(?=^Candidate |\Z)", prompt, _BLOCK)
        lines = re.findall(rf"^(?:{number} and \d+|\d+ and {number}): .*$", prompt, re.MULTILINE)
        return "\n".join([block[1] if block else "", *lines])
    lines = re.findall(rf"^(?:{number} |{number}\.|\d+\..*[=,]{number}\b).*$", prompt, re.M)
    return "\n".join(lines)


_BLOCK = re.MULTILINE | re.DOTALL


def measure(dataset: Dataset, limit: int) -> dict[str, Counts]:
    """The counts of each prompt over questions from all over a corpus."""
    settings = Settings()
    catalog = dataset.catalog(settings)
    searcher = searcher_of(catalog, settings)
    questions = spaced(dataset.questions(), limit)
    known = {str(table): table for table in catalog.ids}
    needed = [Needed.of(catalog, question) for question in questions]
    found = {}
    for form, k in CANDIDATES.items():
        listener = Listener()
        options = CoreTOptions(k, select=SelectOptions(form), adjustment="none")
        retriever = CoreTRetriever(searcher, listener, options)
        counts = found[form] = Counts()
        for question, gold in zip(questions, needed, strict=True):
            search, select = map(dict[str, Any], retriever.retrieve(question.text).trace)
            ranked = [known[one["table"]] for one in search["candidates"]]
            left_out = select.get("cut", {}).get("left_out", ())
            shown = ranked[: len(ranked) - len(left_out)]
            prompt = listener.asked[-1]
            counts.add(prompt, form, shown, question)
            _count_needed(counts, prompt, form, shown, gold)
    return found


def _count_needed(
    counts: Counts, prompt: str, form: str, shown: Sequence[TableId], gold: Needed
) -> None:
    """Count the joins and columns of the gold query that a prompt shows."""
    pairs = {frozenset(shown[n - 1] for n in pair) for pair in joined_in(prompt, form)
             if max(pair) <= len(shown)}  # fmt: skip
    counts.joins += len(gold.joins)
    counts.joins_shown += len(gold.joins & pairs)
    counts.columns += len(gold.columns)
    for table, column in gold.columns:
        text = text_of(prompt, form, shown.index(table) + 1) if table in shown else ""
        there = re.search(rf"(?<!\w){re.escape(column)}(?!\w)", text, re.IGNORECASE)
        counts.columns_shown += there is not None


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure each corpus, and print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", nargs="+", help="corpora, as `dovetail bench` takes them")
    parser.add_argument("--limit", type=int, default=200, help="questions of each corpus")
    given = parser.parse_args(arguments)
    print(f"| {' | '.join(HEADS)} |")
    print("|---" * len(HEADS) + "|")
    for data in given.data:
        dataset = open_dataset(data)
        for form, counts in measure(dataset, given.limit).items():
            cells = [dataset.name, f"`{form}`", *counts.cells(dataset.name)]
            print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
