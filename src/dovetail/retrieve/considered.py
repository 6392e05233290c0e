"""The candidates that a result left out, for whoever wants to choose among them: a line each.

A person or an agent knows more of a question than it says. They read what each candidate is, its
columns that the question speaks of with what these mean and hold, and how it joins the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from dovetail.domain import JoinEdge, TableId, TableSet
from dovetail.retrieve.match import (
    by_relevance,
    deciding_columns,
    explained_columns,
    quoted_cells,
)
from dovetail.retrieve.prompt import shown_columns
from dovetail.retrieve.trace import joins_among
from dovetail.search.query import Query
from dovetail.search.searcher import Searcher
from dovetail.text import cut, escape

# Candidates that are told; columns of each, those that decide and others; how many of these have
# an example; and characters of a description.
_MOST, _COLUMNS, _OTHER_COLUMNS, _EXAMPLES, _LONGEST = 16, 14, 10, 3, 120


@dataclass(frozen=True, slots=True)
class ConsideredTable:
    """A candidate: what it is, and its columns with meanings and examples, those that decide first.

    A column is written as `name "meaning" 'example'`.
    """

    id: TableId
    description: str
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Considered:
    """The candidates beside a set, the likeliest first; and the best join of every two tables that
    they and the set have, but for those within the set: those of the likeliest tables first."""

    tables: tuple[ConsideredTable, ...] = ()
    joins: tuple[JoinEdge, ...] = ()


def considered(searcher: Searcher, found: TableSet) -> Considered:
    """What else was considered for a result, by its trace; nothing where that has no candidates."""
    chosen = dict.fromkeys(found.ids)
    candidates = [table for table in _candidates(found) if table in searcher.catalog]
    others = [table for table in candidates if table not in chosen][:_MOST]
    if not others:
        return Considered()
    query = searcher.analyse(". ".join((found.question, *_looked_for(found))))
    rank = {table: at for at, table in enumerate((*chosen, *others))}
    outside = [
        edge
        for edge in joins_among(searcher.joins, list(rank))
        if not {edge.left, edge.right} <= chosen.keys()
    ]
    outside.sort(key=lambda edge: max(rank[edge.left], rank[edge.right]))
    return Considered(
        tuple(_shown(searcher, query, table) for table in others),
        tuple(outside),
    )


def _candidates(found: TableSet) -> list[TableId]:
    """The candidates of the last stage that has any, the most probable first.

    Where somebody said what to look for they are in the order of the search, in which phrases take
    turns: how probable a table is was told by the question alone.
    """
    stages = [stage["candidates"] for stage in found.trace if "candidates" in stage]
    listed = stages[-1] if stages and isinstance(stages[-1], list) else []
    rows = [row for row in listed if isinstance(row, Mapping)]
    if not any(_looked_for(found)):
        rows.sort(key=lambda row: -float(row.get("probability", 0)))
    ends = (str(row.get("table", "")).partition("::") for row in rows)
    return [TableId(source, name) for source, _, name in ends]


def _looked_for(found: TableSet) -> Iterator[str]:
    for stage in found.trace:
        phrases = stage.get("looked_for")
        yield from map(str, phrases) if isinstance(phrases, list) else ()


def _shown(searcher: Searcher, query: Query, table_id: TableId) -> ConsideredTable:
    table = searcher.described(table_id)
    order = by_relevance(searcher, query, table)
    decide = deciding_columns(searcher, query, table)
    first = [column for column in order if column in decide]
    rest = [column for column in order if column not in decide]
    listed = [*first, *rest[: max(0, _OTHER_COLUMNS - len(first))]][:_COLUMNS]
    explained = explained_columns(searcher, query, table)
    quoted = quoted_cells(searcher, query, table)
    columns = shown_columns(table, listed, quoted, _EXAMPLES, explained)
    return ConsideredTable(table_id, escape(cut(table.comment, _LONGEST)), tuple(columns))
