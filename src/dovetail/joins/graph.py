"""The join graph: tables are its nodes, scored joins its edges; neighbours, paths, components."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from dovetail.catalog.lookup import find_table
from dovetail.catalog.reader import CatalogReader
from dovetail.components import Components
from dovetail.domain import JoinEdge, TableId
from dovetail.joins.edges import LazyEdges, ends_of, stored_edges
from dovetail.joins.graph import best_path

# Above this score the evidence for a join outweighs the evidence against it.
JOINABLE = 0.5


class JoinGraph:
    """Tables and the edges between them, the surest first.

    >>> import dovetail
    >>> graph = dovetail.JoinGraph.of(dovetail.build("shop.sqlite", into="catalog"))
    >>> [str(edge) for edge in graph.between("orders", "order_items")][0]
    'shop.sqlite::order_items.order_no = shop.sqlite::orders.order_no  (1.00)'
    """

    def __init__(self, tables: Iterable[TableId], edges: Iterable[JoinEdge]) -> None:
        self.edges: Sequence[JoinEdge] = edges if isinstance(edges, LazyEdges) else list(edges)
        # The places of each table's edges among all of them.
        self._at: dict[TableId, list[int]] = {table: [] for table in tables}
        for place, (left, right) in enumerate(ends_of(self.edges)):
            self._at[left].append(place)
            if right != left:
                self._at[right].append(place)

    @classmethod
    def of(cls, catalog: CatalogReader) -> JoinGraph:
        """The graph of a catalog."""
        return cls(catalog.ids, stored_edges(catalog))

    def among(self, tables: Iterable[TableId]) -> JoinGraph:
        """The graph of some of the tables, and the edges between them."""
        chosen = list(tables)
        inside = set(chosen)
        edges = (edge for edge in self.edges if edge.left in inside and edge.right in inside)
        return JoinGraph(chosen, edges)

    def joins(self, table: TableId | str, *, least: float = JOINABLE) -> list[JoinEdge]:
        """The edges at a table that score above `least`, the surest first."""
        return [edge for edge in self._edges_at(self._find(table)) if edge.score > least]

    def _edges_at(self, table: TableId) -> Iterator[JoinEdge]:
        return map(self.edges.__getitem__, self._at[table])

    def between(self, one: TableId | str, other: TableId | str) -> list[JoinEdge]:
        """All edges between two tables, the surest first."""
        ends = {self._find(one), self._find(other)}
        here = self._edges_at(self._find(one))
        return [edge for edge in here if {edge.left, edge.right} == ends]

    def neighbours(self, table: TableId | str, *, least: float = JOINABLE) -> list[TableId]:
        """The tables that join with a table, the surest first."""
        here = self._find(table)
        found = (
            edge.right if edge.left == here else edge.left for edge in self.joins(here, least=least)
        )
        return [other for other in dict.fromkeys(found) if other != here]

    def path(
        self, start: TableId | str, end: TableId | str, *, least: float = JOINABLE
    ) -> list[JoinEdge]:
        """The path from one table to another that a person would take; empty if there is none.

        Sure joins by keys come before joins of attributes, few steps before many, and a parent
        that both ends merely refer to (a calendar, a status) before nothing (`joins/paths.py`).
        """
        return best_path(self._edges_at, self._find(start), self._find(end), least)

    def components(self, *, least: float = JOINABLE) -> list[list[TableId]]:
        """The connected components, the largest first; a table without joins is one by itself."""
        edges = ((e.left, e.right) for table in self._at for e in self.joins(table, least=least))
        groups = map(sorted, Components(self._at, edges).groups())
        return sorted(groups, key=lambda component: (-len(component), component))

    def junction_tables(self) -> dict[TableId, list[JoinEdge]]:
        """Many-to-many tables, whose key is two or three foreign keys, with those foreign keys."""
        found: dict[TableId, list[JoinEdge]] = {}
        for edge in self.edges:
            if "junction" in edge.evidence:
                found.setdefault(edge.left, []).append(edge)
        return found

    def _find(self, table: TableId | str) -> TableId:
        if isinstance(table, TableId) and table in self._at:
            return table
        return find_table(list(self._at), table)
