"""Which columns of a table matter to a question, so that a prompt can leave out the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dovetail.domain import Column, Kind, Table
from dovetail.search.query_terms import asked, stems
from dovetail.search.searcher import Searcher

# What the words of a header and a cell that the question quotes count for, beside a cosine.
_WORDS, _QUOTED = 1.0, 1.0
# A cell shorter than this stands in any question by chance.
_LEAST_QUOTED = 3


def by_relevance(searcher: Searcher, question: str, table: Table) -> list[int]:
    """The places of a table's columns, the most relevant to the question first."""
    words = set(asked(question))
    folded = question.casefold()
    cosines = [0.0] * len(table.columns)
    if searcher.embedder is not None:
        vectors = searcher.column_vectors(table.id)
        cosines = (vectors @ searcher.vector(question)).tolist()
    scores = []
    for place, column in enumerate(table.columns):
        name = stems(column.name)
        shared = sum(stem in words for stem in name) / max(len(name), 1)
        quoted = any(_is_quoted(cell, folded) for cell in _cells(table, place))
        scores.append(_WORDS * shared + _QUOTED * quoted + cosines[place])
    return sorted(range(len(scores)), key=lambda place: (-scores[place], place))


def example(table: Table, place: int, question: str) -> str | None:
    """A cell that shows what a column holds: one that the question quotes, or any text."""
    folded = question.casefold()
    for cell in _cells(table, place):
        if _is_quoted(cell, folded):
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


def _is_quoted(cell: str, folded: str) -> bool:
    return len(cell) >= _LEAST_QUOTED and cell.casefold() in folded


def _is_text(column: Column) -> bool:
    return column.profile.kind in (Kind.TEXT, Kind.BOOLEAN)
