"""Joining what was chosen: islands are bridged by one or two tables, or given up.

Longer ways lead through joins that only look true, and cost more precision than the island is worth
(docs/graph.md has the figures). So a set falls apart only where no way leads from part to part.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from dovetail.domain import TableId

# Above this a join or a tie by name holds a set together. Ties count where a table has too few rows
# for a join to be proven: without them Beaver's sets, whose tables are empty, fall apart.
_LEAST = 0.2

Pair = tuple[TableId, TableId, float]


@dataclass(frozen=True, slots=True)
class Bridge:
    """A table that is there to join others, and those of the set that it stands between."""

    table: TableId
    between: tuple[TableId, TableId]

    def __str__(self) -> str:
        one, other = self.between
        return f"bridges {one.name} and {other.name}"


@dataclass(frozen=True, slots=True)
class Bridged:
    """The chosen tables, the bridges that join them, and the chosen that no short way led to."""

    tables: tuple[TableId, ...]
    bridges: tuple[Bridge, ...] = ()
    left_out: tuple[TableId, ...] = ()

    @property
    def ids(self) -> list[TableId]:
        return [*self.tables, *(bridge.table for bridge in self.bridges)]


@dataclass(frozen=True, slots=True)
class _Way:
    """Bridges in a row, and how sure the least sure join of the way is."""

    bridges: tuple[Bridge, ...]
    score: float

    @property
    def tables(self) -> list[TableId]:
        return [bridge.table for bridge in self.bridges]


class Islands:
    """The parts of a set that do not join each other, given which tables join and how surely."""

    def __init__(self, tables: Iterable[TableId], pairs: Iterable[Pair]) -> None:
        self.joined: dict[TableId, dict[TableId, float]] = {table: {} for table in tables}
        for one, other, score in pairs:
            if score > _LEAST and one != other:
                self.joined[one][other] = self.joined[other][one] = score
        self._continent: dict[TableId, TableId] = {}
        for table in self.joined:
            if table not in self._continent:
                self._settle(table)

    def _settle(self, first: TableId) -> None:
        """Find all that a way of joins leads to from a table."""
        self._continent[first] = first
        todo = [first]
        while todo:
            for other in self.joined[todo.pop()]:
                if other not in self._continent:
                    self._continent[other] = first
                    todo.append(other)

    def bridged(self, chosen: Sequence[TableId], beliefs: Mapping[TableId, float]) -> Bridged:
        """The chosen, most believed first, joined wherever a short way leads.

        Of the islands that a way of joins leads between, those that no bridge of one or two tables
        brings to the first one are left out.
        """
        continents: dict[TableId, list[list[TableId]]] = {}
        for island in self.apart(chosen):
            continents.setdefault(self._continent[island[0]], []).append(island)
        bridges: list[Bridge] = []
        left_out: set[TableId] = set()
        for mainland, *others in continents.values():
            land, waiting = list(mainland), others
            while waiting:
                found = next(
                    ((one, way) for one in waiting if (way := self._way(one, land, beliefs))), None
                )
                if found is None:
                    left_out.update(table for island in waiting for table in island)
                    break
                island, way = found
                waiting.remove(island)
                land += [*island, *way.tables]
                bridges += way.bridges
        kept = tuple(table for table in chosen if table not in left_out)
        return Bridged(kept, tuple(bridges), tuple(t for t in chosen if t in left_out))

    def apart(self, chosen: Iterable[TableId]) -> list[list[TableId]]:
        """The islands of some tables, in the order of their first one."""
        left = list(chosen)
        islands = []
        while left:
            island = [left.pop(0)]
            for table in island:
                near = [other for other in left if other in self.joined[table]]
                island += near
                left = [other for other in left if other not in near]
            islands.append(island)
        return islands

    def _way(
        self, island: Sequence[TableId], land: Sequence[TableId], beliefs: Mapping[TableId, float]
    ) -> _Way | None:
        """The shortest bridge of at most two tables: the most believed one, then the surest."""
        near, far = self._around(island), self._around(land)
        if not near.keys().isdisjoint(land):  # an earlier bridge has joined it
            return _Way((), 1.0)
        ways = [
            _Way(
                (Bridge(table, (near[table][0], far[table][0])),),
                min(near[table][1], far[table][1]),
            )
            for table in near.keys() & far.keys()
        ]
        if not ways:
            ways = [
                _Way(
                    (Bridge(one, (near[one][0], two)), Bridge(two, (one, far[two][0]))),
                    min(near[one][1], between, far[two][1]),
                )
                for one in near
                for two, between in self.joined[one].items()
                if two in far
            ]

        def merit(way: _Way) -> tuple[float, float, list[TableId]]:
            return -sum(beliefs.get(table, 0.0) for table in way.tables), -way.score, way.tables

        return min(ways, key=merit, default=None)

    def _around(self, tables: Iterable[TableId]) -> dict[TableId, tuple[TableId, float]]:
        """The tables that join some of these, each with the one it joins most surely."""
        found: dict[TableId, tuple[TableId, float]] = {}
        for table in tables:
            for other, score in self.joined[table].items():
                if other not in found or score > found[other][1]:
                    found[other] = (table, score)
        return found
