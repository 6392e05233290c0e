"""Execution match: whether two results are the same, whatever their columns are called.

Rows are a multiset; their order counts only where the gold query ends in ORDER BY, and there rows
that tie in columns of the result may stand in any order among themselves. Values keep SQLite's
storage classes: NULL equals NULL, 1 equals 1.0 but not '1'. Numbers are equal when they differ by
no more than a millionth of the greater one, or of 1. Columns may stand in any order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from itertools import groupby, pairwise
from typing import Any

TOLERANCE = 1e-6
# Pairings of columns that are tried at most; beyond that, results count as different.
MOST_PAIRINGS = 5_000
# Rows alike but for numbers that are matched one by one, so that no near-tie misleads a sort.
_MATCHED = 256

Row = tuple[Any, ...]
_Cell = tuple[int, Any]


@dataclass(frozen=True, slots=True)
class Order:
    """Whether the order of rows counts, and the columns that rows are sorted by, where known."""

    counts: bool
    keys: tuple[int, ...] = ()


ANY_ORDER = Order(counts=False)


def order_of(sql: str, dialect: str = "sqlite") -> Order:
    """The order that a query asks for; keys that are not in its result stay unknown."""
    from sqlglot import exp

    from dovetail.answer.tree import parse

    tree = parse(sql, dialect)
    order = tree.args.get("order")
    if order is None:
        return ANY_ORDER
    selects = tree.selects if isinstance(tree, exp.Query) else []
    if any(each.is_star for each in selects):
        return Order(counts=True)
    keys = []
    for ordered in order.expressions:
        key = ordered.this
        for at, select in enumerate(selects):
            by_place = isinstance(key, exp.Literal) and key.is_int and int(key.this) == at + 1
            by_name = isinstance(key, exp.Column) and not key.table and key.name == select.alias
            if by_place or by_name or key == select.unalias():
                keys.append(at)
                break
        else:
            return Order(counts=True)
    return Order(counts=True, keys=tuple(keys))


def same_result(
    gold: Sequence[Sequence[Any]], found: Sequence[Sequence[Any]], order: Order = ANY_ORDER
) -> bool:
    """Whether a result is the gold one.

    Rows alone cannot tell the widths of two results without any: who has them compares them first.
    """
    if len(gold) != len(found):
        return False
    if not gold:
        return True
    if len(gold[0]) != len(found[0]):
        return False
    ours = [[_cell(value) for value in column] for column in zip(*gold, strict=True)]
    theirs = [[_cell(value) for value in column] for column in zip(*found, strict=True)]
    if order.counts and order.keys:
        match = _within_ties(order.keys)
    else:
        match = _in_order if order.counts else _as_multisets
    return _pair(ours, theirs, match)


_Column = list[_Cell]
_Numbers = tuple[float, ...]
_Buckets = list[tuple[Hashable, list[_Numbers]]]
_Match = Callable[[Sequence[_Column], Sequence[_Column]], bool]


def _cell(value: Any) -> _Cell:
    """A value with its storage class: 0 NULL, 1 number, 2 text, 3 blob."""
    if value is None:
        return 0, None
    if isinstance(value, (bool, int, float, Decimal)):
        return (0, None) if value != value else (1, value)
    if isinstance(value, bytes):
        return 3, value
    if isinstance(value, datetime):
        return 2, value.isoformat(sep=" ")
    if isinstance(value, (date, time)):
        return 2, value.isoformat()
    return 2, str(value) if isinstance(value, (str, timedelta)) else repr(value)


def _equal(one: _Cell, other: _Cell) -> bool:
    if one[0] != other[0]:
        return False
    if one[0] != 1 or one[1] == other[1]:
        return bool(one[1] == other[1])
    a, b = float(one[1]), float(other[1])
    if math.isinf(a) or math.isinf(b):
        return a == b
    return abs(a - b) <= TOLERANCE * max(1.0, abs(a), abs(b))


def _pair(ours: list[_Column], theirs: list[_Column], match: _Match) -> bool:
    """Look for an order of their columns in which the rows match, the first columns first."""
    width = len(ours)
    forms = [_buckets([column]) for column in theirs]
    fitting = []
    for column in ours:
        form = _buckets([column])
        fitting.append([at for at in range(width) if _alike(form, forms[at])])
    left = MOST_PAIRINGS

    def extend(chosen: list[int]) -> bool:
        nonlocal left
        mine = len(chosen)
        if mine == width:
            return match(ours, [theirs[at] for at in chosen])
        # Of columns that are equal row by row, any one stands for all.
        choices: list[int] = []
        for at in fitting[mine]:
            if at not in chosen and not any(theirs[at] == theirs[other] for other in choices):
                choices.append(at)
        for at in choices:
            left -= 1
            if left < 0:
                return False
            taken = [*chosen, at]
            sure = len(choices) == 1 or _as_multisets(
                ours[: mine + 1], [theirs[each] for each in taken]
            )
            if sure and extend(taken):
                return True
        return False

    return extend([])


def _in_order(ours: Sequence[_Column], theirs: Sequence[_Column]) -> bool:
    return all(
        _equal(a, b)
        for mine, other in zip(ours, theirs, strict=True)
        for a, b in zip(mine, other, strict=True)
    )


def _within_ties(keys: tuple[int, ...]) -> _Match:
    """Match runs of rows that tie in the gold's keys, one run after the other."""

    def match(ours: Sequence[_Column], theirs: Sequence[_Column]) -> bool:
        start = 0
        for run in _runs([ours[key] for key in keys]):
            here = slice(start, start + run)
            mine = [column[here] for column in ours]
            if not _as_multisets(mine, [column[here] for column in theirs]):
                return False
            start += run
        return True

    return match


def _runs(keys: list[_Column]) -> Iterator[int]:
    rows = list(zip(*keys, strict=True))
    run = 1
    for before, row in pairwise(rows):
        if all(_equal(a, b) for a, b in zip(before, row, strict=True)):
            run += 1
        else:
            yield run
            run = 1
    yield run


def _as_multisets(ours: Sequence[_Column], theirs: Sequence[_Column]) -> bool:
    """Whether each row has a partner: alike in all but numbers, near enough in those."""
    return _alike(_buckets(ours), _buckets(theirs))


def _alike(mine: _Buckets, other: _Buckets) -> bool:
    if [(key, len(rows)) for key, rows in mine] != [(key, len(rows)) for key, rows in other]:
        return False
    return all(_near(a, b) for (_, a), (_, b) in zip(mine, other, strict=True))


def _buckets(columns: Sequence[_Column]) -> _Buckets:
    """Rows by everything in them that is no number; within, their numbers in order."""
    parted = []
    for row in zip(*columns, strict=True):
        fixed = tuple((kind, None if kind == 1 else value) for kind, value in row)
        parted.append((repr(fixed), tuple(float(value) for kind, value in row if kind == 1)))
    parted.sort()
    return [(key, [row for _, row in rows]) for key, rows in groupby(parted, lambda part: part[0])]


def _near(ours: list[_Numbers], theirs: list[_Numbers]) -> bool:
    if all(_close(a, b) for a, b in zip(ours, theirs, strict=True)):
        return True
    # Sorting may have parted rows whose first numbers differ by a rounding error; one column of
    # numbers it cannot have.
    columns = zip(zip(*ours, strict=True), zip(*theirs, strict=True), strict=True)
    possible = all(_close(tuple(sorted(a)), tuple(sorted(b))) for a, b in columns)
    return possible and len(ours) <= _MATCHED and _matched(ours, theirs)


def _close(one: _Numbers, other: _Numbers) -> bool:
    return all(_equal((1, a), (1, b)) for a, b in zip(one, other, strict=True))


def _matched(ours: list[_Numbers], theirs: list[_Numbers]) -> bool:
    """Whether the rows can be married off, each to one that is close (augmenting paths)."""
    close = [[at for at, b in enumerate(theirs) if _close(a, b)] for a in ours]
    partner: dict[int, int] = {}

    def marry(row: int, asked: set[int]) -> bool:
        for at in close[row]:
            if at not in asked:
                asked.add(at)
                if at not in partner or marry(partner[at], asked):
                    partner[at] = row
                    return True
        return False

    return all(marry(row, set()) for row in range(len(ours)))
