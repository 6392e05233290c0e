"""How two tables would join by the names of their columns alone, where values cannot tell."""

from __future__ import annotations

from typing import NamedTuple

from dovetail.domain import Table
from dovetail.joins.naming.name_words import core, entity, identifies, refers, words

# How far a column's name must refer to the other table's.
_REFERS = 0.6


class NameJoin(NamedTuple):
    """A column of each of two tables, and how much their names say for the join."""

    left: str
    right: str
    strength: float


def name_join(one: Table, other: Table) -> NameJoin | None:
    """The columns by which names suggest that two tables join; None if they suggest nothing.

    Equal names that identify say most, the more if they stand first in a table, as keys do; then a
    column that is called like the other table, with that table's first identifying column.
    """
    found = [*_equal_names(one, other), *_references(one, other)]
    found += [NameJoin(join.right, join.left, join.strength) for join in _references(other, one)]
    return max(found, key=lambda join: join.strength, default=None)


def _equal_names(one: Table, other: Table) -> list[NameJoin]:
    keys = {words(column.name): column.name for column in other.columns if identifies(column.name)}
    first = {words(table.columns[0].name) for table in (one, other) if table.columns}
    return [
        NameJoin(column.name, keys[called], 0.9 if called in first else 0.5)
        for column in one.columns
        if (called := words(column.name)) in keys and core(column.name)
    ]


def _references(one: Table, other: Table) -> list[NameJoin]:
    keys = [column.name for column in other.columns if identifies(column.name)]
    about = entity(other.name)
    return [
        NameJoin(column.name, keys[0], 0.8 * strength)
        for column in one.columns
        if keys
        and identifies(column.name)
        and core(column.name)
        and (strength := refers(core(column.name), about)) >= _REFERS
    ]
