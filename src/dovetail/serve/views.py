"""What programs and the page get of tables, joins, sets and rows: the JSON of `to_dict`, made safe.

Names, values and reasons come from sources: they are data, on one line each. A model here says
which keys of the JSON are given out, and how it is described to whoever calls; an agent pays for
every key, so it gets fewer than the page.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, Literal, TypeVar

import pyarrow as pa
from pydantic import BaseModel

from dovetail.answer.results import Answer, json_value, plain_rows
from dovetail.api.catalog import Catalog, sql_prompt
from dovetail.domain import Candidate, Chosen, JoinEdge, Kind, Table, TableId, TableSet
from dovetail.domain.joins import surest
from dovetail.domain.schema import ddl
from dovetail.domain.tables import NUMBERS, source_name
from dovetail.errors import DovetailError, NotFoundError
from dovetail.serve.query_parts import QueryParts
from dovetail.text import (
    confidence_word,
    cut,
    one_line,
    sql_for_model,
    sql_lines,
    written_out,
)

# Phrases to look for that are taken, of which the first few are searched, and characters of each.
MOST_PHRASES, LONGEST_PHRASE = 20, 1_000
# How much of anything is given: columns of a table, examples of a column, members of a family,
# sampled rows, characters of a cell, of a text, of a schema slice and of a prompt.
MOST_COLUMNS, _EXAMPLES, _MEMBERS, _ROWS = 200, 3, 200, 8
_CELL, _TEXT, _SCHEMA, _PROMPT = 200, 1_000, 20_000, 40_000
# Of what an agent is told: copies of a table, candidates with their joins, columns of each,
# characters on it.
_COPIES, _CANDIDATES, _CANDIDATE_JOINS, _CANDIDATE_COLUMNS, _SENTENCE = 2, 7, 8, 12, 100


# A cell of a row, as JSON has it; whole numbers beyond this bound are texts, for not all readers of
# JSON have them exactly.
Cell = bool | int | float | str | None
_EXACT = 2**53


# The folders before the name of a file; an address of the web is none.
_FOLDERS = re.compile(r"(?<![\w./:])/(?:[^\s/'\":;,]+/)+")


# How a name is given out, to programs and to agents.
_GIVEN = (written_out, one_line)


# How sure something is, in one word, beside its number.
Sureness = Literal["sure", "likely", "unsure", "guess"]


class TableRef(BaseModel):
    """A table: its id, and by that its name and the label of its source, which `source_name` is
    short for."""

    id: str
    name: str
    source: str
    source_name: str


class RankedTable(TableRef):
    """A table that search found, and how relevant it is (0 to 1)."""

    relevance: float
    signals: dict[str, float]


class ChosenTable(TableRef):
    """A table of a set: why it is there, and how surely it is needed (0 to 1).

    `sureness` is that in one word. `stage` is where it came in: `connect` for a table that only
    connects the others, which has no word. `also` are its copies and partitions, which the table
    here represents.
    """

    score: float
    sureness: Sureness | None
    stage: str
    reason: str
    also: list[str]


class JoinBrief(BaseModel):
    """How two tables join, as SQL has it; rows of `left` refer to rows of `right`."""

    left: str
    right: str
    condition: str
    score: float
    sureness: Sureness
    cardinality: str
    match_rate: float


class JoinDetail(JoinBrief):
    """A join with its columns and the evidence for it; `after` is what both sides need first, and
    `when` the condition on which a column refers to this table."""

    columns: list[list[str]]
    transform: str | None
    after: str | None
    when: str | None
    evidence: dict[str, float]


class DomainColumnView(BaseModel):
    """A column of a key domain: what it refers to, how, and how many values find no partner."""

    table: str
    column: str
    refers_to: str | None
    after: str | None
    match_rate: float
    values_without_partner: int
    examples: list[str]
    parts: list[str]


class KeyDomainView(BaseModel):
    """Columns that hold the same identifiers; `masters` are where these are made, by source."""

    name: str
    normal_form: str
    master: str
    masters: dict[str, str]
    columns: list[DomainColumnView]


class OtherReading(BaseModel):
    """Another set, and how the question is read over it, in words."""

    tables: list[str]
    confidence: float  # the F1 to expect of it
    probability: float  # of this reading of the question
    sureness: Sureness
    reason: str
    reading: str


class CandidateBrief(BaseModel):
    """A table that was considered: what it is, and the columns that the question speaks of.

    A column is written as `name "meaning" 'example'`.
    """

    id: str
    description: str = ""
    columns: list[str]


class FoundTable(BaseModel):
    """A table of a set and why it is there; `also` are the first of its copies and partitions and
    how many more there are, `source_name` is short for its source, where that is longer."""

    id: str
    reason: str
    source_name: str = ""
    also: list[str] = []


class FoundTables(BaseModel):
    """The set of tables for a question, short: an agent pays for every character. Keys without
    anything are left out.

    Where `nothing_fits`, there is no table and `nearest` are told. `joins` are conditions with how
    sure they are. `ddl` has CREATE TABLE of the set with an example value for each column;
    `skeleton` is a query that the question seems to ask for, made without a model, `reading` how it
    was read. `candidates` were considered and left out, the likeliest first; `candidate_joins` are
    how they join each other and the set. `alternatives` are other sets that could be meant.
    """

    nothing_fits: bool = False
    tables: list[FoundTable] = []
    joins: list[str] = []
    confidence: float | None = None
    sureness: Sureness | None = None
    warnings: list[str] = []
    ddl: str = ""
    skeleton: str = ""
    reading: str = ""
    alternatives: list[list[str]] = []
    nearest: list[str] = []
    candidates: list[CandidateBrief] = []
    candidate_joins: list[str] = []
    truncated: bool = False


class Because(BaseModel):
    """A thing that decided over a table, in words; `without` is the probability without it."""

    thing: str
    words: str
    without: float | None = None


class ExplainedTable(BaseModel):
    """What decided over a table of a set; one that only connects the others has no probability."""

    table: str
    probability: float | None = None
    because: list[Because]


class NextTable(BaseModel):
    """The best table that stayed out, and why."""

    table: str
    probability: float
    because: str


class ExplainedReading(BaseModel):
    """Another set that could be meant; `words` say when it is the right one."""

    tables: list[str]
    probability: float
    words: str


class Explanation(BaseModel):
    """What decided over a set: table by table, why it suffices, the best table that stayed out, and
    the next readings."""

    tables: list[ExplainedTable]
    suffices: str = ""
    next: NextTable | None
    readings: list[ExplainedReading] = []


class TableSetDetail(BaseModel):
    """The set of tables for a question. Where `nothing_fits`, it is empty and `nearest` are told.

    `candidates` were considered and left out, the likeliest first; `candidate_joins` are how they
    join each other and the set, with how sure that is. `ddl` has CREATE TABLE of the set with
    example values and joins, for whoever writes SQL; `skeleton` is a query that the question seems
    to ask for, made without a model, and `reading` says how it was read; `parts` are those of the
    skeleton, to be changed and given back. `explanation` says what decided, where that was asked
    for. `answerable` is the probability that the catalog can answer the question, `uncovered` are
    its words that no table covers.
    """

    question: str
    nothing_fits: bool
    tables: list[ChosenTable]
    joins: list[JoinDetail]
    connected: bool
    confidence: float | None
    sureness: Sureness | None
    alternatives: list[OtherReading]
    nearest: list[str]
    candidates: list[CandidateBrief]
    candidate_joins: list[str]
    warnings: list[str]
    ddl: str
    truncated: bool
    skeleton: str
    reading: str
    explanation: Explanation | None
    parts: QueryParts
    answerable: float | None
    uncovered: list[str]
    prompt: str


class ColumnBrief(BaseModel):
    """A column: its type, and what its values look like."""

    name: str
    type: str
    unique: bool = False
    nulls: int = 0
    distinct: int
    examples: list[str]


class ColumnDetail(ColumnBrief):
    """A column with its kind, its comment and the range of its values."""

    kind: str
    unique: bool
    nulls: int
    comment: str
    minimum: str | None
    maximum: str | None


class TableBrief(BaseModel):
    """A table; `sql` is what a query calls it, `also` are its copies and partitions, which it
    represents, `domains` say of its columns which identifiers they hold, and where these are made.
    """

    id: str
    source_name: str
    sql: str
    rows: int
    columns: list[ColumnBrief]
    truncated: bool = False
    also: list[str] = []
    domains: list[str] = []


class Member(TableRef):
    """A table of a family: its role there, what tells it from the others, and why."""

    role: str
    label: str
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


class TableDetail(TableRef):
    """A table as `TableBrief` has it, with what is said of it, its family, and sampled rows."""

    sql: str
    rows: int
    columns: list[ColumnDetail]
    truncated: bool
    also: list[str]
    domains: list[str]
    comment: str
    description: TableDescription | None
    notes: list[str]
    family: TableFamily | None
    sample: list[list[str | None]]


class Rows(BaseModel):
    """Rows as lists of cells, in the order of `columns`; `truncated` where there were more.

    `types` are those of the columns: integer, real, text, boolean, date, timestamp … Cells are
    numbers and truths where JSON has them exactly, and texts otherwise.
    """

    columns: list[str]
    types: list[str]
    rows: list[list[Cell]]
    truncated: bool
    warnings: list[str]


RankedModel = TypeVar("RankedModel", bound=BaseModel)
TableModel = TypeVar("TableModel", TableBrief, TableDetail)
JoinModel = TypeVar("JoinModel", bound=JoinBrief)


def safe(value: Any, names: Mapping[str, str] | None = None) -> Any:
    """JSON in which every text is on one line and not too long, and every number is short; with
    the short `names` of sources, every table has that of its own beside its id."""
    if isinstance(value, str):  # first, as most of what there is
        return written_out(cut(value, _TEXT))
    if isinstance(value, float):
        return round(value, 4)
    if isinstance(value, (list, tuple)):
        return [safe(part, names) for part in value]
    if isinstance(value, Mapping):
        shown = {key: safe(part, names) for key, part in value.items()}
        return {**shown, **safe(source_name(value, names))} if names else shown
    return value


def message_of(error: DovetailError, folder: Path) -> str:
    """What is said of an error to who asks: one line, without paths of this machine."""
    return written_out(_FOLDERS.sub("", str(error).replace(str(folder), "the catalog")))


def find_table(catalog: Catalog, name: str) -> Table:
    """The table that a program means: by a name, or by an id as it was given out.

    What is given out of a hostile name has odd characters written out, and for an agent its marks
    broken up, so it is no name of the catalog.
    """
    try:
        return catalog[name]
    except NotFoundError:
        for table in catalog.ids:
            if name in {given(each) for given in _GIVEN for each in (str(table), table.name)}:
                return catalog[table]
        raise


def named(catalog: Catalog, document: Any) -> Any:
    """JSON made safe, with the short names of sources."""
    return safe(document, catalog.reader.source_names)


def ranked(
    catalog: Catalog, candidates: Iterable[Candidate], model: type[RankedModel]
) -> list[RankedModel]:
    """The tables of a ranking, each with as much as the model has of what is known."""
    return [model.model_validate(named(catalog, one.to_dict())) for one in candidates]


def join(edge: JoinEdge, model: type[JoinModel]) -> JoinModel:
    """A join, with its evidence where the model has it."""
    return model.model_validate(safe(edge.to_dict()))


def few(names: list[str], most: int) -> list[str]:
    """The first of some names, and how many more there are.

    >>> few(["a", "b", "c", "d"], 2), few(["a", "b", "c"], 2)
    (['a', 'b', '2 more'], ['a', 'b', 'c'])
    """
    return names if len(names) <= most + 1 else [*names[:most], f"{len(names) - most:,} more"]


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


def _readings(catalog: Catalog, result: TableSet) -> Iterator[dict[str, Any]]:
    """The alternatives of a set, each with how the question is read over it."""
    for other in result.alternatives:
        given = named_set(catalog, result.question, map(str, other.tables))
        yield other.to_dict() | {"reading": catalog.completed(given).reading}


def found_tables(catalog: Catalog, result: TableSet) -> FoundTables:
    """A set as an agent gets it."""
    schema, others = ddl(result.details, names=result.names, examples=1), catalog.considered(result)
    names = catalog.reader.source_names
    short = {label: name for label, name in names.items() if len(name) < len(label)}
    listed = {*result.ids, *(one.id for one in others.tables[:_CANDIDATES])}
    joins = [edge for edge in others.joins if {edge.left, edge.right} <= listed]
    document = {
        "nothing_fits": not result,
        "tables": [
            {
                "id": str(one.id),
                "reason": one.reason,
                "source_name": short.get(one.id.source, ""),
                "also": few(list(map(str, one.also)), _COPIES),
            }
            for one in result.tables
        ],
        "joins": [
            f"{edge.condition(result.names)} ({edge.cardinality}, {_sure(edge)})"
            for edge in result.joins
        ],
        "confidence": result.confidence,
        "sureness": result.sureness,
        "warnings": result.warnings,
        "reading": result.reading,
        "alternatives": [list(map(str, other.tables)) for other in result.alternatives],
        "nearest": result.nearest,
        "candidates": [
            {
                "id": str(one.id),
                "description": cut(one.description, _SENTENCE),
                "columns": one.columns[:_CANDIDATE_COLUMNS],
            }
            for one in others.tables[:_CANDIDATES]
        ],
        "candidate_joins": _conditions(joins[:_CANDIDATE_JOINS]),
        "truncated": len(schema) > _SCHEMA,
    }
    texts = {"ddl": schema[:_SCHEMA], "skeleton": sql_for_model(result.skeleton)}
    return FoundTables.model_validate(safe(document) | texts)


def _conditions(edges: Iterable[JoinEdge]) -> list[str]:
    return [f"{edge.condition()} ({_sure(edge)})" for edge in edges]


def _sure(edge: JoinEdge) -> str:
    return f"{confidence_word(edge.score)} {edge.score:.2f}"


def set_json(catalog: Catalog, result: TableSet) -> TableSetDetail:
    """A set with all that is known of it."""
    schema, others = result.ddl(), catalog.considered(result)
    texts = {
        "question": written_out(result.question),
        "ddl": schema[:_SCHEMA],
        "truncated": len(schema) > _SCHEMA,
        "skeleton": sql_lines(result.skeleton),
        "prompt": sql_prompt(schema, result.question)[:_PROMPT] if result else "",
    }
    more = {
        "nothing_fits": not result,
        "nearest": result.nearest,
        "candidates": [
            {"id": str(one.id), "description": one.description, "columns": one.columns}
            for one in others.tables
        ],
        "candidate_joins": _conditions(others.joins),
        "explanation": result.explanation,
        "trace": None,
    }
    more |= {"parts": result.parts, "alternatives": list(_readings(catalog, result))}
    return TableSetDetail.model_validate(named(catalog, result.to_dict() | more) | texts)


def named_set(catalog: Catalog, question: str, tables: Iterable[str]) -> TableSet:
    """A set that somebody names, such as an alternative, as if it had been found."""
    ids = list(dict.fromkeys(find_table(catalog, table).id for table in tables))
    chosen = tuple(Chosen(table, 1.0, "given", "you chose it") for table in ids)
    return TableSet(question, chosen, tuple(surest(joins_among(catalog, ids))))


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
    return model.model_validate(named(catalog, shown | more))


def answer_rows(answer: Answer, most_rows: int) -> Rows:
    """The first rows of a query's result."""
    shown = plain_rows(answer.rows.slice(0, most_rows))
    cells = zip(*(column.to_pylist() for column in shown.columns), strict=True)
    return Rows(
        columns=safe(answer.columns),
        types=[_type(field.type) for field in answer.rows.schema],
        rows=[[_cell(value) for value in row] for row in cells],
        truncated=answer.truncated or len(answer.rows) > most_rows,
        warnings=safe(answer.warnings),
    )


def sampled_rows(shown: Table, limit: int) -> Rows:
    """Sampled rows of a table, as the catalog keeps them: no source is read."""
    kinds = [column.profile.kind for column in shown.columns]
    rows = [
        [_cell(_read(text, kind)) for text, kind in zip(row, kinds, strict=True)]
        for row in islice(shown.sample, limit)
    ]
    columns = [written_out(column.name) for column in shown.columns]
    types = [column.profile.kind.value for column in shown.columns]
    return Rows(
        columns=columns, types=types, rows=rows, truncated=shown.rows > len(rows), warnings=[]
    )


def _read(text: str | None, kind: Kind) -> Cell:
    """The number that a sampled text is in a column of numbers."""
    try:
        if text is not None and kind in NUMBERS:
            return int(text) if kind is Kind.INTEGER else float(text)
    except ValueError:  # one that was cut
        pass
    return text


def _type(kind: pa.DataType) -> str:
    """A type of Arrow by the word for what it holds, as kinds of columns are called."""
    if pa.types.is_integer(kind):
        return "integer"
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return "real"
    if pa.types.is_timestamp(kind):
        return "timestamp"
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return "text"
    return {pa.bool_(): "boolean", pa.date32(): "date"}.get(kind, str(kind))


def _cell(value: object) -> Cell:
    plain: Cell = json_value(value)
    if isinstance(plain, str) or (isinstance(plain, int) and abs(plain) > _EXACT):
        return written_out(cut(str(plain), _CELL))
    return plain
