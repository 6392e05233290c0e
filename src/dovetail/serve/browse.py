"""What there is to look at: tables, families, joins, key domains and paths; and where a text is, in
names of columns and in cells.
"""

from __future__ import annotations

from collections import Counter
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel

from dovetail.api.catalog import Catalog
from dovetail.serve.pile import Piles, PileView, logical_joins, logical_tables
from dovetail.serve.seen import Seen
from dovetail.serve.views import (
    JoinDetail,
    KeyDomainView,
    TableDetail,
    TableFamily,
    find_table,
    join,
    named,
    safe,
)
from dovetail.serve.views import table as table_detail
from dovetail.text import written_out

_HOLDS = "holds "
Name = Annotated[str, Query(min_length=1, max_length=1_000)]
Limit = Annotated[int, Query(ge=1, le=10_000)]
_PILES = Piles()
router = APIRouter(prefix="/api/v1")


class Listed(BaseModel):
    """Some of the tables, and how many there are."""

    total: int
    tables: list[str]


class Listing(BaseModel):
    """Tables in parallel lists, families folded into the tables that stand for them.

    `joins` counts those that are sure, `also` are the other members of a table's family.
    """

    ids: list[str]
    rows: list[int]
    columns: list[int]
    joins: list[int]
    also: list[list[str]]
    total: int


class Hit(BaseModel):
    """A table that has a text in the name of a column, or in a cell; `why` says where."""

    table: str
    why: str


@router.get("/listing")
def listing(catalog: Seen) -> Listing:
    """All tables with their sizes, families folded."""
    return _listing(catalog)


@router.get("/find")
def find(
    catalog: Seen,
    q: Annotated[str, Query(min_length=1, max_length=400)],
    limit: Annotated[int, Query(ge=1, le=1_000)] = 200,
) -> list[Hit]:
    """The tables that hold a text as a value, and those with a column that is called so."""
    return _hits(catalog, q, limit)


@router.get("/tables")
def list_tables(
    catalog: Seen,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
    offset: Annotated[int, Query(ge=0, le=10_000_000)] = 0,
    like: Annotated[str, Query(max_length=1_000)] = "",
) -> Listed:
    """The ids of the tables, in order; with `like`, of those whose id contains it."""
    wanted = like.strip().casefold()
    ids = [written_out(str(table)) for table in catalog.ids]
    fitting = [table for table in ids if wanted in table.casefold()]
    return Listed(total=len(fitting), tables=fitting[offset : offset + limit])


@router.get("/tables/{table:path}")
def table(catalog: Seen, table: str) -> TableDetail:
    """A table with its columns, copies and partitions."""
    return table_detail(catalog, table, TableDetail)


@router.get("/families")
def families(catalog: Seen, limit: Limit = 1_000) -> list[TableFamily]:
    """Tables that are one logical table: copies, partitions, histories, views."""
    listed = named(catalog, catalog.families().to_list()[:limit])
    return [TableFamily.model_validate(one) for one in listed]


@router.get("/joins")
def joins(
    catalog: Seen,
    table: Name | None = None,
    least: Annotated[float, Query(ge=0, le=1)] = 0.5,
    limit: Limit = 1_000,
) -> list[JoinDetail]:
    """The joins above a score, the surest first: of one table, or of all."""
    at = None if table is None else find_table(catalog, table).id
    return [join(edge, JoinDetail) for edge in catalog.joins(at, least=least)[:limit]]


@router.get("/domains")
def domains(catalog: Seen, table: Name | None = None, limit: Limit = 1_000) -> list[KeyDomainView]:
    """Which columns hold the same identifiers, where these are made, and what matches none."""
    at = None if table is None else find_table(catalog, table).id
    listed = (domain.to_dict() for domain in catalog.domains(at)[:limit])
    return [KeyDomainView.model_validate(safe(domain)) for domain in listed]


@router.get("/path")
def path(catalog: Seen, start: Name, end: Name) -> list[JoinDetail]:
    """The surest chain of joins from one table to another; empty where there is none."""
    first, last = (find_table(catalog, name).id for name in (start, end))
    return [join(edge, JoinDetail) for edge in catalog.path(first, last)]


@router.get("/pile")
def pile(catalog: Seen) -> PileView:
    """The whole join graph as a drawing: families folded, every table with its place."""
    return _PILES.of(catalog)


def _listing(catalog: Catalog) -> Listing:
    tables, records = logical_tables(catalog), catalog.reader.records.tables
    sizes = zip(records["rows"].to_pylist(), records["columns"].to_pylist(), strict=True)
    size = dict(zip(catalog.ids, sizes, strict=True))
    joins = Counter(table for pair in logical_joins(catalog) for table in pair)
    return Listing(
        ids=[written_out(str(table)) for table in tables],
        rows=[int(size[table][0]) for table in tables],
        columns=[int(size[table][1]) for table in tables],
        joins=[joins[table] for table in tables],
        also=list(tables.values()),
        total=len(catalog),
    )


def _hits(catalog: Catalog, text: str, limit: int) -> list[Hit]:
    """Cells first, which the index of values finds; then names of columns that contain the text."""
    wanted = text.strip().casefold()
    hits = [
        Hit(table=written_out(str(candidate.id)), why=safe(reason))
        for candidate in catalog.search(text, 50, explain=True)
        for reason in candidate.reasons
        if reason.startswith(_HOLDS)
    ]
    records = catalog.reader.records
    names, bounds = records.columns["name"].to_pylist(), records.bounds
    for at, table in enumerate(catalog.ids):
        named = [name for name in names[bounds[at] : bounds[at + 1]] if wanted in name.casefold()]
        if named and wanted and len(hits) < limit:
            why = f"has {', '.join(named[:3])}" + (" …" if len(named) > 3 else "")
            hits.append(Hit(table=written_out(str(table)), why=safe(why)))
    return hits[:limit]
