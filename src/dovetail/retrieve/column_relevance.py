"""Which columns of a table matter to a query, so that a prompt can leave out the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dovetail.domain import Column, Kind, Table
from dovetail.search.query import Query, stems
from dovetail.search.searcher import Searcher

# What the words of a header and a cell that the question quotes count for, beside a cosine.
_WORDS, _QUOTED = 1.0, 1.0
# A cell shorter than this stands in any question by chance.
_LEAST_QUOTED = 3
# The share of a column's name that a question must say to speak of it, and how many columns may
# hold a value for each of them to be meant.
_HALF, _FEW_COLUMNS = 0.5, 12


def by_relevance(searcher: Searcher, query: Query, table: Table) -> list[int]:
    """The places of a table's columns, the most relevant to the query first.

    A column's score is the share of its name that the question says, one if the question quotes a
    cell of it, and the cosine of its header.
    """
    cosines = [0.0] * len(table.columns)
    if query.vector is not None:
        cosines = (searcher.column_vectors(table.id) @ query.vector).tolist()
    scores = []
    for place, column in enumerate(table.columns):
        name = stems(column.name)
        shared = sum(stem in query.words for stem in name) / max(len(name), 1)
        quoted = any(_is_quoted(cell, query) for cell in _cells(table, place))
        scores.append(_WORDS * shared + _QUOTED * quoted + cosines[place])
    return sorted(range(len(scores)), key=lambda place: (-scores[place], place))


def deciding(searcher: Searcher, query: Query, table: Table) -> frozenset[int]:
    """The places of the columns that the question speaks of, by name or by a cell.

    Of a column's name the question must say at least half, in its own or in other forms of the
    words, and rare words are more of a name than frequent ones; a cell counts where it is a value
    link that few columns share.
    """
    said = {word: share for term in query.terms for word, share in term.expansions}
    linked = searcher.linked_columns(query, table.id, most=_FEW_COLUMNS)
    found = set(linked)
    for place, column in enumerate(table.columns):
        weights = {stem: searcher.lexical.idf(stem) for stem in stems(column.name)}
        share = sum(weight * said.get(stem, 0.0) for stem, weight in weights.items())
        if share and share >= _HALF * sum(weights.values()):
            found.add(place)
    return frozenset(found)


def example(table: Table, place: int, query: Query) -> str | None:
    """A cell that shows what a column holds: one that the question quotes, or any text."""
    for cell in _cells(table, place):
        if _is_quoted(cell, query):
            return cell
    if not _is_text(table.columns[place]):
        return None
    return next(iter(_cells(table, place)), None)


def narrowed(table: Table, places: Sequence[int]) -> Table:
    """A table with some of its columns alone, in their own order."""
    kept = sorted(places)
    return replace(
        table,
        columns=tuple(table.columns[place] for place in kept),
        sample=tuple(tuple(row[place] for place in kept) for row in table.sample),
    )


def _cells(table: Table, place: int) -> list[str]:
    sampled = (row[place] for row in table.sample)
    return [cell for cell in (*table.columns[place].profile.examples, *sampled) if cell]


def _is_quoted(cell: str, query: Query) -> bool:
    return len(cell) >= _LEAST_QUOTED and cell.casefold() in query.folded


def _is_text(column: Column) -> bool:
    return column.profile.kind in (Kind.TEXT, Kind.BOOLEAN)
