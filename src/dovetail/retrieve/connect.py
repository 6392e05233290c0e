"""Connects the chosen tables: adds one or two tables between components, or gives a component up.

The chosen tables may form several connected components of the join graph. A path of one or two
further tables, the connectors, joins a component to the first one. Longer paths run through joins
that only look true, and cost more precision than the component is worth (docs/lab/choosing.md has
the figures), so a component that only a longer path reaches is left out. One that no path reaches
stays, since the catalog itself is disconnected there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from dovetail.components import Components
from dovetail.domain import TableId
from dovetail.joins.graph import JOINABLE

# Above this score a join or a name link connects two tables. Name links count where a table has too
# few rows for a join to be proven: without them the sets of Beaver, whose tables are empty, fall
# into components.
_LEAST = 0.2

Pair = tuple[TableId, TableId, float]
Probabilities = Mapping[TableId, float]


@dataclass(frozen=True, slots=True)
class Connector:
    """A table that was added to connect the set, and the two tables that it connects."""

    table: TableId
    between: tuple[TableId, TableId]

    def __str__(self) -> str:
        left, right = self.between
        return f"connects {left.name} and {right.name}"


@dataclass(frozen=True, slots=True)
class ConnectedSet:
    """The chosen tables, the connectors between them, and the chosen that no short path reached."""

    tables: tuple[TableId, ...]
    connectors: tuple[Connector, ...] = ()
    left_out: tuple[TableId, ...] = ()

    @property
    def ids(self) -> list[TableId]:
        """All tables of the set: the chosen first, then the connectors."""
        return [*self.tables, *(connector.table for connector in self.connectors)]

    def among(self, kept: Sequence[TableId], links: LinkGraph) -> ConnectedSet:
        """The set with some of its tables alone, less the connectors that connect nothing then."""
        left = list(kept)
        added = {connector.table for connector in self.connectors}

        def idle() -> TableId | None:
            return next((one for one in left if one in added and not links.splits(one, left)), None)

        while table := idle():
            left.remove(table)
        tables = tuple(table for table in self.tables if table in left)
        connectors = tuple(one for one in self.connectors if one.table in left)
        return replace(self, tables=tables, connectors=connectors)


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
        for left, right, score in pairs:
            if score > _LEAST and left != right:
                self.joined[left][right] = self.joined[right][left] = score
        edges = ((table, other) for table, near in self.joined.items() for other in near)
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
        in any case, with the connectors that they take.
        """
        parts_of: dict[TableId, list[list[TableId]]] = {}
        for part in self.components(chosen):
            parts_of.setdefault(self._components.root(part[0]), []).append(part)
        connectors: list[Connector] = []
        left_out: set[TableId] = set()
        for first, *others in parts_of.values():
            reached, waiting = list(first), others
            while waiting:
                reachable = (
                    (part, path)
                    for part in waiting
                    if (path := self._path(part, reached, probabilities, chosen))
                    and (
                        not set(part).isdisjoint(needed)
                        or _worth([*part, *path.tables], probabilities, least)
                    )
                )
                if (nearest := next(reachable, None)) is None:
                    left_out.update(table for part in waiting for table in part)
                    break
                part, path = nearest
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
        """The connected components that tables form among themselves, in their order.

        Edges that score above `least` connect them.
        """
        tables = list(chosen)
        edges = (
            (left, right)
            for left, right in combinations(tables, 2)
            if self.joined[left].get(right, 0.0) > least
        )
        return Components(tables, edges).groups()

    def splits(self, table: TableId, tables: Sequence[TableId]) -> bool:
        """Whether tables fall into more connected components without one of them."""
        rest = [other for other in tables if other != table]
        return len(self.components(rest)) > len(self.components(tables))

    def connect_singly(
        self, chosen: Sequence[TableId], offered: Sequence[TableId], *, least: float = JOINABLE
    ) -> list[Connector]:
        """The tables on offer that connect components of the chosen ones, in order.

        Each joins at least two components by edges that score above `least`; the one that joins
        most comes first, ties as they are offered. It ends when the set is connected, or no single
        table connects it further.
        """
        group, connectors = list(chosen), list[Connector]()
        while len(parts := self.components(group, least=least)) > 1:
            joins = (
                self._strongest(table, parts, least) for table in offered if table not in group
            )
            best = max(joins, key=len, default=[])
            if len(best) < 2:
                break
            (table, first), (_, second), *_ = best
            connectors.append(Connector(table, (first, second)))
            group.append(table)
        return connectors

    def _strongest(
        self, table: TableId, parts: Sequence[Sequence[TableId]], least: float
    ) -> list[tuple[TableId, TableId]]:
        """The table's strongest join with each part that it joins, the strongest first."""
        near = self.joined[table]
        best = [max((near.get(other, 0.0), other) for other in part) for part in parts]
        joins = sorted((join for join in best if join[0] > least), key=lambda join: -join[0])
        return [(table, other) for _, other in joins]

    def _path(
        self,
        part: Sequence[TableId],
        reached: Sequence[TableId],
        probabilities: Probabilities,
        chosen: Collection[TableId],
    ) -> _Path | None:
        """The shortest path of at most two connectors from a part to the tables reached so far.

        Among equally short ones it is that of the most probable tables, then of the surest joins.
        A chosen table is no connector: once it is reached itself, the path from it is shorter.
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
                    (Connector(a, (near[a][0], b)), Connector(b, (a, far[b][0]))),
                    min(near[a][1], between, far[b][1]),
                )
                for a in near
                for b, between in self.joined[a].items()
                if b in far and b not in chosen
            ]

        def cost(path: _Path) -> tuple[float, float, list[TableId]]:
            probable = sum(probabilities.get(table, 0.0) for table in path.tables)
            return -probable, -path.score, path.tables

        return min(paths, key=cost, default=None)

    def _around(self, tables: Iterable[TableId]) -> dict[TableId, tuple[TableId, float]]:
        """The neighbours of tables, each with the table among them it joins most surely."""
        neighbours: dict[TableId, tuple[TableId, float]] = {}
        for table in tables:
            for neighbour, score in self.joined[table].items():
                if neighbour not in neighbours or score > neighbours[neighbour][1]:
                    neighbours[neighbour] = (table, score)
        return neighbours


def _worth(tables: Sequence[TableId], probabilities: Probabilities, least: float) -> bool:
    """Whether tables have a mean probability of at least `least`."""
    return sum(probabilities.get(table, 0.0) for table in tables) >= least * len(tables)
