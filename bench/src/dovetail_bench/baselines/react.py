"""ReAct: a language model that searches, looks, and searches again, then names the tables.

Published as Yao and others, "ReAct: Synergizing Reasoning and Acting in Language Models" (2023);
the paper's own baseline (Section 5 and the appendix on baselines) is what this follows: thought,
action, observation; `table_search` over the dense index returns up to 5 tables not seen before; at
most 3 searches; a recall-first prompt; numbers only in the answer; DR@K where it cannot be used.

Tables are shown with name, purpose, header and five rows, under a number that is the same in every
run; `react:paper` searches the paper's index. A step that is no step, repeats a search or searches
beyond the limit is pointed out, and tolerated so many times: `slips`. Every message is a function
of the question and the replies so far, so a run can be replayed round by round.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field

from dovetail.catalog.reader import CatalogReader
from dovetail.domain import Candidate, Chosen, Table, TableId, TableSet
from dovetail.models.chat import without_thoughts
from dovetail.ports import LLM, Message
from dovetail.prompts import read_prompt
from dovetail.retrieve.trace import (
    Stage,
    ranked,
    require_positive,
    table_set,
)
from dovetail.search.query import clipped
from dovetail.search.searcher import Searcher
from dovetail.settings import Settings
from dovetail_bench.baselines.prompting import numbers_in
from dovetail_bench.baselines.ranking import PAPER, Ranking, nearest_by, words_of
from dovetail_bench.markdown import markdown
from dovetail_bench.prompts import PROMPTS
from dovetail_bench.replay import needed_model
from dovetail_bench.retrievers import published_searcher

# Repetitions are bounded: a reply is hostile input, and must be read in linear time.
_OBSERVATION = re.compile(r"^\W{0,40}observation\b", re.IGNORECASE | re.MULTILINE)
_FINAL = re.compile(
    r"^\W{0,40}final answer\W{0,40}?:(.*)", re.IGNORECASE | re.MULTILINE | re.DOTALL
)
_ACTION = re.compile(
    r"^\W{0,40}action\W{0,40}?:\W{0,40}table_search\W{0,20}$\s{0,20}"
    r"^\W{0,20}action input\W{0,40}?:[ \t]{0,40}(\S.*)$",
    re.IGNORECASE | re.MULTILINE,
)
_LONGEST_SEARCH = 500

_NO_STEP = (
    "That was no step. Write a Thought and then either an Action with its Action Input, or the "
    "Final Answer as JSON."
)
_REPEATED = "You have searched for these words already. Search for others or give the Final Answer."
_USED_UP = "Your searches are used up. Give the Final Answer now."
_NOTHING_NEW = "Observation: nothing new. Give the Final Answer now."


@dataclass(slots=True)
class _Run:
    """One conversation: what was said, which tables were seen, what was searched for."""

    messages: list[Message]
    stage: Stage
    seen: dict[int, Candidate] = field(default_factory=dict)
    searches: list[str] = field(default_factory=list)
    slips: int = 0


@dataclass(frozen=True, slots=True)
class ReactRetriever:
    """The tables a model names after at most `searches` searches for `new` tables each."""

    searcher: Searcher
    llm: LLM
    k: int = 10
    searches: int = 3
    new: int = 5
    slips: int = 2
    ranking: Ranking = Searcher.dense

    def __post_init__(self) -> None:
        require_positive(k=self.k, searches=self.searches, new=self.new)

    def retrieve(self, question: str) -> TableSet:
        stage = Stage("react")
        run = _Run(
            list(
                read_prompt("react", PROMPTS).fill(
                    searches=str(self.searches),
                    new=str(self.new),
                    question=clipped(question),
                )
            ),
            stage,
        )
        named = self._converse(run)
        stage.facts |= {"searches": run.searches, "seen": len(run.seen), "slips": run.slips}
        chosen = [
            Chosen(run.seen[number].id, run.seen[number].relevance, "react", "named by the model")
            for number in named
            if number in run.seen
        ]
        if not chosen:
            stage.fall_back("no usable final answer: the dense ranking stands")
            found = self.ranking(self.searcher, question, self.k)
            chosen = list(ranked(found, "search", "dense ranking"))
        return table_set(question, self.searcher.joins, chosen, [stage])

    def _converse(self, run: _Run) -> list[int]:
        """Return the table numbers of the final answer; none if there was no answer."""
        while run.slips <= self.slips:
            text = without_thoughts(run.stage.ask(self.llm, run.messages).text)
            text = _OBSERVATION.split(text, maxsplit=1)[0].strip()
            run.messages.append(Message("assistant", text or "…"))
            action, final = _ACTION.search(text), _FINAL.search(text)
            if final and not (action and action.start() < final.start()):
                return numbers_in(final.group(1), "relevant_tables")
            said = self._step(run, _searched_for(action) if action else "")
            run.messages.append(Message("user", said))
        return []

    def _step(self, run: _Run, search: str) -> str:
        """Do what a step asks for, and return the observation."""
        slip = ""
        if not search:
            slip = _NO_STEP
        elif search.lower() in (done.lower() for done in run.searches):
            slip = _REPEATED
        elif len(run.searches) >= self.searches:
            slip = _USED_UP
        if slip:
            run.slips += 1
            return slip
        run.searches.append(search)
        seen = {candidate.id for candidate in run.seen.values()}
        found = self.ranking(self.searcher, search, len(seen) + self.new)
        fresh = [candidate for candidate in found if candidate.id not in seen][: self.new]
        if not fresh:
            return _NOTHING_NEW
        numbered = {self._number(candidate.id): candidate for candidate in fresh}
        run.seen |= numbered
        rows = [_row(number, self.searcher.catalog[one.id]) for number, one in numbered.items()]
        last = f"\n{_USED_UP}" if len(run.searches) == self.searches else ""
        return "Observation: [\n " + ",\n ".join(rows) + "\n]" + last

    def _number(self, table: TableId) -> int:
        """The number of a table: its place in the corpus."""
        return self.searcher.catalog.ids.index(table)


def _row(number: int, table: Table) -> str:
    """A table as the search returns it."""
    row = {
        "table_index": number,
        "table_name": table.name,
        "purpose": table.comment,
        "table_markdown_content": markdown(table),
    }
    return json.dumps(row, ensure_ascii=False)


def _searched_for(action: re.Match[str]) -> str:
    """The words of an action, without quotes around them."""
    return " ".join(action.group(1).strip().strip("\"'`").split())[:_LONGEST_SEARCH]


def open_react(
    catalog: CatalogReader, *, k: int, settings: Settings, argument: str = ""
) -> ReactRetriever:
    """Open the retriever `react`, or `react:paper` over the paper's index."""
    words = words_of("react", argument, PAPER)
    model = needed_model(catalog.folder, settings, "retriever 'react'")
    searcher = published_searcher(catalog, settings)
    ranking = nearest_by(searcher, paper=PAPER in words)
    return ReactRetriever(searcher, model, k, ranking=ranking)
