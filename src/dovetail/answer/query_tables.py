"""Which tables of a catalog a query means, where nobody has listed them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from dovetail.answer.guard import base_tables, parse
from dovetail.answer.relations import Relation, relations
from dovetail.catalog.lookup import find_table, matches
from dovetail.catalog.reader import CatalogReader
from dovetail.domain import Table, TableId


def tables_of_query(
    catalog: CatalogReader,
    sql: str,
    tables: Sequence[Table] | None = None,
    *,
    dialect: str = "duckdb",
) -> tuple[Relation, ...]:
    """The tables that a query may read, under the names that it calls them by.

    A name in the query is looked up like any other (`orders`, `sales.customers`, the quoted
    `"shop.sqlite::orders"`): among `tables` where they are given, which also go by the names that
    `relations` gives them, else in the whole catalog. A name that fits no table of the catalog, or
    several, is an error; one that fits none of the given tables is left for the guard to refuse.
    """
    found = {relation.name.casefold(): relation for relation in relations(tables or ())}
    ids = catalog.ids if tables is None else [table.id for table in tables]
    known: Mapping[TableId, Table] = {table.id: table for table in tables or ()}
    for node in base_tables(parse(sql, dialect)):
        if not isinstance(node.this, exp.Identifier):
            continue  # a function in the place of a table: the guard refuses it
        said = ".".join(part.name for part in node.parts)
        if said.casefold() in found or (tables is not None and not matches(ids, said)):
            continue
        table = find_table(ids, said, catalog.path)
        called = Relation(known[table] if tables is not None else catalog[table], said, (said,))
        found[said.casefold()] = called
    return tuple(found.values())
