"""The parts of a query as programs give and get them: what a person changes on the page."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from dovetail.domain.sql import MOST, MOST_ROWS, MOST_VALUES, NUMBER

Name = Annotated[str, Field(min_length=1, max_length=1_000)]
_COMPARED = Literal[
    "=", "not =", "in", "not in", "like", "not like", "ilike", "not ilike",
    ">", "<", ">=", "<=", "<>", "between",
]  # fmt: skip


class ItemPart(BaseModel):
    """What is returned, grouped or sorted by: a column, or a function of it; rows without one.

    `unit` is the time that dates are grouped by.
    """

    table: Name
    column: Name | None = None
    function: Literal["", "count", "sum", "avg", "max", "min"] = ""
    distinct: bool = False
    unit: Literal["", "year", "quarter", "month", "week", "day"] = ""
    words: str = ""


class OrderPart(ItemPart):
    """What rows are sorted by, and whether the highest come first."""

    down: bool = False


class ConditionPart(BaseModel):
    """What must hold of a column; with `either`, it or the condition before it."""

    table: Name
    column: Name
    operator: _COMPARED
    values: list[Annotated[str, Field(max_length=1_000)]] = Field(
        min_length=1, max_length=MOST_VALUES
    )
    either: bool = False
    words: str = ""


class HavingPart(BaseModel):
    """How many rows a group must have."""

    operator: Literal[">", "<", ">=", "<=", "=", "<>"]
    number: str = Field(pattern=f"^{NUMBER}$")
    words: str = ""


class QueryParts(BaseModel):
    """The parts of a query: each has its `words`, and `open` what of the question no part is for;
    these are not read back."""

    select: list[ItemPart] = Field(default_factory=list, max_length=MOST["select"])
    where: list[ConditionPart] = Field(default_factory=list, max_length=MOST["where"])
    group: list[ItemPart] = Field(default_factory=list, max_length=MOST["group"])
    having: list[HavingPart] = Field(default_factory=list, max_length=MOST["having"])
    order: list[OrderPart] = Field(default_factory=list, max_length=MOST["order"])
    absent: list[Name] = Field(default_factory=list, max_length=MOST["absent"])
    counted: list[Name] = Field(default_factory=list, max_length=MOST["counted"])
    limit: int = Field(0, ge=0, le=MOST_ROWS)
    distinct: bool = False
    both: bool = False
    everything: bool = False
    open: list[str] = Field(default_factory=list, max_length=MOST["open"])
