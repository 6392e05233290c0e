"""Connected components by union-find, against walks through the graph."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dovetail.components import Components

NODES = st.integers(0, 7)


def walked(node: int, edges: list[tuple[int, int]]) -> set[int]:
    """All nodes that are reached from one, the slow way."""
    reached = {node}
    while more := {n for edge in edges if reached & set(edge) for n in edge} - reached:
        reached |= more
    return reached


@given(st.lists(st.tuples(NODES, NODES), max_size=10))
def test_groups_are_what_walks_reach(edges: list[tuple[int, int]]) -> None:
    groups = Components(range(8), edges).groups()
    assert [node for group in groups for node in sorted(group)] == [n for g in groups for n in g]
    assert [group[0] for group in groups] == sorted(group[0] for group in groups)
    assert all(set(group) == walked(node, edges) for group in groups for node in group)


@given(st.lists(st.tuples(NODES, NODES), max_size=10))
def test_two_nodes_are_united_once(edges: list[tuple[int, int]]) -> None:
    components: Components[int] = Components()
    for at, (left, right) in enumerate(edges):
        assert components.unite(left, right) == (right not in walked(left, edges[:at]))
        assert components.root(left) == components.root(right)
