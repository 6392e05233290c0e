"""Connects the chosen tables: adds one or two tables between components, or gives a component up.

The chosen tables may form several connected components of the join graph. A path of one or two
further tables, the connectors, joins a component to the first one. Longer paths run through joins
that only look true, and cost more precision than the component is worth (docs/graph.md has the
figures), so a component that only a longer path reaches is left out. One that no path reaches
stays, since the catalog itself is disconnected there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from dovetail.components import Components
from dovetail.domain import JoinEdge, TableId

# Above this score a join or a name link connects two tables. Name links count where a table has too
# few rows for a join to be proven: without them the sets of Beaver, whose tables are empty, fall
# into components.
_LEAST = 0.2

Pair = tuple[TableId, TableId, float]
Probabilities = Mapping[TableId, float]


@dataclass(frozen=True, slots=True)
class Connector:
    """A table that was added to connect the set, and the two tables it stands between."""

    table: TableId
    between: tuple[TableId, TableId]

    def __str__(self) -> str:
        one, other = self.between
        return f"connects {one.name} and {other.name}"


@dataclass(frozen=True, slots=True)
class ConnectedSet:
    """The chosen tables, the connectors between them, and the chosen that no short path reached.

    `direct` are joins that stand in for connectors (direct.py).
    """

    tables: tuple[TableId, ...]
    connectors: tuple[Connector, ...] = ()
    left_out: tuple[TableId, ...] = ()
    direct: tuple[JoinEdge, ...] = ()

    @property
    def ids(self) -> list[TableId]:
        """All tables of the set: the chosen first, then the connectors."""
        return [*self.tables, *(connector.table for connector in self.connectors)]


@dataclass(frozen=True, slots=True)
class _Path:
    """Connectors in a row, and the score of the weakest join along them."""

    connectors: tuple[Connector, ...]
    score: float

    @property
    def tables(self) -> list[TableId]:
        return [connector.table for connector in self.connectors]


class LinkGraph:
    """The undirected graph of all tables, with an edge where two join or are linked by name.

    `joined` holds the neighbours of each table with the score of the edge.
    """

    def __init__(self, tables: Iterable[TableId], pairs: Iterable[Pair]) -> None:
        self.joined: dict[TableId, dict[TableId, float]] = {table: {} for table in tables}
        for one, other, score in pairs:
            if score > _LEAST and one != other:
                self.joined[one][other] = self.joined[other][one] = score
        edges = ((one, other) for one, near in self.joined.items() for other in near)
        self._components = Components(self.joined, edges)

    def connect(
        self,
        chosen: Sequence[TableId],
        probabilities: Probabilities,
        least: float = 0.0,
        *,
        needed: Collection[TableId] = (),
    ) -> ConnectedSet:
        """The chosen tables, the most probable first, connected wherever a short path allows.

        Each component of the whole graph is connected by itself: around the part of the set that
        holds its most probable table, part by part. Parts that no path of one or two connectors
        reaches are left out, and so are those that are not worth their connectors: the tables that
        would come in together must have a mean probability of `least`. Those that are `needed` stay
        in any case.
        """
        parts_of: dict[TableId, list[list[TableId]]] = {}
        for part in self.components(chosen):
            parts_of.setdefault(self._components.root(part[0]), []).append(part)
        connectors: list[Connector] = []
        left_out: set[TableId] = set()
        for first, *others in parts_of.values():
            reached, waiting = list(first), others
            while waiting:
                found = next(
                    (
                        (part, path)
                        for part in waiting
                        if (path := self._path(part, reached, probabilities))
                        and _worth([*part, *path.tables], probabilities, least)
                    ),
                    None,
                )
                if found is None:
                    left_out.update(table for part in waiting for table in part)
                    break
                part, path = found
                waiting.remove(part)
                reached += [*part, *path.tables]
                connectors += path.connectors
        left_out.difference_update(needed)
        kept = tuple(table for table in chosen if table not in left_out)
        dropped = tuple(table for table in chosen if table in left_out)
        return ConnectedSet(kept, tuple(connectors), dropped)

    def components(
        self, chosen: Iterable[TableId], *, least: float = _LEAST
    ) -> list[list[TableId]]:
        """The connected components that some tables form among themselves, in their order.

        Edges that score above `least` connect them.
        """
        tables = list(chosen)
        edges = (
            (one, other)
            for one, other in combinations(tables, 2)
            if self.joined[one].get(other, 0.0) > least
        )
        return Components(tables, edges).groups()

    def _path(
        self, part: Sequence[TableId], reached: Sequence[TableId], probabilities: Probabilities
    ) -> _Path | None:
        """The shortest path of at most two connectors from a part to the tables reached so far.

        Among equally short ones it is that of the most probable tables, then of the surest joins.
        """
        near, far = self._around(part), self._around(reached)
        if not near.keys().isdisjoint(reached):  # an earlier connector has joined it
            return _Path((), 1.0)
        paths = [
            _Path(
                (Connector(table, (near[table][0], far[table][0])),),
                min(near[table][1], far[table][1]),
            )
            for table in near.keys() & far.keys()
        ]
        if not paths:
            paths = [
                _Path(
                    (Connector(one, (near[one][0], two)), Connector(two, (one, far[two][0]))),
                    min(near[one][1], between, far[two][1]),
                )
                for one in near
                for two, between in self.joined[one].items()
                if two in far
            ]

        def cost(path: _Path) -> tuple[float, float, list[TableId]]:
            probable = sum(probabilities.get(table, 0.0) for table in path.tables)
            return -probable, -path.score, path.tables

        return min(paths, key=cost, default=None)

    def _around(self, tables: Iterable[TableId]) -> dict[TableId, tuple[TableId, float]]:
        """The neighbours of some tables, each with the table among them it joins most surely."""
        found: dict[TableId, tuple[TableId, float]] = {}
        for table in tables:
            for other, score in self.joined[table].items():
                if other not in found or score > found[other][1]:
                    found[other] = (table, score)
        return found


def _worth(tables: Sequence[TableId], probabilities: Probabilities, least: float) -> bool:
    """Whether some tables have a mean probability of at least `least`."""
    return sum(probabilities.get(table, 0.0) for table in tables) >= least * len(tables)
