"""The pairs of candidates that can be joined; selectors are shown them, adjustment uses them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from dovetail.domain import Candidate, JoinEdge, TableId
from dovetail.joins.graph import JoinGraph
from dovetail.retrieve.adjust import Compatibility


@dataclass(frozen=True, slots=True)
class Pair:
    """Two candidates, by their places in the ranking, and the join of highest score."""

    left: int
    right: int
    edge: JoinEdge


def joinable_pairs(joins: JoinGraph, candidates: Sequence[Candidate]) -> list[Pair]:
    """Return the pairs with a compatibility above 0, in the order of the ranking.

    `left` is the place of the edge's left table, whichever of the two ranks first.
    """
    found = []
    for (one, first), (other, second) in combinations(enumerate(candidates), 2):
        edges = joins.between(first.id, second.id)
        if edges and edges[0].score > 0:
            ends = (one, other) if edges[0].left == first.id else (other, one)
            found.append(Pair(*ends, edges[0]))
    return found


def compatibility_of(pairs: Sequence[Pair]) -> Compatibility:
    """Return the function that gives two tables the score of their pair, or 0 without one."""
    scores: dict[tuple[TableId, TableId], float] = {}
    for pair in pairs:
        edge = pair.edge
        scores[edge.left, edge.right] = scores[edge.right, edge.left] = edge.score
    return lambda one, other: scores.get((one, other), 0.0)
