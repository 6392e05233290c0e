"""The places of a pile: groups that hang together, discs that keep apart, the same every time."""

from __future__ import annotations

import math
from itertools import combinations

from dovetail.serve.pile import groups_of, layout

# Two cliques of sixty that one join connects, a pair, and three tables that join nothing.
CLIQUES = [(start + a, start + b, 0.9) for start in (0, 60) for a, b in combinations(range(60), 2)]
EDGES = [*CLIQUES, (0, 60, 0.6), (120, 121, 0.8)]
SOURCES = ["a"] * 60 + ["b"] * 60 + ["c"] * 2 + ["c", "d", "d"]


def test_groups_hang_together_and_the_rest_is_by_source() -> None:
    found = groups_of(SOURCES, EDGES)
    assert [len(members) for members in found.members] == [60, 60, 2, 2, 1]
    assert found.joined == [True, True, True, False, False]
    assert found.members[3] == [123, 124]
    assert [found.of[at] for at in (0, 59, 60, 119, 120, 122, 123)] == [0, 0, 1, 1, 2, 4, 3]


def test_a_small_component_is_one_group() -> None:
    chain = [(at, at + 1, 0.9) for at in range(19)]
    assert [len(each) for each in groups_of(["s"] * 20, chain).members] == [20]


def test_discs_hold_their_tables_and_keep_apart() -> None:
    groups = groups_of(SOURCES, EDGES)
    laid = layout(groups, EDGES)
    for at, number in enumerate(groups.of):
        x, y, radius = laid.discs[number]
        assert math.hypot(laid.x[at] - x, laid.y[at] - y) <= radius
    for (ax, ay, a), (bx, by, b) in combinations(laid.discs, 2):
        assert math.hypot(ax - bx, ay - by) >= a + b
    assert len(set(zip(laid.x, laid.y, strict=True))) == len(SOURCES)


def test_the_same_graph_gives_the_same_drawing() -> None:
    groups = groups_of(SOURCES, EDGES)
    assert layout(groups, EDGES) == layout(groups_of(SOURCES, EDGES), EDGES)


def test_nothing_and_one_table_have_drawings() -> None:
    assert layout(groups_of([], []), []).discs == []
    one = layout(groups_of(["s"], []), [])
    assert (one.x, one.y, len(one.discs)) == ([0.0], [0.0], 1)
