"""Connected components of a graph, by union-find: edges come one by one, in any order."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Generic, TypeVar

Node = TypeVar("Node", bound=Hashable)


class Components(Generic[Node]):
    """Which nodes are connected; every node is a component by itself until it is united.

    >>> components = Components("abcd")
    >>> components.unite("d", "b"), components.unite("b", "d")
    (True, False)
    >>> components.groups(), components.root("b")
    ([['a'], ['b', 'd'], ['c']], 'd')
    """

    def __init__(self, nodes: Iterable[Node] = (), edges: Iterable[tuple[Node, Node]] = ()) -> None:
        self._parent = {node: node for node in nodes}
        for left, right in edges:
            self.unite(left, right)

    def root(self, node: Node) -> Node:
        """The node that represents the component of a node; a new node is added."""
        parent = self._parent
        while parent.setdefault(node, node) != node:
            parent[node] = node = parent[parent[node]]
        return node

    def unite(self, left: Node, right: Node) -> bool:
        """Connect two nodes, the root of `left` represents both; whether they were apart."""
        left, right = self.root(left), self.root(right)
        self._parent[right] = left
        return left != right

    def groups(self) -> list[list[Node]]:
        """The components, by their first nodes, and the nodes of each, as they were added."""
        groups: dict[Node, list[Node]] = {}
        for node in self._parent:
            groups.setdefault(self.root(node), []).append(node)
        return list(groups.values())
