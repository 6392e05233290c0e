"""Pinned and banned joins over the edges of a catalog: the edges themselves stay as they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dovetail.catalog.reader import CatalogReader
from dovetail.domain import JoinEdge, TableId
from dovetail.joins.column_arrays import DEFAULT_THRESHOLDS, Thresholds
from dovetail.joins.graph import JoinGraph
from dovetail.joins.known_edges import known_edges
from dovetail.joins.lazy_edges import EditedEdges, ends_of
from dovetail.joins.scoring.registry import DEFAULT_SCORING
from dovetail.notes.notes import PINNED, Notes

Pairs = frozenset[frozenset[tuple[TableId, str]]]


def noted_graph(
    catalog: CatalogReader,
    notes: Notes,
    scoring: str = DEFAULT_SCORING,
    thresholds: Thresholds = DEFAULT_THRESHOLDS,
) -> JoinGraph:
    """The join graph of a catalog with what notes pin and ban."""
    edges = known_edges(catalog, scoring, thresholds)
    return JoinGraph(catalog.ids, noted_edges(edges, notes))


def noted_edges(edges: Sequence[JoinEdge], notes: Notes) -> Sequence[JoinEdge]:
    """The edges without the banned ones, and the pinned ones before them.

    Only edges between tables that the notes name are looked at, however many there are.
    """
    if not notes.pins and not notes.bans:
        return edges
    pinned = {_columns(edge): edge for edge in notes.pins}
    touched = {frozenset((edge.left, edge.right)) for edge in notes.pins}
    touched |= {ban.tables for ban in notes.bans}
    named = frozenset[TableId]().union(*touched)
    dropped: set[int] = set()
    for place, (left, right) in enumerate(ends_of(edges)):
        if left not in named or right not in named or {left, right} not in touched:
            continue
        edge = edges[place]
        if any(ban.forbids(edge) for ban in notes.bans):
            dropped.add(place)
        elif (key := _columns(edge)) in pinned:
            dropped.add(place)
            evidence = {**edge.evidence, **pinned[key].evidence, PINNED: 1.0}
            pinned[key] = replace(edge, score=1.0, evidence=evidence)
    return EditedEdges(edges, [*pinned.values()], dropped)


def _columns(edge: JoinEdge) -> Pairs:
    return frozenset(frozenset(((edge.left, a), (edge.right, b))) for a, b in edge.columns)
