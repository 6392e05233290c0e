"""What REST is asked with and answers with, where that is no view of a table, a join or a set."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import BaseModel, Field

from dovetail.serve.views import RowsView

_MOST_ROWS = 1_000


class Ask(BaseModel):
    """A question, and how it is asked."""

    question: str = Field(min_length=1, max_length=4_000, examples=["Who ordered what?"])
    breadth: float | None = Field(None, ge=0, le=1, description="0 few tables, 1 all that join.")
    selector: str | None = Field(None, max_length=100, description="graph, llm, hybrid, search …")
    k: int | None = Field(None, ge=1, le=100, description="How many candidates.")
    explain: bool = Field(default=False, description="Say what decided, where graph chose.")
    sources: list[str] | None = Field(None, max_length=100, description="These sources alone.")


class Given(BaseModel):
    """Tables that somebody names as the set for a question."""

    question: str = Field("", max_length=4_000)
    tables: list[str] = Field(min_length=1, max_length=50, examples=[["orders", "customers"]])


class Answering(BaseModel):
    """A query to run, or a question that a language model writes one for."""

    sql: str | None = Field(None, max_length=100_000, examples=["SELECT count(*) FROM orders"])
    question: str | None = Field(None, max_length=4_000)
    tables: list[str] | None = Field(None, max_length=100, description="The only tables to read.")
    limit: int = Field(100, ge=1, le=_MOST_ROWS)


@dataclass(frozen=True)
class AnswerView:
    """The SQL that ran and its rows."""

    sql: str
    result: RowsView


@dataclass(frozen=True)
class Listed:
    """Some of the tables, and how many there are."""

    total: int
    tables: list[str]


@dataclass(frozen=True)
class About:
    """What a page needs to know of the server: how questions are asked, and some to begin with."""

    version: str
    language_model: bool
    notes_writable: bool
    breadth: float
    examples: list[str]


@dataclass(frozen=True)
class Stats:
    """What the catalog holds."""

    tables: int
    sources: int
    columns: int
    rows: int
    families: int
    generation: int
