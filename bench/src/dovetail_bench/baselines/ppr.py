"""Personalised PageRank over the join graph: relevance that flows along joins.

Not in the paper; what many would try first. A walker starts at a table in proportion to its
relevance, follows joins in proportion to their scores, and restarts now and then; the tables it
visits most are the set. A table that joins nothing keeps the walker until the restart, so that it
is ranked by relevance alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from dovetail.arrays import Floats
from dovetail.domain import Candidate, Chosen, TableSet
from dovetail.retrieve.opening import SelectorContext
from dovetail.retrieve.registry import factory_with
from dovetail.retrieve.trace import Stage, require_positive, table_set
from dovetail.search.searcher import Searcher

_MOST_STEPS = 100
_STILL = 1e-10


@dataclass(frozen=True)
class PprRetriever:
    """The `k` most visited tables; starts are the first `starts` of the fused ranking.

    `restart` is the chance to start again; `sharpness` how much more the best start counts.
    """

    searcher: Searcher
    k: int = 5
    starts: int = 20
    restart: float = 0.5
    sharpness: float = 10.0

    def __post_init__(self) -> None:
        require_positive(k=self.k, starts=self.starts)

    def retrieve(self, question: str) -> TableSet:
        found = self.searcher.search(question, max(self.starts, self.k))
        starts = found[: self.starts]
        visits, steps = self._walk(starts)
        ranks = {candidate.id: rank for rank, candidate in enumerate(found)}
        ids = [table.id for table in self.searcher.tables]
        order = sorted(
            range(len(ids)),
            key=lambda place: (-visits[place], ranks.get(ids[place], len(found)), ids[place]),
        )
        relevance = {candidate.id: candidate.relevance for candidate in found}
        started = {candidate.id for candidate in starts}
        chosen = [
            Chosen(
                ids[place],
                relevance.get(ids[place], 0.0),
                "search" if ids[place] in started else "walk",
                f"visited {visits[place]:.3f} of the time",
            )
            for place in order[: self.k]
        ]
        stage = Stage(
            "walk", facts={"starts": len(starts), "steps": steps, "restart": self.restart}
        )
        return table_set(question, self.searcher.joins, chosen, [stage])

    def _walk(self, found: list[Candidate]) -> tuple[Floats, int]:
        """The share of visits of every table, and how many steps it took to settle."""
        start = np.zeros(len(self.searcher.tables))
        for candidate in found:
            weight = np.exp(self.sharpness * (candidate.relevance - found[0].relevance))
            start[self._places[candidate.id]] = weight
        if not found:
            return start, 0
        start /= start.sum()
        visits = start
        for step in range(1, _MOST_STEPS + 1):
            moved = self._move(visits)
            after = self.restart * start + (1 - self.restart) * moved
            if np.abs(after - visits).sum() < _STILL:
                return after, step
            visits = after
        return visits, _MOST_STEPS

    def _move(self, visits: Floats) -> Floats:
        sources, targets, shares = self._arcs
        moved: Floats = np.zeros(len(visits))
        np.add.at(moved, targets, visits[sources] * shares)
        moved[self._lonely] += visits[self._lonely]
        return moved

    @cached_property
    def _places(self) -> dict[object, int]:
        return {table.id: place for place, table in enumerate(self.searcher.tables)}

    @cached_property
    def _arcs(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], Floats]:
        """Both directions of the best edge of every two tables, with the share that takes it."""
        best: dict[tuple[int, int], float] = {}
        for edge in self.searcher.joins.edges:
            left, right = self._places[edge.left], self._places[edge.right]
            if left != right and edge.score > 0:
                for arc in ((left, right), (right, left)):
                    best[arc] = max(best.get(arc, 0.0), edge.score)
        ends = np.array(list(best), dtype=np.int64).reshape(-1, 2)
        scores = np.array(list(best.values()), dtype=np.float64)
        leaving = np.bincount(ends[:, 0], scores, minlength=len(self._places))
        return ends[:, 0], ends[:, 1], scores / leaving[ends[:, 0]]

    @cached_property
    def _lonely(self) -> npt.NDArray[np.bool_]:
        lonely = np.ones(len(self._places), dtype=np.bool_)
        lonely[self._arcs[0]] = False
        return lonely


@factory_with(ranks=True)
def open_ppr(context: SelectorContext) -> PprRetriever:
    """Open the retriever `ppr`."""
    return PprRetriever(context.searcher, context.k)
