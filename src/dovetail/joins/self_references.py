"""Self-references: columns that refer to the key of their own table, such as a manager's number."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from dovetail.arrays import Flags, Floats, Ints
from dovetail.domain import JoinEdge, TableId
from dovetail.joins.columns import ColumnArrays, TableColumns, edge_of
from dovetail.joins.counting import count_shared
from dovetail.joins.features import WEIGHTS
from dovetail.names.references import refers
from dovetail.names.table_name import entity
from dovetail.names.words import BY, Words, core, identifies, is_people, is_role

# The least share of the rows that must be found in the table's own key.
_LEAST_SHARE = 0.8
# How far a name behind a role must be the table's own.
_NAMED = 0.7

# Codes in common with the table's own key that are no chance, and the share of all numbers between
# its ends that a key has at most whose numbers are codes.
_CODES, _SPARSE = 10, 0.25
# Words for a row's place above, below, before or after another of its kind.
ROLES = frozenset(
    """parent manager mgr supervisor superior super boss report lead leader head chief master main
    root base original prev previous predecessor next successor related reply superseded supersedes
    replaced replaces child sub friend spouse partner mentor referrer referred sponsor""".split()  # noqa: SIM905
)


def with_self_references(
    arrays: ColumnArrays,
    columns: TableColumns,
    edges: Sequence[JoinEdge],
) -> list[JoinEdge]:
    """The edges, with those of tables with themselves.

    The column's values are in the table's key, and the column is called so: by a role, or by the
    table's own name with something added; codes need no name. Without such a name nothing is
    proved: small codes always point at the first few ids. Nor is a column one that is named after
    another table which it refers to, unless that table's column refers to this key itself, as a
    copy's does: then this key is the master, and the other edge goes.
    """
    parents: dict[tuple[TableId, str], JoinEdge] = {}
    for edge in sorted(edges, key=lambda edge: edge.evidence.get("name", 0)):
        if edge.score > 0.5:
            parents[edge.left, edge.columns[0][0]] = edge
    found: dict[tuple[TableId, str], JoinEdge] = {}
    for column, key, named, by_role, rows in _contained(arrays, columns):
        table, name = arrays.ids[int(arrays.table[column])], arrays.name[column]
        share = rows / int(arrays.filled[column])
        plain = bool(arrays.number[column]) and not identifies(name)
        other = parents.get((table, name))
        up = parents.get((other.right, other.columns[0][1])) if other else None
        if up is not None and (up.right, up.columns[0][1]) == (table, arrays.name[key]):
            other = None
        w = WEIGHTS
        logit = w.prior + w.name * named + w.key
        logit -= w.measure * (plain and not by_role)
        if other is not None and (other.evidence.get("name", 0) == 1 or not by_role):
            logit -= w.own
        logit -= w.orphan * (1 - share)
        if share >= _LEAST_SHARE and logit > w.least:
            evidence = {"self": 1.0, "row_containment": share, "name": named}
            found[table, name] = edge_of(arrays, [(column, key)], logit, rows, evidence)
    kept = [
        edge
        for edge in edges
        if len(edge.columns) > 1
        or (own := found.get((edge.left, edge.columns[0][0]))) is None
        or own.score < 0.5
        or parents.get((edge.right, edge.columns[0][1]), own).right != own.right
        or edge.right == own.right
    ]
    return [*kept, *found.values()]


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
    called, tables = arrays.spoken_columns, arrays.spoken_tables
    names = [core(called[each]) for each in column.tolist()]
    keys = [core(called[each]) for each in key.tolist()]
    abouts = [entity(tables[table]) for table in arrays.table[column].tolist()]
    bare = [tuple(word for word in name if word not in ROLES | BY) for name in names]
    both = list(zip(names, bare, strict=True))

    def named(called: Sequence[Words]) -> Floats:
        far: Floats = np.maximum(
            *(np.minimum(refers(called, own), refers(own, called)) for own in (abouts, keys))
        )
        return far

    people = np.array([is_people(about) or is_role(about) for about in abouts], dtype=np.bool_)
    # Who recruited somebody may be in the table itself, who approved it is not.
    persons = [is_role(name) and not (name[-1] in BY and not rest) for name, rest in both]
    # A role in front of another noun is no row of this table: base_clinic, main_contact.
    of_row = [bool(name) and (name[-1] in ROLES or not rest) for name, rest in both]
    behind = np.array([bool(rest) and rest != name for name, rest in both], dtype=np.bool_)
    of_none = [called[each].casefold().endswith("_of") for each in column.tolist()]
    rows = np.array(of_row, dtype=np.bool_) | (behind & (named(bare) >= _NAMED))
    rows |= np.array(of_none, dtype=np.bool_)
    by_person = np.array(persons, dtype=np.bool_)
    # A person's role in a table of things is none of them: the manager of an item.
    role: Flags = (rows & ~by_person) | (people & by_person) | _codes(arrays, column, key)
    longer = np.array([len(name) > 1 for name in names], dtype=np.bool_)
    return np.where(role, 1.0, np.where(longer, named(names), 0.0)), role


def _codes(arrays: ColumnArrays, column: Ints, key: Ints) -> Flags:
    """Which columns and keys hold codes, or numbers far apart, which are as good, where several
    rows refer to one."""
    finite = arrays.number & arrays.key & np.isfinite(arrays.high) & np.isfinite(arrays.low)
    ends = np.where(finite, arrays.high, 0), np.where(finite, arrays.low, 0)
    sparse = finite & (arrays.distinct < _SPARSE * (ends[0] - ends[1] + 1))
    codes = (arrays.codes[column] & arrays.codes[key]) | (sparse[key] & ~arrays.unique[column])
    flags: Flags = codes & ~arrays.period[column] & (arrays.distinct[column] >= _CODES)
    return flags
