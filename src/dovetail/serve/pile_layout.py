"""Places for thousands of tables: groups by label propagation, springs within, discs packed.

Nothing is left to chance: the same graph gives the same drawing.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dovetail.arrays import Floats
from dovetail.components import Components

Edges = Sequence[tuple[int, int, float]]

# Rounds of label propagation and of springs; springs cost the square of a group's tables.
_ROUNDS, _STEPS, _SPRUNG = 12, 50, 400
# A connected component of so many tables is one group.
_WHOLE = 40
_GOLDEN = math.pi * (3 - math.sqrt(5))
# Between two discs.
_MARGIN = 1.2


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
    found: dict[tuple[bool, object], list[int]] = {}
    for at, source in enumerate(sources):
        key: tuple[bool, object] = (True, label[at]) if near[at] else (False, source)
        found.setdefault(key, []).append(at)
    ordered = sorted(found.items(), key=lambda item: (not item[0][0], -len(item[1]), item[1][0]))
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
    position = {at: place for members in groups.members for place, at in enumerate(members)}
    for a, b, _ in edges:
        if groups.of[a] == groups.of[b]:
            inside[groups.of[a]].append((position[a], position[b]))
    local = [
        _within(len(members), links) for members, links in zip(groups.members, inside, strict=True)
    ]
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
        apart = points[:, None, :] - points[None, :, :]
        square = (apart**2).sum(axis=2) + 0.05
        force = (apart / square[:, :, None]).sum(axis=1) * 1.6
        along = points[links[:, 1]] - points[links[:, 0]]
        pull = along * np.hypot(*along.T)[:, None] * 0.35
        np.add.at(force, links[:, 0], pull)
        np.add.at(force, links[:, 1], -pull)
        force -= 0.08 * points
        length = np.hypot(*force.T)[:, None] + 1e-9
        most = math.sqrt(many) * 0.25 * (1 - step / _STEPS) + 0.02
        points = points + force / length * np.minimum(length, most)
    for _ in range(16):
        apart = points[:, None, :] - points[None, :, :]
        distance = np.sqrt((apart**2).sum(axis=2)) + np.eye(many) * 9 + 1e-6
        push = np.clip(1.0 - distance, 0, None) / distance
        points = points + 0.45 * (apart * push[:, :, None]).sum(axis=1)
    return points


def _packed(radii: Sequence[float]) -> Floats:
    """Centres of discs that do not overlap, the first in the middle, the others along a spiral."""
    centres = np.zeros((len(radii), 2))
    sizes = np.array(radii)
    turn, previous = 0.0, math.inf
    for number, radius in enumerate(radii):
        if radius < 0.7 * previous:
            turn, previous = 0.0, radius  # smaller ones may fit into gaps further in
        while True:
            reach = 0.35 * turn
            centre = np.array([1.35 * reach * math.cos(turn), reach * math.sin(turn)])
            distance = np.hypot(*(centres[:number] - centre).T)
            if (distance >= sizes[:number] + radius + _MARGIN).all():
                break
            turn += max(0.02, 0.6 * radius / max(reach, 1.0))
        centres[number] = centre
    return centres
