"""Builds what every retriever returns: the set with its joins, and the trace of its stages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from dovetail.domain import CAUTIONS, Candidate, Chosen, JoinEdge, TableId, TableSet
from dovetail.errors import UsageError
from dovetail.joins.graph import JoinGraph
from dovetail.ports import LLM, Completion, Json, Message


@dataclass(slots=True)
class Stage:
    """One stage of a retrieval while it runs; `entry` is its entry in the trace.

    `seconds` are those that a model took to write its replies. `timeout` counts what a clock ended:
    where there is any, another run may find something else.
    """

    name: str
    llm_calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    seconds: float = 0.0
    fallback: int = 0
    timeout: int = 0
    facts: dict[str, object] = field(default_factory=dict)

    def ask(
        self,
        llm: LLM,
        messages: Sequence[Message],
        *,
        schema: Json | None = None,
        max_tokens: int = 512,
    ) -> Completion:
        """Ask a model, and count the call, its tokens and its seconds."""
        completion = llm.complete(messages, schema=schema, max_tokens=max_tokens)
        self.llm_calls += 1
        self.tokens_in += completion.tokens_in
        self.tokens_out += completion.tokens_out
        self.seconds += completion.seconds
        return completion

    def fall_back(self, reason: str, *, warn: bool = False) -> None:
        """Record that the stage could not do its work, and why; with `warn` the set says so too."""
        self.fallback = 1
        self.facts["reason"] = reason
        if warn:
            self.facts[CAUTIONS] = [reason]

    @property
    def entry(self) -> Mapping[str, object]:
        return {
            "stage": self.name,
            "llm_calls": self.llm_calls,
            "tokens_in": self.tokens_in,
            "tokens_out": self.tokens_out,
            "seconds": round(self.seconds, 3),
            "fallback": self.fallback,
            **({"timeout": self.timeout} if self.timeout else {}),
            **self.facts,
        }


def table_set(
    question: str, joins: JoinGraph, chosen: Iterable[Chosen], stages: Iterable[Stage]
) -> TableSet:
    """Build the set of the chosen tables, each once, with the best join of every two of them."""
    tables: dict[TableId, Chosen] = {}
    for one in chosen:
        tables.setdefault(one.id, one)
    return TableSet(
        question=question,
        tables=tuple(tables.values()),
        joins=tuple(joins_among(joins, tables)),
        trace=tuple(stage.entry for stage in stages),
    )


def joins_among(joins: JoinGraph, tables: Iterable[TableId]) -> Iterator[JoinEdge]:
    """The best join of every two tables, in their order; with a calendar, if by days alone."""
    inside = list(tables)
    for at, table in enumerate(inside):
        others = set(inside[at + 1 :])
        for edge in joins.joins(table, calendars=True):
            other = edge.right if edge.left == table else edge.left
            if other in others:
                others.remove(other)
                yield edge


def ranked(candidates: Iterable[Candidate], stage: str, reason: str) -> Iterator[Chosen]:
    """Choose all candidates in their order; the reason of each is `reason` and its rank."""
    for rank, candidate in enumerate(candidates, start=1):
        yield Chosen(candidate.id, candidate.relevance, stage, f"{reason}, rank {rank}")


def require_positive(**options: int) -> None:
    """Refuse options that count something and are below one."""
    for name, value in options.items():
        if value < 1:
            raise UsageError(f"{name} is {value}; it must be at least 1")
