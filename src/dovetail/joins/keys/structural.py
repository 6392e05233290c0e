"""Joins beyond one column and two tables: composite keys, self-references, junction tables.

All weigh their evidence in the nats of the scoring `foreign_key`, and all need rows
(`row_checks.py`), so they are looked for only where single columns already say that there may be
one. Joins by names alone, where there are hardly any rows, come last.
"""

from __future__ import annotations

from collections.abc import Sequence

from dovetail.domain import JoinEdge
from dovetail.joins.column_arrays import ColumnArrays
from dovetail.joins.keys.composite import CompositeKeys
from dovetail.joins.keys.junction import mark_junction_tables
from dovetail.joins.keys.names_only import name_only_edges
from dovetail.joins.keys.row_checks import RowQuestions
from dovetail.joins.keys.self_reference import self_references
from dovetail.joins.keys.table_columns import TableColumns
from dovetail.joins.scoring.latent_databases import LatentDatabases
from dovetail.joins.scoring.weights import DEFAULT_WEIGHTS, Weights
from dovetail.names.words import words


def structural_edges(
    arrays: ColumnArrays,
    edges: Sequence[JoinEdge],
    rows: RowQuestions,
    weights: Weights = DEFAULT_WEIGHTS,
) -> list[JoinEdge]:
    """The given edges of one column, with junction tables marked, and then all others."""
    columns = TableColumns(arrays)
    databases = _databases(arrays, edges, weights)
    found = list(CompositeKeys(arrays, columns, databases, rows, weights).edges())
    found += self_references(arrays, columns, edges, rows, weights)
    found += name_only_edges(arrays, columns, [*edges, *found], databases, weights)
    return [*mark_junction_tables(arrays, columns, edges, rows), *found]


def _databases(
    arrays: ColumnArrays, edges: Sequence[JoinEdge], weights: Weights
) -> LatentDatabases:
    """The latent databases that the sure edges form."""
    databases = LatentDatabases([" ".join(words(table.name)) for table in arrays.ids])
    place = {table: number for number, table in enumerate(arrays.ids)}
    for edge in edges:
        if edge.score > 0.5 and edge.evidence["competitors"] < weights.clear:
            databases.join(place[edge.left], place[edge.right])
    return databases
