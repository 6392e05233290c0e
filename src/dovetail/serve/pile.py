"""The whole join graph as a drawing: families folded, tables in groups, every place worked out.

A browser could lay out a few hundred tables before people notice; this takes thousands, once for
a state of the catalog, and a page only draws them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock
from weakref import WeakKeyDictionary

from dovetail.api.catalog import Catalog
from dovetail.domain import TableId
from dovetail.joins.graph import JOINABLE, JoinGraph
from dovetail.serve.pile_layout import Groups, groups_of, layout
from dovetail.text import one_line

# Beyond these a drawing says nothing more: the tables with most joins, the surest joins.
MOST_TABLES, MOST_EDGES, _MEMBERS = 20_000, 60_000, 50


@dataclass(frozen=True)
class PileGroup:
    """Tables that hang together, as a disc; called after the one with most joins."""

    name: str
    tables: int
    x: float
    y: float
    radius: float


@dataclass(frozen=True)
class PileView:
    """Tables by place in parallel lists; `edges` are pairs of places, each with its score.

    `also` are the other members of a table's family, which are folded into it. A table's distance
    to its next is about one. `total` counts all tables; `truncated` where some are left out.
    """

    ids: list[str]
    rows: list[int]
    x: list[float]
    y: list[float]
    group: list[int]
    also: list[list[str]]
    edges: list[tuple[int, int, float]]
    groups: list[PileGroup]
    total: int
    truncated: bool


class Piles:
    """Drawings that were made before, as long as somebody holds the graphs they are of."""

    def __init__(self) -> None:
        self._made: WeakKeyDictionary[JoinGraph, PileView] = WeakKeyDictionary()
        self._lock = Lock()

    def of(self, catalog: Catalog) -> PileView:
        """The drawing of a catalog; an update or a note makes another graph, and so another one."""
        graph = catalog.join_graph()
        with self._lock:
            if graph not in self._made:
                self._made[graph] = pile_view(catalog, graph)
            return self._made[graph]


def pile_view(catalog: Catalog, graph: JoinGraph) -> PileView:
    """Fold families, keep what can be drawn, group it and give every table its place."""
    families = catalog.families()
    logical = list(dict.fromkeys(families.canonical(table) for table in catalog.ids))
    edges = _edges(graph, {table: families.canonical(table) for table in catalog.ids})
    many = Counter(table for pair in edges for table in pair)
    kept = sorted(sorted(logical, key=lambda table: (-many[table], table))[:MOST_TABLES])
    place = {table: at for at, table in enumerate(kept)}
    drawn = [
        (place[a], place[b], round(score, 3))
        for (a, b), score in edges.items()
        if a in place and b in place
    ]
    groups = groups_of([table.source for table in kept], drawn)
    laid = layout(groups, drawn)
    rows = dict(zip(catalog.ids, catalog.records.tables["rows"].to_pylist(), strict=True))
    folded = {table: families.of(table) for table in kept}
    return PileView(
        ids=[one_line(str(table)) for table in kept],
        rows=[int(rows[table]) for table in kept],
        x=laid.x,
        y=laid.y,
        group=list(groups.of),
        also=[
            [one_line(str(one)) for one in family.tables if one != table][:_MEMBERS]
            if (family := folded[table]) is not None and family.canonical == table
            else []
            for table in kept
        ],
        edges=drawn,
        groups=_groups(groups, kept, many, laid.discs),
        total=len(catalog),
        truncated=len(logical) > len(kept),
    )


def _edges(
    graph: JoinGraph, logical: dict[TableId, TableId]
) -> dict[tuple[TableId, TableId], float]:
    """The surest score between every two logical tables that join, the surest first."""
    found: dict[tuple[TableId, TableId], float] = {}
    for edge in graph.edges:
        if edge.score <= JOINABLE or len(found) >= MOST_EDGES:
            break
        a, b = sorted((logical[edge.left], logical[edge.right]))
        if a != b:
            found.setdefault((a, b), edge.score)
    return found


def _groups(
    groups: Groups,
    tables: Sequence[TableId],
    many: Counter[TableId],
    discs: Sequence[tuple[float, float, float]],
) -> list[PileGroup]:
    found = []
    for members, joined, (x, y, radius) in zip(groups.members, groups.joined, discs, strict=True):
        hub = max((tables[at] for at in members), key=lambda table: (many[table], table.name))
        name = hub.name if joined else f"{hub.source}, no joins"
        found.append(PileGroup(one_line(name), len(members), x, y, radius))
    return found
