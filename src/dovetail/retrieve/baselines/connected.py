"""Connected sets without a solver: what one is worth, a good one, and what no optimum can hold.

What `mip.py` maximises can be worked out for a given set: its best tree is the maximum spanning
tree, its best assignments are the largest gains. A set found by exchanging tables bounds the
optimum from below, and a candidate whose best company could not reach that bound is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Pair = tuple[int, int]

_NEVER = -float("inf")
_SLACK = 1e-6  # what rounding may make of two equal sums


@dataclass(frozen=True, slots=True)
class Weights:
    """What the parts of the objective count; `spread` is assignments allowed per sub-question.

    As the authors released them for Spider. For Bird they took coarse 3 and fine 3, tuned to inner
    products of Contriever, which spread wider than cosines: over cosines relevance then counts so
    little that the set is worse than the ranking it came from (docs/systems.md has the figures).
    """

    coarse: float = 10.0
    fine: float = 2.0
    coverage: float = 8.0
    compatibility: float = 1.0
    spread: float = 1.0


@dataclass(frozen=True, slots=True)
class Problem:
    """Candidates by number; `compatibility` holds pairs (lower, higher), none where none is.

    `fit` has a row per sub-question and a column per candidate: its best column's similarity.
    """

    relevance: Floats
    fit: Floats
    compatibility: Mapping[Pair, float]
    size: int

    def among(self, places: Sequence[int]) -> Problem:
        """The problem of some candidates alone, numbered anew in their order."""
        new = {place: number for number, place in enumerate(places)}
        return Problem(
            relevance=self.relevance[list(places)],
            fit=self.fit[:, list(places)],
            compatibility={
                (new[low], new[high]): score
                for (low, high), score in self.compatibility.items()
                if low in new and high in new
            },
            size=self.size,
        )


@dataclass(frozen=True)
class Worth:
    """What sets of candidates are worth under some weights."""

    problem: Problem
    weights: Weights

    def of(self, tables: Sequence[int]) -> float:
        """The objective of the best tree and the best assignments over a set; -inf without a tree.

        A sub-question's first assignment also covers it, so it never gains less than a further one.
        """
        edges = self.tree(tables)
        if len(edges) < len(tables) - 1:
            return _NEVER
        relevance = sum(self._relevance[table] for table in tables)
        return relevance + sum(self.joins[a][b] for a, b in edges) + self.cover(tables)

    def cover(self, tables: Sequence[int]) -> float:
        """The best assignments of sub-questions to a set."""
        gains: list[float] = []
        for fits in self._fits:
            row = sorted((fits[table] for table in tables), reverse=True)
            row[0] += self.weights.coverage
            gains += [gain for gain in row if gain > 0]
        allowed = int(self.weights.spread * len(self._fits) + _SLACK)
        return sum(sorted(gains, reverse=True)[:allowed])

    def tree(self, tables: Sequence[int]) -> list[Pair]:
        """The heaviest tree over a set, grown by its heaviest edges (Prim); short without one."""
        edges: list[Pair] = []
        nearest = dict.fromkeys(tables[1:], tables[0])
        joins = self.joins
        while nearest:
            table = max(nearest, key=lambda other: joins[nearest[other]][other])
            near = nearest.pop(table)
            if joins[near][table] == _NEVER:
                break
            edges.append((min(near, table), max(near, table)))
            for other, known in nearest.items():
                if joins[table][other] > joins[known][other]:
                    nearest[other] = table
        return sorted(edges)

    @cached_property
    def joins(self) -> list[list[float]]:
        """What an edge between two candidates counts; -inf where there is none."""
        count = len(self.problem.relevance)
        rows = [[_NEVER] * count for _ in range(count)]
        for (low, high), score in self.problem.compatibility.items():
            rows[low][high] = rows[high][low] = self.weights.compatibility * score
        return rows

    @cached_property
    def _relevance(self) -> list[float]:
        return [self.weights.coarse * value for value in self.problem.relevance.tolist()]

    @cached_property
    def _fits(self) -> list[list[float]]:
        return (self.weights.fine * self.problem.fit).tolist()  # type: ignore[no-any-return]

    def best_with(self) -> list[float]:
        """For each candidate, a bound on the worth of the sets that hold it.

        In a tree with the candidate as its root, every other table has one edge towards it, which
        counts no more than its best; and no set covers more than all candidates do.
        """
        count = len(self._relevance)
        alone = [
            relevance + max(row, default=_NEVER)
            for relevance, row in zip(self._relevance, self.joins, strict=True)
        ]
        order = sorted(range(count), key=lambda place: -alone[place])
        covered = self.cover(range(count)) if count else 0.0
        bounds = []
        for place in range(count):
            others = [other for other in order if other != place][: self.problem.size - 1]
            bounds.append(self._relevance[place] + sum(alone[other] for other in others) + covered)
        return bounds


def good_set(worth: Worth) -> tuple[int, ...]:
    """A connected set that no exchange of one table makes better; empty if none was found."""
    inside = _grown(worth)
    if not inside:
        return ()
    best = worth.of(inside)
    while True:
        outside = [place for place in range(len(worth.joins)) if place not in inside]
        trials = [
            tuple(sorted({*inside, enters} - {leaves})) for leaves in inside for enters in outside
        ]
        values = [worth.of(trial) for trial in trials]
        top = max(values, default=_NEVER)
        if top <= best + _SLACK:
            return inside
        best, inside = top, trials[values.index(top)]


def hopeful(worth: Worth, least: float) -> list[int]:
    """The candidates that a set of at least so much worth can hold."""
    return [place for place, bound in enumerate(worth.best_with()) if bound >= least - _SLACK]


def _grown(worth: Worth) -> tuple[int, ...]:
    """A connected set around the most relevant table that has enough others around it."""
    problem = worth.problem
    gain = (worth.weights.coarse * problem.relevance).tolist()
    for begin in np.argsort(-problem.relevance, kind="stable").tolist():
        inside = {begin}
        while len(inside) < problem.size:
            gains = {
                other: gain[other] + max(worth.joins[table][other] for table in inside)
                for other in range(len(gain))
                if other not in inside
            }
            table = max(gains, key=lambda other: (gains[other], -other))
            if gains[table] == _NEVER:
                break
            inside.add(table)
        if len(inside) == problem.size:
            return tuple(sorted(inside))
    return ()
