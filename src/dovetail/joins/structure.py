"""Joins beyond one column and two tables: composite keys, self-references.

All weigh their evidence in the nats of the scoring `foreign_key`. Those that need rows (`rows.py`)
are looked for only where single columns already say that there may be one. Joins by names alone,
where there are hardly any rows, come last.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dovetail.arrays import Encoded, Flags, Floats, Ints, encode_by
from dovetail.domain import JoinEdge
from dovetail.joins.code_tables import with_code_tables
from dovetail.joins.columns import ColumnArrays, TableColumns, probability
from dovetail.joins.composite import CompositeKeys
from dovetail.joins.conditional import with_conditional_keys
from dovetail.joins.counting import count_shared
from dovetail.joins.features import DEFAULT_WEIGHTS, Weights
from dovetail.joins.names_only import name_only_edges
from dovetail.joins.rows import RowQuestions
from dovetail.names.references import References
from dovetail.names.table_name import entity
from dovetail.names.words import core, identifies, is_people
from dovetail.names.words import is_role as names_role


def structural_edges(
    arrays: ColumnArrays,
    edges: Sequence[JoinEdge],
    rows: RowQuestions,
    weights: Weights = DEFAULT_WEIGHTS,
) -> list[JoinEdge]:
    """The given edges of one column, and then all others."""
    columns = TableColumns(arrays)
    more = list(CompositeKeys(arrays, columns, rows, weights).edges())
    edges = _without_parts(edges, more)
    if arrays.thresholds.sources:
        edges = _in_other_roles(edges)
    own = list(self_references(arrays, columns, edges, weights))
    # What refers to a row of its own table refers to none of another system.
    inside = {(edge.left, edge.columns[0][0]) for edge in own if edge.score > 0.5}
    edges = [
        edge
        for edge in edges
        if edge.left.source == edge.right.source or (edge.left, edge.columns[0][0]) not in inside
    ]
    more += own
    more += name_only_edges(arrays, columns, [*edges, *more], weights)
    every = with_conditional_keys(arrays, columns, [*edges, *more], rows, weights)
    return with_code_tables(arrays, columns, every, rows, weights)


def _without_parts(edges: Sequence[JoinEdge], composite: Sequence[JoinEdge]) -> list[JoinEdge]:
    """The edges but for those by a part of a composite key alone, where that is no key."""
    parts = {
        (edge.left, edge.right, pair)
        for edge in composite
        if edge.score > 0.5
        for pair in edge.columns
    }
    return [
        edge
        for edge in edges
        if edge.cardinality in ("n:1", "1:1")
        or (edge.left, edge.right, edge.columns[0]) not in parts
    ]


# What it is worth that another column of the same table surely refers to a key of codes.
_ROLE_SURE, _ROLE_WHOLE, _ROLE = 0.9, 0.99, 3.0


def _in_other_roles(edges: Sequence[JoinEdge]) -> list[JoinEdge]:
    """The edges, surer where a column is wholly in a key of codes that another column of its table
    surely refers to: both ports of a voyage are ports, however few it begins in."""
    sure = {
        (edge.left, edge.right, edge.columns[0][1])
        for edge in edges
        if edge.score > _ROLE_SURE and edge.evidence.get("code", 0.0) == 1
    }
    joined = {(edge.left, edge.columns[0][0]) for edge in edges if edge.score > 0.5}
    raised = []
    for edge in edges:
        column, key = edge.columns[0]
        whole = edge.evidence.get("row_containment", 0.0) >= _ROLE_WHOLE
        if whole and (edge.left, edge.right, key) in sure and (edge.left, column) not in joined:
            logit = edge.evidence["logit"] + _ROLE
            evidence = {**edge.evidence, "role": 1.0, "logit": round(logit, 6)}
            edge = replace(edge, score=probability(logit), evidence=evidence)
        raised.append(edge)
    return raised


# The least share of the rows that must be found in the table's own key.
_LEAST_SHARE = 0.8

# Codes in common with the table's own key that are no chance, and the share of all numbers between
# its ends that a key has at most whose numbers are codes.
_CODES, _SPARSE = 10, 0.25
# Words for a row's place above, below, before or after another of its kind.
ROLES = frozenset(
    """parent manager mgr supervisor superior super boss report lead leader head chief master main
    root base original prev previous predecessor next successor related reply superseded replaced
    child sub friend spouse partner mentor referrer referred sponsor""".split()  # noqa: SIM905
)


@dataclass(frozen=True, slots=True)
class _Reference:
    """A column that may refer to the key of its own table.

    `named` is how far its name says so, `role` whether by a role, or without a name by codes.
    `share` is how many of its rows are found in the key.
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
    weights: Weights,
) -> Iterator[JoinEdge]:
    """Edges of tables with themselves.

    The column's values are in the table's key, and the column is called so: by a role, or by the
    table's own name with something added; codes need no name. Without such a name nothing is
    proved: small codes always point at the first few ids. Nor is a column one that is named after
    another table which it refers to.
    """
    joined = {
        (edge.left, edge.columns[0][0]): edge.evidence.get("name", 0) == 1
        for edge in sorted(edges, key=lambda edge: edge.evidence.get("name", 0))
        if edge.score > 0.5
    }
    for reference in _contained(arrays, columns):
        column, name = reference.column, arrays.name[reference.column]
        plain = bool(arrays.number[column]) and not identifies(name)
        elsewhere = joined.get((arrays.ids[int(arrays.table[column])], name))
        w = weights
        logit = w.prior + w.name * reference.named + w.key
        logit -= w.measure * (plain and not reference.role)
        logit -= w.own * (elsewhere is not None and (elsewhere or not reference.role))
        logit -= w.orphan * (1 - reference.share)
        if reference.share >= _LEAST_SHARE and logit > w.least:
            yield _edge(arrays, reference, logit)


def _edge(arrays: ColumnArrays, reference: _Reference, logit: float) -> JoinEdge:
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
            "row_containment": round(share, 6),
            "name": round(reference.named, 6),
            "logit": round(logit, 6),
        },
    )


def _contained(arrays: ColumnArrays, columns: TableColumns) -> Iterator[_Reference]:
    """Columns named after their own table, with the share of their rows that its key holds."""
    named: list[tuple[int, int]] = []
    for table, first in columns.first.items():
        if arrays.unique[first]:
            others = (column for column in columns.of[table] if column != first)
            named += [(column, first) for column in others if arrays.filled[column]]
    child, key = np.array(named, dtype=np.int64).reshape(-1, 2).T
    far, role = _named_after_own(arrays, child, key)
    some = far > 0
    child, key, far, role = child[some], key[some], far[some], role[some]
    _, rows = count_shared(arrays.values, child, arrays.values, key)
    shares = rows / arrays.filled[child]
    for each in zip(*(f.tolist() for f in (child, key, far, role, shares)), strict=True):
        yield _Reference(*each)


def _named_after_own(arrays: ColumnArrays, column: Ints, key: Ints) -> tuple[Floats, Flags]:
    """How far columns' names say "another row of this table", and whether by a role."""
    names = Encoded.of(arrays.called)
    called = encode_by(core, names)
    # A role in front of another noun is no row of this table: base_clinic, main_contact.
    is_role = np.array([bool(ROLES & set(name[-1:])) for name in called.dictionary], dtype=np.bool_)
    longer = np.array([len(name) > 1 for name in called.dictionary], dtype=np.bool_)
    abouts = [entity(name) for name in arrays.table_names]
    tables = [is_people(about) or names_role(about) for about in abouts]
    people = np.array(tables, dtype=np.bool_)[arrays.table[column]]
    by_role = np.array([names_role(name) for name in called.dictionary], dtype=np.bool_)
    # Numbers far apart are as good as codes, where several rows refer to one.
    finite = arrays.number & arrays.key & np.isfinite(arrays.high) & np.isfinite(arrays.low)
    ends = np.where(finite, arrays.high, 0), np.where(finite, arrays.low, 0)
    sparse = finite & (arrays.distinct < _SPARSE * (ends[0] - ends[1] + 1))
    codes = (arrays.codes[column] & arrays.codes[key]) | (sparse[key] & ~arrays.unique[column])
    codes &= ~arrays.period[column] & (arrays.distinct[column] >= _CODES)
    # A person's role in a table of things is none of them: the manager of an item.
    persons = by_role[called.codes[column]]
    role: Flags = (is_role[called.codes[column]] & ~persons) | (people & persons) | codes
    far = role.astype(np.float64)
    rest = np.flatnonzero(~role & longer[called.codes[column]])
    child, own, table = column[rest], key[rest], arrays.table[column[rest]]
    references = References.of(names, arrays.table_names)
    to_table = np.minimum(references.to_table(child, table), references.from_table(table, child))
    to_key = np.minimum(references.to_column(child, own), references.to_column(own, child))
    far[rest] = np.maximum(to_table, to_key)
    return far, role
