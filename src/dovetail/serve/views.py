"""What programs are told of tables, joins, sets and rows: plain data, capped, JSON-ready.

Names, values and reasons come from sources: they are data, on one line each, and cannot steer a
model by the marks of chat templates. What a tool returns has no slots: the MCP SDK would take them
for defaults.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from dovetail.answer.answer import Answer, plain_rows
from dovetail.api.catalog import Catalog
from dovetail.domain import Candidate, Column, JoinEdge, Table, TableSet
from dovetail.errors import NotFoundError
from dovetail.text import cut, one_line

# How much of anything is told: columns of a table, examples of a column, characters of a cell.
MOST_COLUMNS, _EXAMPLES, _CELL = 200, 3, 200
# Characters of a schema slice.
_MOST_SCHEMA = 20_000


@dataclass(frozen=True, slots=True)
class ColumnView:
    """A column: its type, and what its values look like."""

    name: str
    type: str
    kind: str
    unique: bool
    nulls: int
    distinct: int
    examples: list[str]


@dataclass(frozen=True, slots=True)
class JoinView:
    """How two tables join, as SQL has it; rows of `left` refer to rows of `right`."""

    left: str
    right: str
    condition: str
    score: float
    cardinality: str
    match_rate: float


@dataclass(frozen=True, slots=True)
class TableView:
    """A table; `also` are its copies and partitions, which the table here stands for."""

    id: str
    name: str
    source: str
    rows: int
    columns: Sequence[ColumnView]
    truncated: bool
    also: list[str]


@dataclass(frozen=True, slots=True)
class ChosenView:
    """A table of a set: why it is there, and how surely it is needed (0 to 1).

    `stage` is where it came in: `connect` for a table that only connects the others.
    """

    id: str
    name: str
    source: str
    score: float
    stage: str
    reason: str
    also: list[str]


@dataclass(frozen=True, slots=True)
class AlternativeView:
    """Another set that the question could mean, and the F1 to expect of it.

    `probability` is that of this reading of the question, `reason` what speaks for it.
    """

    tables: list[str]
    confidence: float
    probability: float
    reason: str


@dataclass(frozen=True)
class FoundView:
    """The set of tables for a question. Where `nothing_fits`, it is empty and `nearest` are told.

    `ddl` has CREATE TABLE of the set with example values and joins, for whoever writes SQL.
    `explanation` says what decided, where that was asked for.
    """

    question: str
    nothing_fits: bool
    tables: list[ChosenView]
    joins: Sequence[JoinView]
    connected: bool
    confidence: float | None
    alternatives: list[AlternativeView]
    nearest: list[str]
    warnings: list[str]
    ddl: str
    truncated: bool
    explanation: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class RankedView:
    """A table that search found, and how relevant it is (0 to 1)."""

    id: str
    relevance: float
    signals: dict[str, float]


@dataclass(frozen=True)
class RowsView:
    """Rows as lists of cells, in the order of `columns`; `truncated` where there were more."""

    columns: list[str]
    rows: list[list[str | None]]
    truncated: bool
    warnings: list[str]


def table_view(catalog: Catalog, table: Table) -> TableView:
    """A table with its columns, the first so many."""
    return TableView(
        id=one_line(str(table.id)),
        name=one_line(table.name),
        source=one_line(table.id.source),
        rows=table.rows,
        columns=[column_view(column) for column in table.columns[:MOST_COLUMNS]],
        truncated=len(table.columns) > MOST_COLUMNS,
        also=also(catalog, table),
    )


def told_table(catalog: Catalog, name: str) -> Table:
    """The table that a program means: by a name, or by an id as it was told to it.

    What is told of a hostile name has its marks broken up, so it is no name of the catalog.
    """
    try:
        return catalog[name]
    except NotFoundError:
        for table in catalog.ids:
            if name in (one_line(str(table)), one_line(table.name)):
                return catalog[table]
        raise


def also(catalog: Catalog, table: Table) -> list[str]:
    """The other members of a table's family, if it stands for one."""
    family = catalog.families().of(table.id)
    if family is None or family.canonical != table.id:
        return []
    return [one_line(str(other)) for other in family.tables if other != table.id]


def join_view(edge: JoinEdge) -> JoinView:
    """A join with its condition."""
    left, right = _quoted(edge.left.name), _quoted(edge.right.name)
    pairs = (f"{left}.{_quoted(a)} = {right}.{_quoted(b)}" for a, b in edge.columns)
    return JoinView(
        left=one_line(str(edge.left)),
        right=one_line(str(edge.right)),
        condition=one_line(" AND ".join(pairs)),
        score=round(edge.score, 4),
        cardinality=edge.cardinality,
        match_rate=round(edge.match_rate, 4),
    )


def found_view(catalog: Catalog, found: TableSet) -> FoundView:
    """A set with all that is known of it."""
    schema = found.ddl()
    tables = [
        ChosenView(
            id=one_line(str(chosen.id)),
            name=one_line(chosen.name),
            source=one_line(chosen.id.source),
            score=round(chosen.relevance, 4),
            stage=chosen.stage,
            reason=one_line(chosen.reason),
            also=also(catalog, table),
        )
        for chosen, table in zip(found.tables, found.details, strict=True)
    ]
    return FoundView(
        question=one_line(found.question),
        nothing_fits=not found,
        tables=tables,
        joins=[join_view(edge) for edge in found.joins],
        connected=found.connected,
        confidence=found.confidence,
        alternatives=[
            AlternativeView(
                [one_line(str(table)) for table in other.tables],
                other.confidence,
                other.probability,
                one_line(other.reason),
            )
            for other in found.alternatives
        ],
        nearest=[one_line(table) for table in found.nearest],
        warnings=[one_line(warning) for warning in found.warnings],
        ddl=schema[:_MOST_SCHEMA],
        truncated=len(schema) > _MOST_SCHEMA,
        explanation=_on_one_line(found.explanation),
    )


def _on_one_line(value: Any) -> Any:
    """What decided, with each text on one line."""
    if isinstance(value, Mapping):
        return {key: _on_one_line(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_on_one_line(part) for part in value]
    return one_line(value) if isinstance(value, str) else value


def ranked_view(candidate: Candidate) -> RankedView:
    """A table of the ranking, with the parts of its score."""
    signals = {name: round(value, 4) for name, value in candidate.signals.items()}
    return RankedView(one_line(str(candidate.id)), round(candidate.relevance, 4), signals)


def answer_view(answer: Answer, most_rows: int) -> RowsView:
    """The first rows of a query's result."""
    shown = plain_rows(answer.rows.slice(0, most_rows))
    cells = zip(*(column.to_pylist() for column in shown.columns), strict=True)
    return RowsView(
        columns=[one_line(name) for name in answer.columns],
        rows=[[_cell(value) for value in row] for row in cells],
        truncated=answer.truncated or len(answer.rows) > most_rows,
        warnings=[one_line(warning) for warning in answer.warnings],
    )


def sample_view(table: Table, limit: int) -> RowsView:
    """Sampled rows of a table, as the catalog keeps them: no source is read."""
    rows: Sequence[Sequence[object]] = list(islice(table.sample, limit))
    return RowsView(
        columns=[one_line(column.name) for column in table.columns],
        rows=[[_cell(value) for value in row] for row in rows],
        truncated=table.rows > len(rows),
        warnings=[],
    )


def column_view(column: Column) -> ColumnView:
    """A column with a few of its values."""
    profile = column.profile
    return ColumnView(
        name=one_line(column.name),
        type=one_line(column.type),
        kind=profile.kind.value,
        unique=profile.unique,
        nulls=profile.nulls,
        distinct=profile.distinct,
        examples=[one_line(cut(text, _CELL)) for text in profile.examples[:_EXAMPLES]],
    )


def _cell(value: object) -> str | None:
    return None if value is None else one_line(cut(str(value), _CELL))


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
