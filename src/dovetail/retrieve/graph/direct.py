"""Joins of two tables that refer to the same key of a third: no connector is needed there.

Tickets and a survey both have the e-mail of a contact. Joined by way of the contacts or by the
e-mail itself, the same rows meet, so the contacts add nothing to the set.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from dovetail.catalog.reader import CatalogReader
from dovetail.domain import JoinEdge, TableId
from dovetail.joins.graph import JOINABLE, JoinGraph
from dovetail.retrieve.graph.connect import ConnectedSet, Connector


def direct_join(catalog: CatalogReader, joins: JoinGraph, between: Connector) -> JoinEdge | None:
    """The join of the two tables around a connector, if both refer to one key column of it.

    None if they do not, or if values must be transformed before they match.
    """
    up = [_reference(joins, child, between.table) for child in between.between]
    if up[0] is None or up[1] is None or up[0].columns[0][1] != up[1].columns[0][1]:
        return None
    (one, _), (other, _) = up[0].columns[0], up[1].columns[0]
    left, right = up[0].left, up[1].left
    shared = _Overlap.of(catalog, (left, one), (right, other))
    if not shared.rows:
        return None
    score = min(up[0].score, up[1].score)
    evidence = {"shared_key": score, "fan_in": shared.fan_in, "fan_out": shared.fan_out}
    return JoinEdge(left, right, ((one, other),), score, "n:m", shared.match_rate, evidence)


def without_needless(catalog: CatalogReader, joins: JoinGraph, found: ConnectedSet) -> ConnectedSet:
    """A connected set without the connectors in whose place a direct join does."""
    direct = {
        one.table: edge
        for one in found.connectors
        if not _passed(one.table, found.connectors)
        and (edge := direct_join(catalog, joins, one)) is not None
    }
    kept = tuple(one for one in found.connectors if one.table not in direct)
    return replace(found, connectors=kept, direct=tuple(direct.values()))


def _passed(table: TableId, connectors: Sequence[Connector]) -> bool:
    """Whether another connector joins a table: then it is a step of a longer path."""
    return any(table in other.between for other in connectors)


def _reference(joins: JoinGraph, child: TableId, parent: TableId) -> JoinEdge | None:
    """The best join of two tables, if it is a plain reference of the child to one key column."""
    edge = next(iter(joins.between(child, parent)), None)
    if edge is None or edge.score <= JOINABLE or edge.transform or len(edge.columns) > 1:
        return None
    return edge if edge.left == child != edge.right and edge.cardinality.endswith(":1") else None


class _Overlap(NamedTuple):
    """The rows of the left that meet rows of the right, and how many each of both then meets."""

    rows: int
    match_rate: float
    fan_in: float
    fan_out: float

    @classmethod
    def of(
        cls, catalog: CatalogReader, left: tuple[TableId, str], right: tuple[TableId, str]
    ) -> _Overlap:
        """Count them exactly, from the value hashes of both columns."""
        sides = []
        for table, name in (left, right):
            at = [column.name for column in catalog[table].columns].index(name)
            sides.append((catalog.hashes(table, at), catalog.counts(table, at)))
        (one, ones), (other, others) = sides
        _, here, there = np.intersect1d(one, other, assume_unique=True, return_indices=True)
        mine, theirs = ones[here].astype(np.int64), others[there].astype(np.int64)
        rows = int(mine.sum())
        if not rows:
            return cls(0, 0.0, 1.0, 1.0)
        met = int((mine * theirs).sum())
        rate = round(rows / int(ones.sum()), 6)
        return cls(rows, rate, round(met / rows, 6), round(met / int(theirs.sum()), 6))
