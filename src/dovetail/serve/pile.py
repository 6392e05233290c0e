"""The whole join graph as a drawing: families folded, tables in groups, every place worked out.

A browser could lay out a few hundred tables before people notice; this takes thousands, once for
a state of the catalog, and a page only draws them. Groups come by label propagation, springs hold
tables within a group apart, and the groups' discs are packed. Nothing is left to chance: the same
graph gives the same drawing.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from threading import Lock
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from dovetail.api.catalog import Catalog
from dovetail.arrays import Floats
from dovetail.components import Components
from dovetail.domain import TableId
from dovetail.names.table_name import entity, unqualified
from dovetail.names.words import plural
from dovetail.text import written_out

Edges = Sequence[tuple[int, int, float]]
Pair = tuple[TableId, TableId]

# Rounds of label propagation and of springs; springs cost the square of a group's tables.
_ROUNDS, _STEPS, _SPRUNG = 12, 50, 400
# A connected component of so many tables is one group.
_WHOLE = 40
# Tables with most joins that a group may be called after.
_HUBS = 8
_GOLDEN = math.pi * (3 - math.sqrt(5))
# Between two discs.
_MARGIN = 1.2
# Beyond these a drawing says nothing more: the tables with most joins, the surest joins.
MOST_TABLES, MOST_EDGES, _MEMBERS = 20_000, 60_000, 50


@dataclass(frozen=True)
class PileGroup:
    """Tables that hang together, as a disc; called after what most of its joins are about."""

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
        self._made: WeakKeyDictionary[object, PileView] = WeakKeyDictionary()
        self._lock = Lock()

    def of(self, catalog: Catalog) -> PileView:
        """The drawing of a catalog; an update or a note makes another graph, and so another one."""
        graph = catalog.join_graph()
        with self._lock:
            if graph not in self._made:
                self._made[graph] = pile_view(catalog)
            return self._made[graph]


def pile_view(catalog: Catalog) -> PileView:
    """Fold families, keep what can be drawn, group it and give every table its place."""
    logical = logical_tables(catalog)
    edges = dict(islice(logical_joins(catalog).items(), MOST_EDGES))
    many = Counter(table for pair in edges for table in pair)
    kept = sorted(sorted(logical, key=lambda table: (-many[table], table))[:MOST_TABLES])
    index = {table: at for at, table in enumerate(kept)}
    drawn = [
        (index[a], index[b], round(score, 3))
        for (a, b), score in edges.items()
        if a in index and b in index
    ]
    groups = groups_of([table.source for table in kept], drawn)
    laid = layout(groups, drawn)
    rows = dict(zip(catalog.ids, catalog.reader.records.tables["rows"].to_pylist(), strict=True))
    return PileView(
        ids=[written_out(str(table)) for table in kept],
        rows=[int(rows[table]) for table in kept],
        x=laid.x,
        y=laid.y,
        group=list(groups.of),
        also=[logical[table][:_MEMBERS] for table in kept],
        edges=drawn,
        groups=_groups(groups, kept, many, catalog.reader.source_names, laid.discs),
        total=len(catalog),
        truncated=len(logical) > len(kept),
    )


def logical_tables(catalog: Catalog) -> dict[TableId, list[str]]:
    """The tables that stand for their families, each with the ids of the other members."""
    families = catalog.families()
    members = {family.canonical: family.tables for family in families}
    logical = dict.fromkeys(families.canonical(table) for table in catalog.ids)
    return {
        table: [written_out(str(one)) for one in members.get(table, ()) if one != table]
        for table in logical
    }


def logical_joins(catalog: Catalog) -> dict[Pair, float]:
    """The surest score between every two logical tables that join, the surest first."""
    canonical = catalog.families().canonical
    scores: dict[Pair, float] = {}
    for (left, right), score in catalog.join_graph().pairs().items():
        a, b = sorted((canonical(left), canonical(right)))
        if a != b:
            scores.setdefault((a, b), score)
    return scores


def _groups(
    groups: Groups,
    tables: Sequence[TableId],
    many: Counter[TableId],
    sources: Mapping[str, str],
    discs: Sequence[tuple[float, float, float]],
) -> list[PileGroup]:
    listed = []
    for members, joined, (x, y, radius) in zip(groups.members, groups.joined, discs, strict=True):
        hubs = sorted((tables[at] for at in members), key=lambda table: (-many[table], table))
        name = group_name(hubs) if joined else f"{sources[hubs[0].source]}, no joins"
        listed.append(PileGroup(written_out(name), len(members), x, y, radius))
    return listed


def group_name(hubs: Sequence[TableId]) -> str:
    """What a group is about: the things that its tables with most joins, given first, hold.

    >>> group_name([TableId("crm", n) for n in ("tbl_order", "orders_2023", "customers", "KNA1")])
    'orders and customers'
    >>> group_name([TableId("crm", "?!")])
    '?!'
    """
    things = dict.fromkeys(_thing(table.name) for table in hubs[:_HUBS])
    return " and ".join(list(things)[:2])


def _thing(name: str) -> str:
    """What a table holds, in the plural; a name that is no words is told as it is."""
    words = entity(name)
    if not words or not all(word.isalpha() for word in words):
        return unqualified(name)
    return " ".join((*words[:-1], plural(words[-1])))


@dataclass(frozen=True, slots=True)
class Groups:
    """Which group each table is in, the members of each, and whether joins hold it together."""

    of: list[int]
    members: list[list[int]]
    joined: list[bool]


@dataclass(frozen=True, slots=True)
class Layout:
    """Where each table stands, and the disc (x, y, radius) of each group."""

    x: list[float]
    y: list[float]
    discs: list[tuple[float, float, float]]


def groups_of(sources: Sequence[str], edges: Edges) -> Groups:
    """Tables that hang together, the largest group first; those without joins by their sources."""
    near: list[list[tuple[int, float]]] = [[] for _ in sources]
    for a, b, score in edges:
        near[a].append((b, score))
        near[b].append((a, score))
    components = Components(range(len(sources)), ((a, b) for a, b, _ in edges))
    whole = [components.root(at) for at in range(len(sources))]
    label = list(range(len(sources)))
    for _ in range(_ROUNDS):
        if not _propagate(label, near):
            break
    sizes = Counter(whole)
    label = [
        len(label) + one if sizes[one] <= _WHOLE else own
        for one, own in zip(whole, label, strict=True)
    ]
    by_key: dict[tuple[bool, object], list[int]] = {}
    for at, source in enumerate(sources):
        key: tuple[bool, object] = (True, label[at]) if near[at] else (False, source)
        by_key.setdefault(key, []).append(at)
    ordered = sorted(by_key.items(), key=lambda item: (not item[0][0], -len(item[1]), item[1][0]))
    of = [0] * len(sources)
    for number, (_, members) in enumerate(ordered):
        for at in members:
            of[at] = number
    return Groups(of, [members for _, members in ordered], [key[0] for key, _ in ordered])


def _propagate(label: list[int], near: Sequence[Sequence[tuple[int, float]]]) -> bool:
    """Give each table the label that most of its joins lead to; whether any changed."""
    changed = False
    for at, others in enumerate(near):
        if not others:
            continue
        weight: dict[int, float] = {}
        for other, score in others:
            # A hub that everything joins, a calendar say, pulls each of its tables but little.
            pull = score / math.sqrt(len(near[other]))
            weight[label[other]] = weight.get(label[other], 0.0) + pull
        best = min(weight, key=lambda one: (-round(weight[one], 9), one))
        if weight[best] > weight.get(label[at], 0.0) + 1e-9:
            label[at], changed = best, True
    return changed


def layout(groups: Groups, edges: Edges) -> Layout:
    """A place for each table: within its group's disc, and the discs side by side."""
    inside: list[list[tuple[int, int]]] = [[] for _ in groups.members]
    position = {at: number for members in groups.members for number, at in enumerate(members)}
    for a, b, _ in edges:
        if groups.of[a] == groups.of[b]:
            inside[groups.of[a]].append((position[a], position[b]))
    shapes = [(len(m), tuple(links)) for m, links in zip(groups.members, inside, strict=True)]
    made = {shape: _within(*shape) for shape in dict.fromkeys(shapes)}  # many groups are alike
    local = [made[shape] for shape in shapes]
    radii = [float(np.hypot(*each.T).max(initial=0.0)) + 0.8 for each in local]
    centres = _packed(radii)
    x, y = np.zeros(len(groups.of)), np.zeros(len(groups.of))
    for members, points, centre in zip(groups.members, local, centres, strict=True):
        x[members], y[members] = (points + centre).T
    discs = [
        (round(float(cx), 2), round(float(cy), 2), round(radius, 2))
        for (cx, cy), radius in zip(centres, radii, strict=True)
    ]
    return Layout(np.round(x, 2).tolist(), np.round(y, 2).tolist(), discs)


def _within(many: int, links: Sequence[tuple[int, int]]) -> Floats:
    """Places around (0, 0), about one apart, hubs in the middle, joined tables near each other."""
    degree = np.bincount(np.array(links, dtype=np.int64).ravel(), minlength=many)
    order = np.argsort(-degree, kind="stable")
    ring, angle = np.sqrt(np.arange(many)), _GOLDEN * np.arange(many)
    points = np.zeros((many, 2))
    points[order] = np.stack([ring * np.cos(angle), ring * np.sin(angle)], axis=1) * 0.75
    if links and 2 < many <= _SPRUNG:
        points = _sprung(points, np.array(links))
    centred: Floats = points - (points.min(axis=0) + points.max(axis=0)) / 2
    return centred


def _sprung(points: Floats, links: npt.NDArray[np.int64]) -> Floats:
    """Fruchterman and Reingold's springs, then nothing nearer than one."""
    many = len(points)
    for step in range(_STEPS):
        near = 1.6 / (_squares(points) + 0.05)
        force = points * near.sum(axis=1)[:, None] - near @ points
        along = points[links[:, 1]] - points[links[:, 0]]
        pull = along * np.hypot(*along.T)[:, None] * 0.35
        np.add.at(force, links[:, 0], pull)
        np.add.at(force, links[:, 1], -pull)
        force -= 0.08 * points
        length = np.hypot(*force.T)[:, None] + 1e-9
        most = math.sqrt(many) * 0.25 * (1 - step / _STEPS) + 0.02
        points = points + force / length * np.minimum(length, most)
    for _ in range(16):
        distance = np.sqrt(_squares(points)) + np.eye(many) * 9 + 1e-6
        push = 0.45 * np.clip(1.0 - distance, 0, None) / distance
        if not push.any():
            break
        points = points + points * push.sum(axis=1)[:, None] - push @ points
    return points


def _squares(points: Floats) -> Floats:
    """The square of the distance of each two points."""
    x, y = points.T
    squares: Floats = (x[:, None] - x[None, :]) ** 2 + (y[:, None] - y[None, :]) ** 2
    return squares


def _packed(radii: Sequence[float]) -> Floats:
    """Centres of discs that do not overlap, the first in the middle, the others along a spiral."""
    x, y = np.zeros(len(radii)), np.zeros(len(radii))
    sizes = np.array(radii)
    turn, previous = 0.0, math.inf
    for number, radius in enumerate(radii):
        if radius < 0.7 * previous:
            turn, previous = 0.0, radius  # smaller ones may fit into gaps further in
        apart = (sizes[:number] + radius + _MARGIN) ** 2
        while True:
            reach = 0.35 * turn
            x[number], y[number] = 1.35 * reach * math.cos(turn), reach * math.sin(turn)
            away = (x[:number] - x[number]) ** 2 + (y[:number] - y[number]) ** 2
            if (away >= apart).all():
                break
            turn += max(0.02, 0.6 * radius / max(reach, 1.0))
    return np.stack([x, y], axis=1)
