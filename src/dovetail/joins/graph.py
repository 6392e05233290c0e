"""The join graph: tables are its nodes, scored joins its edges; neighbours, paths, components.

The path between two tables is one that a person would take: along foreign keys, and not through
what everything refers to. It costs more the less sure its joins are and the more steps it has. Two
tables that only share a parent (a calendar, a town, a status) meet in every row that has the same
value: to go up to such a table and down again costs the more, the more rows each one then meets.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from dovetail.catalog.lookup import find_table
from dovetail.catalog.reader import CatalogReader
from dovetail.components import Components
from dovetail.domain import JoinEdge, TableId
from dovetail.joins.edges import LazyEdges, ends_of, scores_of, stored_edges

# Above this score the evidence for a join outweighs the evidence against it.
JOINABLE = 0.5


class JoinGraph:
    """Tables and the edges between them, the surest first.

    >>> import dovetail
    >>> graph = dovetail.JoinGraph.of(dovetail.build("shop.sqlite", into="catalog").reader)
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
        # The steps from each table by joins that are sure, kept as paths come by.
        self._steps: dict[TableId, list[_Step]] = {}

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

    def pairs(self) -> dict[tuple[TableId, TableId], float]:
        """Which tables join, by ids in order, each pair with its best score; the surest first."""
        best: dict[tuple[TableId, TableId], float] = {}
        for (left, right), score in zip(ends_of(self.edges), scores_of(self.edges), strict=True):
            if left != right and score > JOINABLE:
                best.setdefault((left, right) if left < right else (right, left), score)
        return best

    def joins(
        self, table: TableId | str, *, least: float = JOINABLE, calendars: bool = False
    ) -> list[JoinEdge]:
        """The edges at a table that score above `least`, the surest first; and then those with
        `calendars`, which are never so sure."""
        here = self._edges_at(self._find(table))
        return [edge for edge in here if edge.score > least or (calendars and edge.by_days)]

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
        that both ends merely refer to (a calendar, a status) before nothing.
        """
        kept = self._steps if least == JOINABLE else {}

        def steps_at(table: TableId) -> list[_Step]:
            if table not in kept:
                kept[table] = self._steps_at(table, least)
            return kept[table]

        return best_path(steps_at, self._find(start), self._find(end))

    def _steps_at(self, table: TableId, least: float) -> list[_Step]:
        """The steps from a table by joins that score above `least`."""
        return [
            _Step(edge, (other, rising), _cost(edge), _cost(edge) + (0 if rising else _down(edge)))
            for edge in self._edges_at(table)
            if edge.score > least and edge.left != edge.right
            for rising in [edge.left == table]
            for other in [edge.right if rising else edge.left]
        ]

    def components(self, *, least: float = JOINABLE) -> list[list[TableId]]:
        """The connected components, the largest first; a table without joins is one by itself."""
        edges = ((e.left, e.right) for table in self._at for e in self.joins(table, least=least))
        groups = map(sorted, Components(self._at, edges).groups())
        return sorted(groups, key=lambda component: (-len(component), component))

    def _find(self, table: TableId | str) -> TableId:
        if isinstance(table, TableId) and table in self._at:
            return table
        return find_table(list(self._at), table)


def each_once(edges: Iterable[JoinEdge]) -> Iterator[JoinEdge]:
    """Of joins that hold the same columns equal, from one side and from the other, the first."""
    seen = set[object]()
    for edge in edges:
        pairs = (frozenset(((edge.left, a), (edge.right, b))) for a, b in edge.columns)
        same = frozenset(pairs), edge.transform, edge.when
        if same not in seen:
            seen.add(same)
            yield edge


# Nats for a step, for a join of attributes, where nothing looks like a key, and for a transform.
_STEP, _ATTRIBUTE, _TRANSFORM = 0.3, 1.0, 0.2
# Nats for going up to a parent and down to another child, and for each e-fold of rows then met.
_SHARED, _FAN_OUT = 0.5, 0.5
# A row that meets so many others, on average, is worth a warning.
_MANY = 5.0

# Where a path stands, and whether it came up to there from a child.
_Place = tuple[TableId, bool]


class _Step(NamedTuple):
    """A step by a join: where it leads, what it costs, and what if a child led here."""

    edge: JoinEdge
    there: _Place
    cost: float
    shared: float


def best_path(
    steps_at: Callable[[TableId], Iterable[_Step]], start: TableId, end: TableId
) -> list[JoinEdge]:
    """The path of least cost; empty if there is none.

    Ties go to fewer edges, then to smaller ids.
    """
    begin: _Place = (start, False)
    best: dict[_Place, tuple[float, int]] = {begin: (0.0, 0)}
    came: dict[_Place, tuple[_Place, JoinEdge]] = {}
    queue: list[tuple[float, int, _Place]] = [(0.0, 0, begin)]
    while queue:
        cost, steps, place = heapq.heappop(queue)
        here, up = place
        if here == end:
            return list(_back(place, begin, came))[::-1]
        if (cost, steps) > best[place]:
            continue
        before = came[place][1] if place in came else None
        for edge, there, plain, shared in steps_at(here):
            reached = (round(cost + (shared if up else plain), 9), steps + 1)
            known = best.get(there)
            if known is not None and known <= reached:
                continue
            if before is not None and _never_meet(before, edge):
                continue
            best[there] = reached
            came[there] = place, edge
            heapq.heappush(queue, (*reached, there))
    return []


def _back(
    place: _Place, begin: _Place, came: dict[_Place, tuple[_Place, JoinEdge]]
) -> Iterator[JoinEdge]:
    while place != begin:
        place, edge = came[place]
        yield edge


def _never_meet(before: JoinEdge, edge: JoinEdge) -> bool:
    """Whether two joins are of one conditional key, which refers to both in no row, or lead to two
    lists of one table."""
    own = (before.left, before.columns[0][0]) == (edge.left, edge.columns[0][0])
    lists = before.right == edge.right and before.when_right and edge.when_right
    return (own or lists) and before.when != edge.when


def _cost(edge: JoinEdge) -> float:
    """What a step costs in nats."""
    cost = _STEP - math.log(edge.score)
    if "declared" not in edge.evidence:
        cost += _ATTRIBUTE * (1 - edge.evidence.get("key", 1.0))
    return cost + _TRANSFORM * bool(edge.transform)


def _down(edge: JoinEdge) -> float:
    """What it costs besides to go down from a table that was come up to."""
    return _SHARED + _FAN_OUT * math.log(max(edge.fan_out(edge.right), 1.0))


def shared_parent(edges: Iterable[JoinEdge], table: TableId) -> bool:
    """Whether tables join a table only as its children do: they share nothing but that parent."""
    found = list(edges)
    return bool(found) and all(edge.right == table != edge.left for edge in found)


def shared_parent_note(one: TableId, edge: JoinEdge) -> str:
    """What to know of two tables that only refer to the same one; `edge` is the second's."""
    keys = " and ".join(key for _, key in edge.columns)
    both = f"{one.name} and {edge.left.name} share nothing but {edge.right.name}"
    return f"{both}: rows meet wherever {keys} is equal"


def path_notes(path: Sequence[JoinEdge], start: TableId) -> list[str]:
    """What to know of a path: tables it goes through only because both sides refer to them, and
    joins that multiply rows.

    >>> sales, stays = TableId("s", "sales"), TableId("s", "stays")
    >>> day, said = TableId("s", "calendar"), {"fan_out": 40.0}
    >>> up, down = (JoinEdge(t, day, (("d", "d"),), 1.0, "n:1", 1.0, said) for t in (sales, stays))
    >>> for note in path_notes([up, down], sales):
    ...     print(note)
    sales and stays share nothing but calendar: rows meet wherever d is equal
    the join of calendar with stays multiplies rows by about 40
    """
    notes = []
    here, before, up = start, start, False
    for edge in path:
        rising = edge.left == here
        there = edge.right if rising else edge.left
        if up and not rising:
            notes.append(shared_parent_note(before, edge))
        times = edge.fan_out(here)
        if times >= _MANY:
            joined = f"the join of {here.name} with {there.name}"
            notes.append(f"{joined} multiplies rows by about {times:,.0f}")
        before, here, up = here, there, rising
    return notes
