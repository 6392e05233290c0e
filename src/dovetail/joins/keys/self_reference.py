"""Self-references: columns that refer to other rows of their own table, as employee.manager_id."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from dovetail.domain import JoinEdge
from dovetail.joins.column_arrays import ColumnArrays, found_in
from dovetail.joins.keys.table_columns import TableColumns, probability
from dovetail.joins.naming.name_words import core, entity, identifies, refers
from dovetail.joins.row_hashes import RowHashes, RowReader
from dovetail.joins.scoring.weights import Weights

# The least share of the rows that must be found in the table's own key.
_LEAST_SHARE = 0.9

# Words for a row's place above, below, before or after another of its kind.
ROLES = frozenset(
    """parent manager mgr supervisor superior super boss report lead leader head chief master main
    root base original prev previous predecessor next successor related reply superseded replaced
    child sub friend spouse partner mentor referrer referred sponsor""".split()  # noqa: SIM905
)


def self_references(
    arrays: ColumnArrays,
    columns: TableColumns,
    edges: Sequence[JoinEdge],
    rows: RowReader,
    weights: Weights,
) -> Iterator[JoinEdge]:
    """Edges of tables with themselves.

    The column's values are in the table's key, lead from row to row without a cycle, and the column
    is called so: by a role, or by the table's own name with something added. Without such a name
    nothing is proved: small codes always point at the first few ids.
    """
    joined = {(edge.left, edge.columns[0][0]) for edge in edges if edge.score > 0.5}
    for table, mine in enumerate(columns.of):
        if not mine or not arrays.unique[mine[0]]:
            continue
        for column in mine[1:]:
            named, role = _named_after_own(arrays, table, column, mine[0])
            if not named or not arrays.filled[column]:
                continue
            held = found_in(arrays.value_hashes[column], arrays.value_hashes[mine[0]])
            share = float(arrays.counts[column][held].sum() / arrays.filled[column])
            plain = bool(arrays.number[column]) and not identifies(arrays.name[column])
            elsewhere = (arrays.ids[table], arrays.name[column]) in joined
            w = weights
            logit = w.prior + w.name * named + w.key
            logit -= w.measure * (plain and not role)
            logit -= w.own * (elsewhere and not role)
            logit -= w.orphan * (1 - share)
            if share < _LEAST_SHARE or logit <= w.least:
                continue
            depth = _depth(rows.read(arrays.ids[table], [0, mine.index(column)]))
            if depth:
                yield JoinEdge(
                    left=arrays.ids[table],
                    right=arrays.ids[table],
                    columns=((arrays.name[column], arrays.name[mine[0]]),),
                    score=probability(logit),
                    cardinality="n:1",
                    match_rate=round(share * float(arrays.filled[column] / arrays.rows[table]), 6),
                    evidence={
                        "self": 1.0,
                        "depth": float(depth),
                        "row_containment": round(share, 6),
                        "name": round(named, 6),
                        "logit": round(logit, 6),
                    },
                )


def _named_after_own(arrays: ColumnArrays, table: int, column: int, key: int) -> tuple[float, bool]:
    """How far a column's name says "another row of this table", and whether by a role."""
    named = core(arrays.name[column])
    if ROLES & set(named):
        return 1.0, True
    if len(named) < 2:
        return 0.0, False
    own = (entity(arrays.ids[table].name), core(arrays.name[key]))
    return max(min(refers(named, name), refers(name, named)) for name in own), False


def _depth(found: RowHashes | None) -> int:
    """The longest chain from row to row; 0 when there is none, or it is a cycle."""
    if found is None:
        return 0
    key, reference = found
    order = np.argsort(key, kind="stable")
    at = np.searchsorted(key[order], reference)
    at[at == len(key)] = 0
    to = np.where((key[order][at] == reference) & (reference != 0), order[at], -1)
    to[to == np.arange(len(to))] = -1  # a root may point at itself
    depth, here = 0, to
    while (here >= 0).any():
        depth += 1
        if depth > len(to):
            return 0
        here = np.where(here >= 0, to[here], -1)
    return depth
