"""Which tables of a catalog a query means, where nobody has listed them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dovetail.answer.identifiers import fold
from dovetail.answer.relations import Relation, relations
from dovetail.catalog.lookup import find_table, matches
from dovetail.catalog.reader import CatalogReader
from dovetail.domain import Table
from dovetail.errors import AmbiguousTableError


def tables_of_query(
    catalog: CatalogReader, names: Iterable[str], tables: Sequence[Table] | None = None
) -> tuple[Relation, ...]:
    """The tables that a query may read, under the names that it calls them by.

    A name in the query is looked up like any other (`orders`, `sales.customers`, the quoted
    `"shop.sqlite::orders"`): among `tables` where they are given, which also go by the names that
    `relations` gives them, else in the whole catalog. A name that fits no table of the catalog, or
    several, is an error; one that fits none of the given tables is left for the guard to refuse.
    """
    found = {fold(relation.name): relation for relation in relations(tables or ())}
    known = {table.id: table for table in tables or ()}
    ids = catalog.ids if tables is None else list(known)
    for said in names:
        if fold(said) in found or (tables is not None and not matches(ids, said)):
            continue
        try:
            table = find_table(ids, said, catalog.folder)
        except AmbiguousTableError as error:
            raise AmbiguousTableError(f"{error} (in double quotes)") from None
        found[fold(said)] = Relation(known.get(table) or catalog[table], said, (said,))
    return tuple(found.values())
