"""Links by names alone, where values cannot tell.

Of two tables one has too few rows for its values to prove a foreign key. A name link is too weak to
be a join, but strong enough to say that two tables speak of the same thing: in search, what one
covers of a question counts a little for the other.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np

from dovetail.domain import Table
from dovetail.names.references import NamePairs, refers
from dovetail.names.table_name import entity
from dovetail.names.words import Words, core, identifies, words

# Fewer rows than these prove nothing.
_FEW_ROWS = 5
# How far a column's name must refer to a table's.
_REFERS = 0.6
# What equal names of columns say: more, if the other's stands first, as keys do.
_EQUAL, _EQUAL_TO_FIRST = 0.5, 0.9
_REFERENCES = (("link",), ("ref",))
# Links below this are too weak to count. Competing tables share what a name says, so that a name
# in more tables than these links none: of more none has a share above it, 1 / (1 + 64 * 0.5**4).
_WEAK = 0.2
_MOST_COMPETING = 64


class NameJoin(NamedTuple):
    """A column of each of two tables, and how much their names say for the join."""

    left: str
    right: str
    strength: float


def name_join(left: Table, right: Table) -> NameJoin | None:
    """The columns by which names suggest that two tables join; None if they suggest nothing.

    Equal names that identify say most, the more if they stand first in a table, as keys do; then a
    column that is called like the other table, with that table's first identifying column.
    """
    joins = [*_equal_names(left, right), *_references(left, right)]
    joins += [NameJoin(join.right, join.left, join.strength) for join in _references(right, left)]
    return max(joins, key=lambda join: join.strength, default=None)


def _equal_names(left: Table, right: Table) -> list[NameJoin]:
    keys = {words(column.name): column.name for column in right.columns if identifies(column.name)}
    first = {words(table.columns[0].name) for table in (left, right) if table.columns}
    return [
        NameJoin(column.name, keys[called], _EQUAL_TO_FIRST if called in first else _EQUAL)
        for column in left.columns
        if (called := words(column.name)) in keys and core(column.name)
    ]


def _references(left: Table, right: Table) -> list[NameJoin]:
    keys = [column.name for column in right.columns if identifies(column.name)]
    names = [column.name for column in left.columns if identifies(column.name)]
    if not keys or not names:
        return []
    strengths = refers([core(name) for name in names], [entity(right.name)] * len(names)).tolist()
    return [
        NameJoin(name, keys[0], 0.8 * strength)
        for name, strength in zip(names, strengths, strict=True)
        if strength >= _REFERS
    ]


def name_links(tables: Sequence[Table]) -> dict[tuple[int, int], float]:
    """How strongly tables, by their indices, are linked; the smaller index comes first."""
    small = [table.rows < _FEW_ROWS for table in tables]
    if not any(small):
        return {}
    called = {
        column.name: words(column.name)
        for table in tables
        for column in table.columns
        if identifies(column.name) or words(column.name)[:1] in _REFERENCES
    }
    referred = _referred({core(name) for name in called} - {()}, tables)
    holders: dict[Words, list[int]] = defaultdict(list)
    for at, table in enumerate(tables):
        for name in dict.fromkeys(words(column.name) for column in table.columns):
            holders[name].append(at)
    links: dict[tuple[int, int], float] = {}
    for at, table in enumerate(tables):
        for column in table.columns:
            if column.name not in called:
                continue
            competing = _competing(column.name, tables, referred, holders)
            competing.pop(at, None)
            total = sum(strength**4 for strength in competing.values())
            for other, strength in competing.items():
                share = strength * strength**4 / total
                if share > _WEAK and (small[at] or small[other]):
                    pair = (min(at, other), max(at, other))
                    links[pair] = max(links.get(pair, 0.0), share)
    return links


def _competing(
    column: str,
    tables: Sequence[Table],
    referred: dict[Words, dict[int, float]],
    holders: dict[Words, list[int]],
) -> dict[int, float]:
    """The tables that a column may refer to by its name, and how well each fits."""
    called, named = words(column), core(column)
    competing = dict(referred.get(named, {}))
    if len(competing) > _MOST_COMPETING + 2:  # one of them may be the table itself
        return {}
    alike = holders[called] if named or len(called) > 1 else []
    if len(alike) <= _MOST_COMPETING:
        for other in alike:
            first = words(tables[other].columns[0].name)
            strength = _EQUAL_TO_FIRST if first == called else _EQUAL
            competing[other] = max(competing.get(other, 0.0), strength)
    return competing


def _referred(names: Collection[Words], tables: Sequence[Table]) -> dict[Words, dict[int, float]]:
    """The tables that the words of each name refer to, and how far.

    Words that end alike are not enough without values, a call is no recall: one word of each must
    begin with the same letter.
    """
    about: dict[Words, list[int]] = defaultdict(list)
    for at, table in enumerate(tables):
        about[entity(table.name)].append(at)
    called, entities = sorted(names), sorted(about)
    by_letter: dict[str, set[int]] = defaultdict(set)
    for number, each in enumerate(entities, len(called)):
        for word in each:
            by_letter[word[0]].add(number)
    near = [sorted(set().union(*(by_letter[word[0]] for word in name))) for name in called]
    left = np.repeat(np.arange(len(called)), [len(each) for each in near])
    right = np.array([number for each in near for number in each], dtype=np.int64)
    strength = NamePairs.of([*called, *entities]).refers(left, right)
    referred: dict[Words, dict[int, float]] = defaultdict(dict)
    for at in np.flatnonzero(strength >= _REFERS).tolist():
        own, other = called[left[at]], entities[right[at] - len(called)]
        referred[own] |= dict.fromkeys(about[other], float(strength[at]))
    return referred
