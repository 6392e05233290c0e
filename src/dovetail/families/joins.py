"""The joins of logical tables: a join with a copy is a join with the table it is a copy of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from dovetail.catalog.reader import CatalogReader
from dovetail.domain import JoinEdge, TableId
from dovetail.families.tables import plain
from dovetail.joins.graph import JoinGraph


class LogicalJoinGraph(JoinGraph):
    """A join graph whose edges lead to the tables that stand for families.

    `stands` names the table that stands for each copy. An edge of a copy is told of that table if
    it has the columns; the surest of several between the same columns counts. Edges are looked up
    when they are asked for.
    """

    def __init__(
        self, catalog: CatalogReader, graph: JoinGraph, stands: Mapping[TableId, TableId]
    ) -> None:
        super().__init__(catalog.ids, ())
        self.edges = graph.edges
        self._catalog, self._graph, self._stands = catalog, graph, stands
        self._members: dict[TableId, list[TableId]] = {}
        for member, table in stands.items():
            self._members.setdefault(table, []).append(member)
        self._found: dict[TableId, list[JoinEdge]] = {}

    def among(self, tables: Iterable[TableId]) -> JoinGraph:
        """The graph of some of the tables, and the edges between them."""
        chosen = list(tables)
        inside = set(chosen)
        edges = [edge for table in chosen for edge in self._edges_at(table)]
        every = {id(edge): edge for edge in edges if {edge.left, edge.right} <= inside}
        return JoinGraph(chosen, sorted(every.values(), key=lambda edge: -edge.score))

    def _edges_at(self, table: TableId) -> Iterator[JoinEdge]:
        if table not in self._found:
            self._found[table] = sorted(self._moved(table), key=lambda edge: -edge.score)
        return iter(self._found[table])

    def _moved(self, table: TableId) -> list[JoinEdge]:
        """The edges of a table and of all members that it stands for."""
        best: dict[object, JoinEdge] = {}
        for member in (table, *self._members.get(table, ())):
            for edge in self._graph.joins(member, least=0.0):
                moved = self._told_of_it(edge)
                if moved is None:
                    continue
                key = (moved.left, moved.right, moved.columns)
                if key not in best or moved.score > best[key].score:
                    best[key] = moved
        return list(best.values())

    def _told_of_it(self, edge: JoinEdge) -> JoinEdge | None:
        """The edge between the tables that stand; None within a family, or without the columns."""
        left = self._stands.get(edge.left, edge.left)
        right = self._stands.get(edge.right, edge.right)
        if (left, right) == (edge.left, edge.right):
            return edge
        if left == right:
            return None
        pairs = [(self._named(left, a), self._named(right, b)) for a, b in edge.columns]
        if not all(a and b for a, b in pairs):
            return None
        return replace(edge, left=left, right=right, columns=tuple(pairs))

    def _named(self, table: TableId, column: str) -> str:
        """What a table calls a column of another member; nothing where it has none such."""
        wanted = plain(column)
        names = (own.name for own in self._catalog[table].columns)
        return next((name for name in names if plain(name) == wanted), "")
