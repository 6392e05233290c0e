"""In words, what a table has to do with a question: the cells it holds, the words its names say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dovetail.catalog.reader import CatalogReader
from dovetail.domain import Table
from dovetail.markdown import cut
from dovetail.search.query import Query, QueryTerm
from dovetail.search.query_terms import query_words, stems

# Characters of a comment that a reason quotes.
_WIDTH = 80


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
        meant = [term for term in query.terms if place in term.tables]
        if meant:
            own += _said(catalog[catalog.ids[place]], query, meant)
        found.append(own)
    return found


def _said(table: Table, query: Query, terms: Sequence[QueryTerm]) -> Iterator[str]:
    """Which words the names of a table say, and what its comments say of the others."""
    comments = [("", table.comment), *((column.name, column.comment) for column in table.columns)]
    told = [(name, text, set(query_words(text))) for name, text in comments if text]
    names = set(stems(table.name)).union(*(stems(column.name) for column in table.columns))
    by_name = [term for term in terms if not told or _means(term, names)]
    if by_name:
        yield f"its names say {', '.join(query.words[term.text] for term in by_name)}"
    left = [term for term in terms if term not in by_name]
    for name, text, words in told:
        if any(_means(term, words) for term in left):
            left = [term for term in left if not _means(term, words)]
            whose = f"the comment on {name}" if name else "its comment"
            yield f"{whose} says {cut(text, _WIDTH)!r}"
    if left:
        yield f"its purpose says {', '.join(query.words[term.text] for term in left)}"


def _means(term: QueryTerm, words: set[str]) -> bool:
    return any(word in words for word, _ in term.expansions)
