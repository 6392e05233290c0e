"""Junction tables: many-to-many tables, whose key is two or three foreign keys together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from dovetail.domain import JoinEdge
from dovetail.joins.column_arrays import ColumnArrays
from dovetail.joins.keys.table_columns import HARDLY_ANY, TableColumns
from dovetail.joins.row_hashes import RowReader

# References beyond which a table with hardly any rows is not looked at: any two of its columns tell
# its rows apart, which says nothing, and there are too many to try.
_MOST_REFERENCES = 12


def mark_junction_tables(
    arrays: ColumnArrays, columns: TableColumns, edges: Sequence[JoinEdge], rows: RowReader
) -> list[JoinEdge]:
    """The edges, in order; those that a junction table's key is made of say `junction`."""
    best: dict[tuple[int, str], JoinEdge] = {}
    for edge in edges:
        if edge.score > 0.5:
            best.setdefault((columns.place[edge.left], edge.columns[0][0]), edge)
    by_table: dict[int, list[JoinEdge]] = defaultdict(list)
    for (table, _), edge in best.items():
        by_table[table].append(edge)
    marked: set[int] = set()
    for table, mine in sorted(by_table.items()):
        marked |= {id(edge) for edge in _key_of_references(arrays, columns, table, mine, rows)}
    return [_marked(edge) if id(edge) in marked else edge for edge in edges]


def _key_of_references(
    arrays: ColumnArrays,
    columns: TableColumns,
    table: int,
    edges: Sequence[JoinEdge],
    rows: RowReader,
) -> Sequence[JoinEdge]:
    """The references that together, and none alone, are the key of a table without another."""
    first = columns.of[table][0]
    names = {edge.columns[0][0] for edge in edges}
    own_key = columns.has_key_column(table) and arrays.name[first] not in names
    if arrays.rows[table] <= HARDLY_ANY and len(edges) > _MOST_REFERENCES:
        return ()
    if own_key or len({(edge.right, edge.columns[0][1]) for edge in edges}) < 2:
        return ()
    for width in (2, 3):
        for sides in combinations(edges, width):
            chosen = [columns.find(table, edge.columns[0][0]) for edge in sides]
            if any(arrays.unique[column] for column in chosen):
                continue
            key = columns.tuples(rows, table, chosen)
            if key is not None and len(key) and len(np.unique(key)) == len(key):
                return sides
    return ()


def _marked(edge: JoinEdge) -> JoinEdge:
    return replace(edge, evidence={**edge.evidence, "junction": 1.0})
