"""Edges that are made when they are looked at: a question needs few of the thousands there are."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Sequence
from typing import overload

from dovetail.domain import JoinEdge, TableId

Ends = tuple[TableId, TableId]


class LazyEdges(Sequence[JoinEdge]):
    """Edges in order; `ends` tells which two tables each one joins without making it."""

    ends: list[Ends]

    @abstractmethod
    def edge(self, place: int) -> JoinEdge:
        """The edge at a place, from 0."""

    def __len__(self) -> int:
        return len(self.ends)

    @overload
    def __getitem__(self, at: int) -> JoinEdge: ...

    @overload
    def __getitem__(self, at: slice) -> list[JoinEdge]: ...

    def __getitem__(self, at: int | slice) -> JoinEdge | list[JoinEdge]:
        if isinstance(at, slice):
            return [self.edge(place) for place in range(*at.indices(len(self)))]
        return self.edge(range(len(self))[at])


class EditedEdges(LazyEdges):
    """The `added` edges, then those of `edges` whose places are not in `dropped`, in order."""

    def __init__(
        self, edges: Sequence[JoinEdge], added: Sequence[JoinEdge], dropped: Collection[int]
    ) -> None:
        self._edges, self._added = edges, list(added)
        self._places = [place for place in range(len(edges)) if place not in dropped]
        ends = ends_of(edges)
        self.ends = [*ends_of(self._added), *(ends[place] for place in self._places)]

    def edge(self, place: int) -> JoinEdge:
        """An edge that was added, or one of the others, by its place among both."""
        if place < len(self._added):
            return self._added[place]
        return self._edges[self._places[place - len(self._added)]]


def ends_of(edges: Sequence[JoinEdge]) -> list[Ends]:
    """The two tables of each edge, without making edges that are lazy."""
    if isinstance(edges, LazyEdges):
        return edges.ends
    return [(edge.left, edge.right) for edge in edges]
