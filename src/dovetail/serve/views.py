"""What programs and the page get of tables, joins, sets and rows: the JSON of `to_dict`, made safe.

Names, values and reasons come from sources: they are data, on one line each, and cannot steer a
model by the marks of chat templates. A model here says which keys of the JSON are given out, and
how it is described to whoever calls; an agent pays for every key, so it gets fewer than the page.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any, TypeVar

from pydantic import BaseModel

from dovetail.answer.answer import Answer, plain_rows
from dovetail.api.catalog import Catalog
from dovetail.domain import Candidate, Chosen, JoinEdge, Table, TableId, TableSet
from dovetail.errors import NotFoundError
from dovetail.text import cut, one_line

# Phrases to look for that are taken, of which the first few are searched, and characters of each.
MOST_PHRASES, LONGEST_PHRASE = 20, 1_000
# How much of anything is given: columns of a table, examples of a column, members of a family,
# sampled rows, characters of a cell, of a text, of a schema slice and of a prompt.
MOST_COLUMNS, _EXAMPLES, _MEMBERS, _ROWS = 200, 3, 200, 8
_CELL, _TEXT, _SCHEMA, _PROMPT = 200, 1_000, 20_000, 40_000


class TableRef(BaseModel):
    """A table: its id, and by that its name and the label of its source."""

    id: str
    name: str
    source: str


class RankedTable(TableRef):
    """A table that search found, and how relevant it is (0 to 1)."""

    relevance: float
    signals: dict[str, float]


class ChosenTable(TableRef):
    """A table of a set: why it is there, and how surely it is needed (0 to 1).

    `stage` is where it came in: `connect` for a table that only connects the others. `also` are its
    copies and partitions, which the table here represents.
    """

    score: float
    stage: str
    reason: str
    also: list[str]


class JoinBrief(BaseModel):
    """How two tables join, as SQL has it; rows of `left` refer to rows of `right`."""

    left: str
    right: str
    condition: str
    score: float
    cardinality: str
    match_rate: float


class JoinDetail(JoinBrief):
    """A join with its columns and the evidence for it; `after` is what both sides need first."""

    columns: list[list[str]]
    transform: str | None
    after: str | None
    evidence: dict[str, float]


class OtherSet(BaseModel):
    """Another set that the question could mean, and the F1 to expect of it.

    `probability` is that of this reading of the question, `reason` what speaks for it.
    """

    tables: list[str]
    confidence: float
    probability: float
    reason: str


class CandidateBrief(BaseModel):
    """A table that was considered: what it is, and the columns that the question speaks of.

    A column is written as `name "meaning" 'example'`.
    """

    id: str
    description: str
    columns: list[str]


class TableSetBrief(BaseModel):
    """The set of tables for a question. Where `nothing_fits`, it is empty and `nearest` are told.

    `candidates` were considered and left out, the likeliest first; `candidate_joins` are how they
    join each other and the set, with how sure that is. `ddl` has CREATE TABLE of the set with
    example values and joins, for whoever writes SQL. `explanation` says what decided, where that
    was asked for.
    """

    question: str
    nothing_fits: bool
    tables: list[ChosenTable]
    joins: list[JoinBrief]
    connected: bool
    confidence: float | None
    alternatives: list[OtherSet]
    nearest: list[str]
    candidates: list[CandidateBrief]
    candidate_joins: list[str]
    warnings: list[str]
    ddl: str
    truncated: bool
    explanation: dict[str, Any] | None


class TableSetDetail(TableSetBrief):
    """A set with the evidence of its joins, and what to write SQL with.

    `answerable` is the probability that the catalog can answer the question, `uncovered` are its
    words that no table covers; `skeleton` is a query over the joins, to start from.
    """

    joins: list[JoinDetail]  # type: ignore[assignment] # pydantic takes a narrower field
    answerable: float | None
    uncovered: list[str]
    skeleton: str
    prompt: str


class ColumnBrief(BaseModel):
    """A column: its type, and what its values look like."""

    name: str
    type: str
    kind: str
    unique: bool
    nulls: int
    distinct: int
    examples: list[str]


class ColumnDetail(ColumnBrief):
    """A column with its comment and the range of its values."""

    comment: str
    minimum: str | None
    maximum: str | None


class TableBrief(TableRef):
    """A table; `also` are its copies and partitions, which the table here represents."""

    rows: int
    columns: list[ColumnBrief]
    truncated: bool
    also: list[str]


class Member(TableRef):
    """A table of a family: its role there, and why."""

    role: str
    evidence: str


class TableFamily(BaseModel):
    """The logical table that a table is part of."""

    name: str
    canonical: str
    members: list[Member]


class TableDescription(BaseModel):
    """What is said of a table, and what no person says of its columns; `author` is `person`,
    `dictionary`, `agent`, or the id of a language model."""

    text: str
    author: str
    columns: dict[str, str]


class TableDetail(TableBrief):
    """A table with what is said of it, its family, and sampled rows."""

    columns: list[ColumnDetail]  # type: ignore[assignment] # pydantic takes a narrower field
    comment: str
    description: TableDescription | None
    notes: list[str]
    family: TableFamily | None
    sample: list[list[str | None]]


class Rows(BaseModel):
    """Rows as lists of cells, in the order of `columns`; `truncated` where there were more."""

    columns: list[str]
    rows: list[list[str | None]]
    truncated: bool
    warnings: list[str]


SetModel = TypeVar("SetModel", bound=TableSetBrief)
TableModel = TypeVar("TableModel", bound=TableBrief)
JoinModel = TypeVar("JoinModel", bound=JoinBrief)


def safe(value: Any) -> Any:
    """JSON in which every text is on one line and not too long, and every number is short."""
    if isinstance(value, Mapping):
        return {key: safe(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [safe(part) for part in value]
    if isinstance(value, float):
        return round(value, 4)
    return one_line(cut(value, _TEXT)) if isinstance(value, str) else value


def find_table(catalog: Catalog, name: str) -> Table:
    """The table that a program means: by a name, or by an id as it was given out.

    What is given out of a hostile name has its marks broken up, so it is no name of the catalog.
    """
    try:
        return catalog[name]
    except NotFoundError:
        for table in catalog.ids:
            if name in (one_line(str(table)), one_line(table.name)):
                return catalog[table]
        raise


def ranked(candidate: Candidate) -> RankedTable:
    """A table of the ranking, with the parts of its score."""
    return RankedTable.model_validate(safe(candidate.to_dict()))


def join(edge: JoinEdge, model: type[JoinModel]) -> JoinModel:
    """A join, with its evidence where the model has it."""
    return model.model_validate(safe(edge.to_dict()))


def joins_among(catalog: Catalog, tables: Iterable[TableId]) -> list[JoinEdge]:
    """The joins between some tables, the surest first."""
    inside = set(tables)
    edges = {
        (edge.left, edge.right, edge.columns): edge
        for table in sorted(inside)
        for edge in catalog.joins(table)
        if {edge.left, edge.right} <= inside
    }
    return [edges[key] for key in sorted(edges, key=lambda key: (-edges[key].score, key))]


def set_json(catalog: Catalog, found: TableSet, model: type[SetModel]) -> SetModel:
    """A set with as much as the model has of it."""
    schema, others = found.ddl(), catalog.considered(found)
    texts = {
        "question": one_line(found.question),
        "ddl": schema[:_SCHEMA],
        "truncated": len(schema) > _SCHEMA,
        "skeleton": found.skeleton,
        "prompt": catalog.prompt(found)[:_PROMPT] if found else "",
    }
    more = {
        "nothing_fits": not found,
        "nearest": found.nearest,
        "candidates": [
            {"id": str(one.id), "description": one.description, "columns": one.columns}
            for one in others.tables
        ],
        "candidate_joins": [f"{edge.pairs} ({edge.score:.2f})" for edge in others.joins],
        "explanation": found.explanation,
        "trace": None,
    }
    return model.model_validate(safe(found.to_dict() | more) | texts)


def given_set(catalog: Catalog, question: str, tables: Iterable[str]) -> TableSetDetail:
    """A set that somebody names, such as an alternative, as if it had been found."""
    ids = list(dict.fromkeys(find_table(catalog, table).id for table in tables))
    chosen = tuple(Chosen(table, 1.0, "given", "you chose it") for table in ids)
    edges = joins_among(catalog, ids)
    surest = {frozenset((edge.left, edge.right)): edge for edge in reversed(edges)}
    joins = tuple(edge for edge in edges if surest[frozenset((edge.left, edge.right))] is edge)
    details = tuple(catalog[table] for table in ids)
    return set_json(catalog, TableSet(question, chosen, joins, details=details), TableSetDetail)


def table(catalog: Catalog, name: str, model: type[TableModel]) -> TableModel:
    """A table with the first of its columns, and as much as the model has of what is known."""
    shown = catalog.show(find_table(catalog, name).id)
    family = shown["family"]
    members = [one for one in family["members"] if one["role"] != "twin"] if family else []
    stands = family is not None and family["canonical"] == shown["id"]
    columns = shown["columns"][:MOST_COLUMNS]
    for column in columns:
        column["examples"] = [cut(text, _CELL) for text in column["examples"][:_EXAMPLES]]
    more = {
        "columns": columns,
        "truncated": len(shown["columns"]) > MOST_COLUMNS,
        "also": [one["id"] for one in members if one["id"] != shown["id"]] if stands else [],
        "sample": [[cell and cut(cell, _CELL) for cell in row] for row in shown["sample"][:_ROWS]],
        "family": family and family | {"members": family["members"][:_MEMBERS]},
    }
    return model.model_validate(safe(shown | more))


def answer_rows(answer: Answer, most_rows: int) -> Rows:
    """The first rows of a query's result."""
    shown = plain_rows(answer.rows.slice(0, most_rows))
    cells = zip(*(column.to_pylist() for column in shown.columns), strict=True)
    return Rows(
        columns=safe(answer.columns),
        rows=[[_cell(value) for value in row] for row in cells],
        truncated=answer.truncated or len(answer.rows) > most_rows,
        warnings=safe(answer.warnings),
    )


def sampled_rows(shown: Table, limit: int) -> Rows:
    """Sampled rows of a table, as the catalog keeps them: no source is read."""
    rows = [[_cell(value) for value in row] for row in islice(shown.sample, limit)]
    columns = [one_line(column.name) for column in shown.columns]
    return Rows(columns=columns, rows=rows, truncated=shown.rows > len(rows), warnings=[])


def _cell(value: object) -> str | None:
    return None if value is None else one_line(cut(str(value), _CELL))
