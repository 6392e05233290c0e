"""What people are told beside what programs are: evidence of joins, comments, families, samples.

A page shows these on a look closer; an agent would pay for them with every call.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from dovetail.api.catalog import Catalog
from dovetail.catalog.purposes import purposes
from dovetail.domain import Chosen, Column, JoinEdge, Table, TableId, TableSet
from dovetail.domain.sql import transform_words
from dovetail.joins.graph import JOINABLE
from dovetail.serve.views import (
    ColumnView,
    FoundView,
    JoinView,
    RowsView,
    TableView,
    column_view,
    found_view,
    join_view,
    sample_view,
    table_view,
    told_table,
)
from dovetail.text import cut, one_line

# Sampled rows of a table, members of a family, characters of a comment and of a prompt.
_ROWS, _MEMBERS, _COMMENT, _PROMPT = 8, 200, 1_000, 40_000


@dataclass(frozen=True, slots=True)
class JoinDetail(JoinView):
    """A join with its columns and the evidence for it; `transform` is what both sides need."""

    columns: list[list[str]]
    transform: str
    evidence: dict[str, float]


@dataclass(frozen=True)
class FoundDetail(FoundView):
    """A set with the evidence of its joins, and what to write SQL with.

    `answerable` is the probability that the catalog can answer the question, `uncovered` are its
    words that no table covers; `sql` is a query over the joins, to start from.
    """

    joins: Sequence[JoinDetail]
    answerable: float | None
    uncovered: list[str]
    sql: str
    prompt: str


@dataclass(frozen=True, slots=True)
class ColumnDetail(ColumnView):
    """A column with its comment and the range of its values."""

    comment: str
    minimum: str | None
    maximum: str | None


@dataclass(frozen=True, slots=True)
class MemberView:
    """A table of a family: its role there, and why."""

    table: str
    role: str
    evidence: str


@dataclass(frozen=True)
class TableDetail(TableView):
    """A table with what is said of it, its family, and sampled rows."""

    columns: Sequence[ColumnDetail]
    comment: str
    purpose: str
    remarks: list[str]
    family: list[MemberView]
    sample: RowsView


def join_detail(edge: JoinEdge) -> JoinDetail:
    """A join with its evidence."""
    return JoinDetail(
        **asdict(join_view(edge)),
        columns=[[one_line(a), one_line(b)] for a, b in edge.columns],
        transform=transform_words(edge.transform),
        evidence={name: round(value, 4) for name, value in edge.evidence.items()},
    )


def joins_among(catalog: Catalog, tables: Iterable[TableId]) -> list[JoinDetail]:
    """The joins between some tables, the surest first."""
    return [join_detail(edge) for edge in _among(catalog, tables)]


def _among(catalog: Catalog, tables: Iterable[TableId]) -> list[JoinEdge]:
    inside = set(tables)
    graph = catalog.join_graph()
    found = {
        (edge.left, edge.right, edge.columns): edge
        for table in sorted(inside)
        for edge in graph.joins(table, least=JOINABLE)
        if {edge.left, edge.right} <= inside
    }
    return [found[key] for key in sorted(found, key=lambda key: (-found[key].score, key))]


def found_detail(catalog: Catalog, found: TableSet) -> FoundDetail:
    """A set with all that a page shows of it."""
    plain: dict[str, Any] = vars(found_view(catalog, found)) | {
        "joins": [join_detail(edge) for edge in found.joins]
    }
    return FoundDetail(
        **plain,
        answerable=found.answerable,
        uncovered=[one_line(word) for word in found.uncovered],
        sql=found.skeleton,
        prompt=catalog.prompt(found)[:_PROMPT] if found else "",
    )


def given_set(catalog: Catalog, question: str, tables: Iterable[str]) -> FoundDetail:
    """A set that somebody names, such as an alternative, as if it had been found."""
    ids = list(dict.fromkeys(told_table(catalog, table).id for table in tables))
    chosen = tuple(Chosen(table, 1.0, "given", "you chose it") for table in ids)
    edges = _among(catalog, ids)
    surest = {frozenset((edge.left, edge.right)): edge for edge in reversed(edges)}
    joins = tuple(edge for edge in edges if surest[frozenset((edge.left, edge.right))] is edge)
    details = tuple(catalog[table] for table in ids)
    return found_detail(catalog, TableSet(question, chosen, joins, details=details))


def table_detail(catalog: Catalog, table: Table) -> TableDetail:
    """A table with all that a page shows of it."""
    plain: dict[str, Any] = {
        name: getattr(shown, name)
        for shown in (table_view(catalog, table),)
        for name in shown.__dataclass_fields__
    }
    plain["columns"] = [_column(one) for one in table.columns[: len(plain["columns"])]]
    family = catalog.families().of(table.id)
    members = family.members[:_MEMBERS] if family else ()
    purpose = purposes(catalog).get(table.id)
    return TableDetail(
        **plain,
        comment=_text(table.comment),
        purpose=_text(purpose.text) if purpose else "",
        remarks=[
            _text(f"{remark.column}: {remark.text}" if remark.column else remark.text)
            for remark in catalog.notes.remarks_on(table.id)
        ],
        family=[
            MemberView(one_line(str(one.id)), one.role.value, _text(one.evidence))
            for one in members
        ],
        sample=sample_view(table, _ROWS),
    )


def _column(column: Column) -> ColumnDetail:
    profile = column.profile
    low, high = (
        None if value is None else _text(value) for value in (profile.minimum, profile.maximum)
    )
    return ColumnDetail(**asdict(column_view(column)), comment=_text(column.comment),
                        minimum=low, maximum=high)  # fmt: skip


def _text(text: str) -> str:
    return one_line(cut(text, _COMMENT))
