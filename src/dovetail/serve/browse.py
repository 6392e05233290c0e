"""What there is to look at: tables, families, joins, key domains and paths; and where a text is, in
names of columns and in cells.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Annotated

from fastapi import FastAPI, Query, Request
from pydantic import BaseModel

from dovetail.api.catalog import Catalog
from dovetail.serve.pile import Piles, PileView, logical_joins, logical_tables
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
CatalogOf = Callable[[Request], Catalog]


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


def add_browsing(app: FastAPI, catalog_of: CatalogOf) -> None:
    """Serve what a catalog has; `catalog_of` gives what a caller may see."""

    @app.get("/api/v1/listing")
    def listing(request: Request) -> Listing:
        """All tables with their sizes, families folded."""
        return _listing(catalog_of(request))

    @app.get("/api/v1/find")
    def find(
        request: Request,
        q: Annotated[str, Query(min_length=1, max_length=400)],
        limit: Annotated[int, Query(ge=1, le=1_000)] = 200,
    ) -> list[Hit]:
        """The tables that hold a text as a value, and those with a column that is called so."""
        return _hits(catalog_of(request), q, limit)

    _add_tables(app, catalog_of)
    _add_joins(app, catalog_of)


def _add_tables(app: FastAPI, catalog_of: CatalogOf) -> None:
    @app.get("/api/v1/tables")
    def list_tables(
        request: Request,
        limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
        offset: Annotated[int, Query(ge=0, le=10_000_000)] = 0,
        like: Annotated[str, Query(max_length=1_000)] = "",
    ) -> Listed:
        """The ids of the tables, in order; with `like`, of those whose id contains it."""
        wanted = like.strip().casefold()
        ids = [written_out(str(table)) for table in catalog_of(request).ids]
        fitting = [table for table in ids if wanted in table.casefold()]
        return Listed(total=len(fitting), tables=fitting[offset : offset + limit])

    @app.get("/api/v1/tables/{table:path}")
    def table(request: Request, table: str) -> TableDetail:
        """A table with its columns, copies and partitions."""
        return table_detail(catalog_of(request), table, TableDetail)

    @app.get("/api/v1/families")
    def families(
        request: Request, limit: Annotated[int, Query(ge=1, le=10_000)] = 1_000
    ) -> list[TableFamily]:
        """Tables that are one logical table: copies, partitions, histories, views."""
        catalog = catalog_of(request)
        listed = named(catalog, catalog.families().to_list()[:limit])
        return [TableFamily.model_validate(one) for one in listed]


def _add_joins(app: FastAPI, catalog_of: CatalogOf) -> None:
    @app.get("/api/v1/joins")
    def joins(
        request: Request,
        table: Name | None = None,
        least: Annotated[float, Query(ge=0, le=1)] = 0.5,
        limit: Annotated[int, Query(ge=1, le=10_000)] = 1_000,
    ) -> list[JoinDetail]:
        """The joins above a score, the surest first: of one table, or of all."""
        catalog = catalog_of(request)
        at = None if table is None else find_table(catalog, table).id
        return [join(edge, JoinDetail) for edge in catalog.joins(at, least=least)[:limit]]

    @app.get("/api/v1/domains")
    def domains(
        request: Request,
        table: Name | None = None,
        limit: Annotated[int, Query(ge=1, le=10_000)] = 1_000,
    ) -> list[KeyDomainView]:
        """Which columns hold the same identifiers, where these are made, and what matches none."""
        catalog = catalog_of(request)
        at = None if table is None else find_table(catalog, table).id
        listed = (domain.to_dict() for domain in catalog.domains(at)[:limit])
        return [KeyDomainView.model_validate(safe(domain)) for domain in listed]

    @app.get("/api/v1/path")
    def path(request: Request, start: Name, end: Name) -> list[JoinDetail]:
        """The surest chain of joins from one table to another; empty where there is none."""
        catalog = catalog_of(request)
        first, last = (find_table(catalog, name).id for name in (start, end))
        return [join(edge, JoinDetail) for edge in catalog.path(first, last)]

    piles = Piles()

    @app.get("/api/v1/pile")
    def pile(request: Request) -> PileView:
        """The whole join graph as a drawing: families folded, every table with its place."""
        return piles.of(catalog_of(request))


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
