"""Self-references: columns that refer to other rows of their own table, as employee.manager_id."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dovetail.arrays import Encoded, Flags, Floats, Ints, encode_by
from dovetail.domain import JoinEdge
from dovetail.joins.column_arrays import ColumnArrays
from dovetail.joins.counting import count_shared
from dovetail.joins.keys.row_checks import RowQuestions, depth
from dovetail.joins.keys.table_columns import TableColumns, probability
from dovetail.joins.scoring.weights import Weights
from dovetail.names.references import References
from dovetail.names.words import core, identifies

# The least share of the rows that must be found in the table's own key.
_LEAST_SHARE = 0.9

# Words for a row's place above, below, before or after another of its kind.
ROLES = frozenset(
    """parent manager mgr supervisor superior super boss report lead leader head chief master main
    root base original prev previous predecessor next successor related reply superseded replaced
    child sub friend spouse partner mentor referrer referred sponsor""".split()  # noqa: SIM905
)


@dataclass(frozen=True, slots=True)
class _Reference:
    """A column that may refer to the key of its own table.

    `named` is how far its name says so, `role` whether by a role, `share` how many of its rows are
    found in the key.
    """

    column: int
    key: int
    named: float
    role: bool
    share: float


def self_references(
    arrays: ColumnArrays,
    columns: TableColumns,
    edges: Sequence[JoinEdge],
    rows: RowQuestions,
    weights: Weights,
) -> Iterator[JoinEdge]:
    """Edges of tables with themselves.

    The column's values are in the table's key, lead from row to row without a cycle, and the column
    is called so: by a role, or by the table's own name with something added. Without such a name
    nothing is proved: small codes always point at the first few ids.
    """
    joined = {(edge.left, edge.columns[0][0]) for edge in edges if edge.score > 0.5}
    found = list(_contained(arrays, columns))
    likely: list[tuple[_Reference, float]] = []
    for reference in found:
        column, name = reference.column, arrays.name[reference.column]
        plain = bool(arrays.number[column]) and not identifies(name)
        elsewhere = (arrays.ids[int(arrays.table[column])], name) in joined
        w = weights
        logit = w.prior + w.name * reference.named + w.key
        logit -= w.measure * (plain and not reference.role)
        logit -= w.own * (elsewhere and not reference.role)
        logit -= w.orphan * (1 - reference.share)
        if reference.share >= _LEAST_SHARE and logit > w.least:
            likely.append((reference, logit))
    questions = [
        {"table": [table.source, table.name], "column": int(arrays.position[reference.column])}
        for reference, _ in likely
        for table in [arrays.ids[int(arrays.table[reference.column])]]
    ]
    depths = rows.ask(depth, questions)
    for (reference, logit), longest in zip(likely, depths, strict=True):
        if longest:
            yield _edge(arrays, reference, logit, longest)


def _edge(arrays: ColumnArrays, reference: _Reference, logit: float, longest: int) -> JoinEdge:
    column, share = reference.column, reference.share
    table = int(arrays.table[column])
    return JoinEdge(
        left=arrays.ids[table],
        right=arrays.ids[table],
        columns=((arrays.name[column], arrays.name[reference.key]),),
        score=probability(logit),
        cardinality="n:1",
        match_rate=round(share * float(arrays.filled[column] / arrays.rows[table]), 6),
        evidence={
            "self": 1.0,
            "depth": float(longest),
            "row_containment": round(share, 6),
            "name": round(reference.named, 6),
            "logit": round(logit, 6),
        },
    )


def _contained(arrays: ColumnArrays, columns: TableColumns) -> Iterator[_Reference]:
    """Columns named after their own table, with the share of their rows that its key holds."""
    named: list[tuple[int, int]] = []
    for mine in columns.of:
        if not mine or not arrays.unique[mine[0]]:
            continue
        named += [(column, mine[0]) for column in mine[1:] if arrays.filled[column]]
    child, key = np.array(named, dtype=np.int64).reshape(-1, 2).T
    far, role = _named_after_own(arrays, child, key)
    child, key, far, role = child[far > 0], key[far > 0], far[far > 0], role[far > 0]
    _, rows = count_shared(arrays.values, child, arrays.values, key)
    shares = rows / arrays.filled[child]
    facts = (child, key, far, role, shares)
    for each in zip(*(fact.tolist() for fact in facts), strict=True):
        yield _Reference(*each)


def _named_after_own(arrays: ColumnArrays, column: Ints, key: Ints) -> tuple[Floats, Flags]:
    """How far columns' names say "another row of this table", and whether by a role."""
    names = Encoded.of(arrays.name)
    called = encode_by(core, names)
    is_role = np.array([bool(ROLES & set(name)) for name in called.dictionary], dtype=np.bool_)
    longer = np.array([len(name) > 1 for name in called.dictionary], dtype=np.bool_)
    role: Flags = is_role[called.codes[column]]
    far = role.astype(np.float64)
    rest = np.flatnonzero(~role & longer[called.codes[column]])
    child, own, table = column[rest], key[rest], arrays.table[column[rest]]
    references = References.of(names, arrays.table_names)
    to_table = np.minimum(references.to_table(child, table), references.from_table(table, child))
    to_key = np.minimum(references.to_column(child, own), references.to_column(own, child))
    far[rest] = np.maximum(to_table, to_key)
    return far, role
