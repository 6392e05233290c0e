"""Junction tables: many-to-many tables, whose key is two or three foreign keys together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from dovetail.domain import JoinEdge
from dovetail.joins.column_arrays import ColumnArrays
from dovetail.joins.keys.row_checks import RowQuestions, first_key
from dovetail.joins.keys.table_columns import HARDLY_ANY, TableColumns
from dovetail.ports import Json

# References beyond which a table with hardly any rows is not looked at: any two of its columns tell
# its rows apart, which says nothing, and there are too many to try.
_MOST_REFERENCES = 12


def mark_junction_tables(
    arrays: ColumnArrays, columns: TableColumns, edges: Sequence[JoinEdge], rows: RowQuestions
) -> list[JoinEdge]:
    """The edges, in order; those that a junction table's key is made of say `junction`."""
    best: dict[tuple[int, str], JoinEdge] = {}
    for edge in edges:
        if edge.score > 0.5:
            best.setdefault((columns.place[edge.left], edge.columns[0][0]), edge)
    by_table: dict[int, list[JoinEdge]] = defaultdict(list)
    for (table, _), edge in best.items():
        by_table[table].append(edge)
    asked = [
        some
        for table, mine in sorted(by_table.items())
        if len(some := _may_be_key(arrays, columns, table, mine)) > 1
    ]
    answers = rows.ask(first_key, [_question(arrays, columns, some) for some in asked])
    marked = {
        id(some[number]) for some, numbers in zip(asked, answers, strict=True) for number in numbers
    }
    return [_marked(edge) if id(edge) in marked else edge for edge in edges]


def _may_be_key(
    arrays: ColumnArrays, columns: TableColumns, table: int, edges: Sequence[JoinEdge]
) -> Sequence[JoinEdge]:
    """The references that together, and none alone, may be the key of a table without another."""
    first = columns.of[table][0]
    names = {edge.columns[0][0] for edge in edges}
    own_key = columns.has_key_column(table) and arrays.name[first] not in names
    if arrays.rows[table] <= HARDLY_ANY and len(edges) > _MOST_REFERENCES:
        return ()
    if own_key or len({(edge.right, edge.columns[0][1]) for edge in edges}) < 2:
        return ()
    return [e for e in edges if not arrays.unique[columns.find(table, e.columns[0][0])]]


def _question(arrays: ColumnArrays, columns: TableColumns, some: Sequence[JoinEdge]) -> Json:
    """Which of some references are the first that together are a key of their table."""
    table = some[0].left
    found = [columns.find(columns.place[table], edge.columns[0][0]) for edge in some]
    return {
        "table": [table.source, table.name],
        "columns": arrays.position[found].tolist(),
    }


def _marked(edge: JoinEdge) -> JoinEdge:
    return replace(edge, evidence={**edge.evidence, "junction": 1.0})
