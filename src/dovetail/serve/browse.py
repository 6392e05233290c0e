"""The tables of a catalog as a list to sort and filter, and where a text stands in it: in names of
columns and in cells.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Annotated

from fastapi import FastAPI, Query, Request
from pydantic import BaseModel

from dovetail.api.catalog import Catalog
from dovetail.serve.views import safe
from dovetail.text import one_line

_HOLDS = "holds "


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


def add_browsing(app: FastAPI, catalog_of: Callable[[Request], Catalog]) -> None:
    """Serve the list of tables and the search in it; `catalog_of` gives what a caller may see."""

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


def _listing(catalog: Catalog) -> Listing:
    families, tables = catalog.families(), catalog.reader.records.tables
    sizes = zip(tables["rows"].to_pylist(), tables["columns"].to_pylist(), strict=True)
    size = dict(zip(catalog.ids, sizes, strict=True))
    kept = list(dict.fromkeys(families.canonical(table) for table in catalog.ids))
    pairs = {frozenset(map(families.canonical, pair)) for pair in catalog.join_graph().pairs()}
    joins = Counter(table for pair in pairs if len(pair) > 1 for table in pair)
    family = {table: families.of(table) for table in kept}
    return Listing(
        ids=[one_line(str(table)) for table in kept],
        rows=[int(size[table][0]) for table in kept],
        columns=[int(size[table][1]) for table in kept],
        joins=[joins[table] for table in kept],
        also=[
            [one_line(str(one)) for one in family[table].tables if one != table]  # type: ignore[union-attr]
            if family[table] is not None
            else []
            for table in kept
        ],
        total=len(catalog),
    )


def _hits(catalog: Catalog, text: str, limit: int) -> list[Hit]:
    """Cells first, which the index of values finds; then names of columns that contain the text."""
    wanted = text.strip().casefold()
    hits = [
        Hit(table=one_line(str(candidate.id)), why=safe(reason))
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
            hits.append(Hit(table=one_line(str(table)), why=safe(why)))
    return hits[:limit]
