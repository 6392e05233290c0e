"""Self-references: columns that refer to the key of their own table, such as a manager's number."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from dovetail.arrays import Encoded, Flags, Floats, Ints, encode_by
from dovetail.domain import JoinEdge
from dovetail.joins.columns import ColumnArrays, TableColumns, edge_of
from dovetail.joins.counting import count_shared
from dovetail.joins.features import WEIGHTS
from dovetail.names.references import References
from dovetail.names.table_name import entity
from dovetail.names.words import core, identifies, is_people
from dovetail.names.words import is_role as names_role

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


def self_references(
    arrays: ColumnArrays,
    columns: TableColumns,
    edges: Sequence[JoinEdge],
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
    for column, key, named, by_role, rows in _contained(arrays, columns):
        name, share = arrays.name[column], rows / int(arrays.filled[column])
        plain = bool(arrays.number[column]) and not identifies(name)
        elsewhere = joined.get((arrays.ids[int(arrays.table[column])], name))
        w = WEIGHTS
        logit = w.prior + w.name * named + w.key
        logit -= w.measure * (plain and not by_role)
        logit -= w.own * (elsewhere is not None and (elsewhere or not by_role))
        logit -= w.orphan * (1 - share)
        if share >= _LEAST_SHARE and logit > w.least:
            evidence = {"self": 1.0, "row_containment": share, "name": named}
            yield edge_of(arrays, [(column, key)], logit, rows, evidence)


def _contained(
    arrays: ColumnArrays, columns: TableColumns
) -> Iterator[tuple[int, int, float, bool, int]]:
    """Columns named after their own table, with its key; how far their names say so, whether by a
    role, or without a name by codes; and how many of their rows the key holds."""
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
    yield from zip(*(each.tolist() for each in (child, key, far, role, rows)), strict=True)


def _named_after_own(arrays: ColumnArrays, column: Ints, key: Ints) -> tuple[Floats, Flags]:
    """How far columns' names say "another row of this table", and whether by a role."""
    names = Encoded.of(arrays.spoken_columns)
    called = encode_by(core, names)
    # A role in front of another noun is no row of this table: base_clinic, main_contact.
    is_role = np.array([bool(ROLES & set(name[-1:])) for name in called.dictionary], dtype=np.bool_)
    longer = np.array([len(name) > 1 for name in called.dictionary], dtype=np.bool_)
    abouts = [entity(name) for name in arrays.spoken_tables]
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
    references = References.of(names, arrays.spoken_tables)
    to_table = np.minimum(references.to_table(child, table), references.from_table(table, child))
    to_key = np.minimum(references.to_column(child, own), references.to_column(own, child))
    far[rest] = np.maximum(to_table, to_key)
    return far, role
