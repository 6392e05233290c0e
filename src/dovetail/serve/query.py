"""Queries over HTTP: written from parts that a person changed, run, called off, given as files;
and a join held against the rows of its tables.
"""

from __future__ import annotations

import io
from typing import Literal

import pyarrow.csv as arrow_csv
import pyarrow.parquet as parquet
from fastapi import APIRouter
from fastapi.responses import Response
from pydantic import BaseModel, Field

from dovetail.answer.results import Answer
from dovetail.api.catalog import Catalog
from dovetail.domain import TableSet
from dovetail.errors import NotFoundError, UsageError
from dovetail.serve.query_parts import Name, QueryParts
from dovetail.serve.seen import Seen
from dovetail.serve.views import Rows, answer_rows, find_table, named_set, safe
from dovetail.text import sql_lines, sql_of_model, written_out

MOST_ROWS = 1_000
router = APIRouter(prefix="/api/v1")


class Writing(BaseModel):
    """Parts of a query, and the tables that they are of."""

    question: str = Field("", max_length=4_000)
    tables: list[Name] = Field(min_length=1, max_length=50)
    parts: QueryParts


class Written(BaseModel):
    """A query as SQL, in words, and part by part."""

    sql: str
    reading: str
    parts: QueryParts


class Answering(BaseModel):
    """A query to run, or a question that a language model writes one for."""

    sql: str | None = Field(None, max_length=100_000, examples=["SELECT count(*) FROM orders"])
    question: str | None = Field(None, max_length=4_000)
    tables: list[str] | None = Field(None, max_length=100, description="The only tables to read.")
    run: bool = Field(
        False, description="Whether the query for a question may run on sources that bill for it."
    )
    limit: int = Field(100, ge=1, le=MOST_ROWS, description="Rows that are told as JSON.")
    format: Literal["json", "csv", "parquet"] = Field(
        "json", description="csv and parquet give all rows, as a file."
    )


class AnswerRows(BaseModel):
    """The SQL that ran, its rows, and how long it took."""

    sql: str
    result: Rows
    seconds: float


class JoinNamed(BaseModel):
    """A join by its tables and pairs of columns."""

    left: Name
    right: Name
    columns: list[tuple[str, str]] = Field(min_length=1, max_length=20)


class JoinRows(BaseModel):
    """What the rows say of a join: how many of `rows` are `matched`, how it multiplies them."""

    rows: int
    matched: int
    multiplied: float
    matching: list[str]
    orphans: list[str]
    examples: list[dict[str, str]]


@router.post("/query")
def query(catalog: Seen, wanted: Writing) -> Written:
    """SQL for parts that you changed: columns, conditions, groups, an order."""
    given = named_set(catalog, wanted.question, wanted.tables)
    return written(catalog.completed(given, wanted.parts.model_dump()))


@router.post("/answer", response_model=AnswerRows)
def answer(catalog: Seen, wanted: Answering) -> AnswerRows | Response:
    """The rows of a query of yours, or of one for a question: a model's, or the skeleton.

    A query whose caller has gone ends.
    """
    if (wanted.sql is None) == (wanted.question is None):
        raise UsageError("give either sql or question")
    if wanted.question is not None:
        done = catalog.answer(_asked(catalog, wanted.question, wanted))
    else:
        named = wanted.tables
        tables = None if named is None else [find_table(catalog, name) for name in named]
        done = catalog.sql(sql_of_model(str(wanted.sql)), tables)
    if wanted.format != "json":
        return _file(done, wanted.format)
    seconds = round(sum(done.seconds.values()), 4)
    return AnswerRows(
        sql=sql_lines(done.sql), result=answer_rows(done, wanted.limit), seconds=seconds
    )


@router.post("/joins/check")
def check_join(catalog: Seen, named: JoinNamed) -> JoinRows:
    """A join held against the rows of its tables: partners, orphans, what it multiplies."""
    left, right = (find_table(catalog, name).id for name in (named.left, named.right))
    for edge in catalog.join_graph().between(left, right):
        if list(edge.columns) == named.columns:
            return JoinRows.model_validate(safe(catalog.check_join(edge).to_dict()))
    raise NotFoundError(f"no join of {left} and {right} on these columns is known")


def written(result: TableSet) -> Written:
    """The query of a set."""
    parts = QueryParts.model_validate(result.parts)
    return Written(sql=sql_lines(result.skeleton), reading=written_out(result.reading), parts=parts)


def _asked(catalog: Catalog, question: str, wanted: Answering) -> TableSet:
    """The set of a question, or that of the tables that its caller names.

    An error where its query would run on sources that somebody pays for, unasked.
    """
    if wanted.tables is None:
        result = catalog.ask(question)
    else:
        result = catalog.completed(named_set(catalog, question, wanted.tables))
    sources = set() if wanted.run else {table.source for table in result} & catalog.billed
    if sources:
        raise UsageError(
            f"{' and '.join(sorted(sources))} {'bill' if len(sources) > 1 else 'bills'} for "
            "queries, so none is run by itself: say "
            "run=true, give sql, or set run_billed"
        )
    return result


def _file(done: Answer, kind: str) -> Response:
    """All rows as a file."""
    content = io.BytesIO()
    if kind == "csv":
        arrow_csv.write_csv(done.to_arrow(), content)
        media_type = "text/csv"
    else:
        parquet.write_table(done.to_arrow(), content)
        media_type = "application/vnd.apache.parquet"
    return Response(
        content.getvalue(),
        media_type=media_type,
        headers={"content-disposition": f'attachment; filename="rows.{kind}"'},
    )
