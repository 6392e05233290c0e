"""Execution match: pairs of results worked out by hand."""

from __future__ import annotations

import random
from datetime import date, datetime
from decimal import Decimal
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail_bench.compare import ANY_ORDER, Order, order_of, same_result

IN_ORDER = Order(counts=True)
NAN = float("nan")
INF = float("inf")

Rows = list[tuple[Any, ...]]

SAME: list[tuple[Rows, Rows]] = [
    ([], []),
    ([(1,)], [(1,)]),
    ([(1,), (2,)], [(2,), (1,)]),
    ([(None,)], [(None,)]),
    ([(None,), (1,)], [(1,), (None,)]),
    ([(1, None)], [(1, None)]),
    ([(1,)], [(1.0,)]),
    ([(1,)], [(Decimal("1.00"),)]),
    ([(1,)], [(True,)]),
    ([(0,), (1,)], [(True,), (False,)]),
    ([(0.1 + 0.2,)], [(0.3,)]),
    ([(1 / 3,)], [(0.333333333,)]),
    ([(1_000_000.0,)], [(1_000_000.5,)]),
    ([(1e-9,)], [(0.0,)]),
    ([(-0.0,)], [(0.0,)]),
    ([(INF,)], [(INF,)]),
    ([(NAN,)], [(None,)]),
    ([(2**62,)], [(2**62,)]),
    ([("a",)], [("a",)]),
    ([("",)], [("",)]),
    ([("ä",), ("z",)], [("z",), ("ä",)]),
    ([(b"\x00",)], [(b"\x00",)]),
    ([("2024-01-02",)], [(date(2024, 1, 2),)]),
    ([("2024-01-02 03:04:05",)], [(datetime(2024, 1, 2, 3, 4, 5),)]),
    ([(1, "a")], [("a", 1)]),
    ([(1, 2), (3, 4)], [(2, 1), (4, 3)]),
    ([(1, 2, 3)], [(3, 1, 2)]),
    ([(1, 1), (1, 2)], [(1, 1), (2, 1)]),
    ([(1,), (1,), (2,)], [(1,), (2,), (1,)]),
    ([("a", 1), ("a", 1), ("b", 2)], [("b", 2), ("a", 1), ("a", 1)]),
    ([(0.3, "b"), (0.3, "a")], [(0.1 + 0.2, "a"), (0.3, "b")]),
    ([(0.3, 2.0), (0.30000000000000004, 1.0)], [(0.30000000000000004, 2.0), (0.3, 1.0)]),
    ([(1, 10), (2, 20)], [(20, 2), (10, 1)]),
    ([(None, None)], [(None, None)]),
    ([(None, 1), (1, None)], [(1, None), (None, 1)]),
    ([(1, "x", None)], [(None, 1, "x")]),
    ([(1,) * 8], [(1,) * 8]),
    ([tuple(range(8))], [tuple(reversed(range(8)))]),
    ([(5.0000001,)], [(5,)]),
    ([(10**20,)], [(float(10**20),)]),
]

OTHER: list[tuple[Rows, Rows]] = [
    ([], [(1,)]),
    ([(1,)], []),
    ([], [(None,)]),
    ([(1,)], [(2,)]),
    ([(1,)], [(1,), (1,)]),
    ([(1,), (1,)], [(1,)]),
    ([(1,), (1,), (2,)], [(1,), (2,), (2,)]),
    ([(1,)], [(1, 1)]),
    ([(1, 2)], [(1,)]),
    ([(1,)], [("1",)]),
    ([("1",)], [(1,)]),
    ([(1.5,)], [("1.5",)]),
    ([(None,)], [(0,)]),
    ([(None,)], [("",)]),
    ([("None",)], [(None,)]),
    ([("a",)], [("A",)]),
    ([("a",)], [("a ",)]),
    ([("a",)], [(b"a",)]),
    ([(1.0,)], [(1.00001,)]),
    ([(1_000_000,)], [(1_000_002,)]),
    ([(INF,)], [(-INF,)]),
    ([(INF,)], [(1e308,)]),
    ([(NAN,)], [(0,)]),
    ([(1, 2), (3, 4)], [(1, 4), (3, 2)]),
    ([(1, 2), (2, 1)], [(1, 1), (2, 2)]),
    ([("a", 1), ("b", 2)], [("a", 2), ("b", 1)]),
    ([(None, 1), (1, None)], [(None, None), (1, 1)]),
    ([(0.3, "a"), (0.3, "b")], [(0.3, "a"), (0.3, "a")]),
    ([("2024-01-02",)], [(date(2024, 2, 1),)]),
    ([(1, 2, 3)], [(1, 2, 4)]),
    ([(1, 1, 2)], [(1, 2, 2)]),
    ([(True,)], [("True",)]),
]

# Gold, found, keys of the gold's order ('all' where they are not in the result), and the verdict.
ORDERED: list[tuple[Rows, Rows, Order, bool]] = [
    ([(1,), (2,)], [(1,), (2,)], IN_ORDER, True),
    ([(1,), (2,)], [(2,), (1,)], IN_ORDER, False),
    ([(1,), (1,)], [(1,), (1,)], IN_ORDER, True),
    ([(1, "a"), (2, "b")], [("a", 1), ("b", 2)], IN_ORDER, True),
    ([(1, "a"), (2, "b")], [("b", 2), ("a", 1)], IN_ORDER, False),
    ([(1, 2), (2, 1)], [(2, 1), (1, 2)], IN_ORDER, True),  # the columns may be the other way round
    ([("a", 1), ("b", 1)], [("b", 1), ("a", 1)], Order(True, (1,)), True),
    ([("a", 1), ("b", 2)], [("b", 2), ("a", 1)], Order(True, (1,)), False),
    ([("a", 1), ("b", 1), ("c", 2)], [("b", 1), ("a", 1), ("c", 2)], Order(True, (1,)), True),
    ([("a", 1), ("b", 1), ("c", 2)], [("c", 2), ("a", 1), ("b", 1)], Order(True, (1,)), False),
    ([("a", 1), ("b", 1), ("c", 2)], [("a", 1), ("c", 2), ("b", 1)], Order(True, (1,)), False),
    ([("a", 1), ("b", 1)], [(1, "b"), (1, "a")], Order(True, (1,)), True),
    ([("a", None), ("b", None)], [("b", None), ("a", None)], Order(True, (1,)), True),
    ([("a", 0.3), ("b", 0.1 + 0.2)], [("b", 0.3), ("a", 0.3)], Order(True, (1,)), True),
    ([], [], IN_ORDER, True),
    ([], [(1,)], IN_ORDER, False),
]


@pytest.mark.parametrize(("gold", "found"), SAME)
def test_same(gold: Rows, found: Rows) -> None:
    assert same_result(gold, found)
    assert same_result(found, gold)


@pytest.mark.parametrize(("gold", "found"), OTHER)
def test_other(gold: Rows, found: Rows) -> None:
    assert not same_result(gold, found)
    assert not same_result(found, gold)


@pytest.mark.parametrize(("gold", "found", "order", "verdict"), ORDERED)
def test_ordered(gold: Rows, found: Rows, order: Order, verdict: bool) -> None:
    assert same_result(gold, found, order) is verdict


@pytest.mark.parametrize(
    ("sql", "order"),
    [
        ("SELECT a FROM t", ANY_ORDER),
        ("SELECT a FROM (SELECT a FROM t ORDER BY a)", ANY_ORDER),
        ("SELECT a FROM t WHERE a IN (SELECT b FROM u ORDER BY b)", ANY_ORDER),
        ("SELECT a, b FROM t ORDER BY b", Order(True, (1,))),
        ("SELECT a, count(*) FROM t GROUP BY a ORDER BY count(*) DESC, a", Order(True, (1, 0))),
        ("SELECT a, b AS n FROM t ORDER BY n", Order(True, (1,))),
        ("SELECT a, b FROM t ORDER BY 2, 1", Order(True, (1, 0))),
        ("SELECT a FROM t ORDER BY b", IN_ORDER),
        ("SELECT * FROM t ORDER BY b", IN_ORDER),
        ("SELECT a FROM t UNION SELECT b FROM u ORDER BY 1", Order(True, (0,))),
        ("WITH x AS (SELECT 1) SELECT a FROM t ORDER BY a LIMIT 3", Order(True, (0,))),
    ],
)
def test_the_order_that_a_query_asks_for(sql: str, order: Order) -> None:
    assert order_of(sql) == order


Values = st.one_of(st.none(), st.integers(-2, 2), st.sampled_from(["a", "b", "1"]))
Tables = st.integers(1, 3).flatmap(
    lambda width: st.lists(st.tuples(*[Values] * width), min_size=1, max_size=5)
)


@given(Tables, Tables)
def test_the_search_for_columns_agrees_with_trying_them_all(gold: Rows, found: Rows) -> None:
    def by_force() -> bool:
        if len(gold) != len(found) or len(gold[0]) != len(found[0]):
            return False
        wanted = sorted(map(repr, gold))
        return any(
            sorted(repr(tuple(row[at] for at in order)) for row in found) == wanted
            for order in permutations(range(len(gold[0])))
        )

    assert same_result(gold, found) == by_force()


@given(Tables, st.randoms())
def test_shuffling_rows_and_columns_makes_no_difference(gold: Rows, rng: random.Random) -> None:
    places = list(range(len(gold[0])))
    rng.shuffle(places)
    found = [tuple(row[at] for at in places) for row in gold]
    rng.shuffle(found)
    assert same_result(gold, found)


def test_many_equal_columns_are_paired_at_once() -> None:
    wide = [tuple(range(row, row + 3)) * 12 for row in range(50)]
    assert same_result(wide, [row[::-1] for row in wide])
    changed = [*wide[:-1], (0,) * 36]
    assert not same_result(wide, changed)


def test_there_are_enough_pairs() -> None:
    assert len(SAME) + len(OTHER) + len(ORDERED) >= 60
