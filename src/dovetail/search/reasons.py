"""In words, what a table has to do with a question: the cells it holds, the words its names say."""

from __future__ import annotations

from collections.abc import Sequence

from dovetail.catalog.reader import CatalogReader
from dovetail.search.query import Query


def reasons(catalog: CatalogReader, query: Query, places: Sequence[int]) -> list[list[str]]:
    """The reasons of some tables, each given by its number in the catalog's order."""
    bounds, names = catalog.records.bounds, catalog.records.columns["name"]
    found: list[list[str]] = []
    for place in places:
        start, end = bounds[place], bounds[place + 1]
        own = [
            f"holds {link.span.text!r} in {names[int(column)].as_py()}"
            for link in query.links
            for column in link.columns.tolist()
            if start <= column < end
        ]
        said = [query.words[term.text] for term in query.terms if place in term.tables]
        if said:
            own.append(f"its names say {', '.join(said)}")
        found.append(own)
    return found
