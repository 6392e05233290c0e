"""Connected sets without a solver: the objective, a local optimum, and a bound that prunes.

What `mip.py` maximises can be worked out for a given set: its best tree is the maximum spanning
tree, its best assignments are the largest gains. A set found by exchanging tables bounds the
optimum from below, and a candidate whose best company could not reach that bound is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dovetail.arrays import Floats

Pair = tuple[int, int]

_NEVER = -float("inf")
_SLACK = 1e-6  # what rounding may make of two equal sums


@dataclass(frozen=True, slots=True)
class Weights:
    """What the parts of the objective count; `spread` is assignments allowed per sub-question.

    As the authors released them for Spider. For Bird they took coarse 3 and fine 3, tuned to
    cosines of Contriever: over those of MiniLM relevance then counts so little that the set is
    worse than the ranking it came from (systems.md has the figures).
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

    def among(self, places: Sequence[int], edges: Sequence[Pair]) -> Problem:
        """The problem of some candidates and edges alone, numbered anew in their order."""
        new = {place: number for number, place in enumerate(places)}
        return Problem(
            relevance=self.relevance[list(places)],
            fit=self.fit[:, list(places)],
            compatibility={
                (new[low], new[high]): self.compatibility[low, high] for low, high in edges
            },
            size=self.size,
        )


@dataclass(frozen=True)
class Worth:
    """The objective of sets of candidates under some weights."""

    problem: Problem
    weights: Weights

    def of(self, tables: Sequence[int]) -> float:
        """The objective of the best tree and the best assignments over a set; -inf without a tree.

        A sub-question's first assignment also covers it, so it never gains less than a further one.
        """
        edges = self.tree(tables)
        if len(edges) < len(tables) - 1:
            return _NEVER
        relevance = sum(self.relevance[table] for table in tables)
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
        """Return what an edge between two candidates adds; -inf where there is none."""
        count = len(self.problem.relevance)
        rows = [[_NEVER] * count for _ in range(count)]
        for (low, high), score in self.problem.compatibility.items():
            rows[low][high] = rows[high][low] = self.weights.compatibility * score
        return rows

    @cached_property
    def relevance(self) -> list[float]:
        """Return what the relevance of each candidate adds."""
        return [self.weights.coarse * value for value in self.problem.relevance.tolist()]

    @cached_property
    def _fits(self) -> list[list[float]]:
        return (self.weights.fine * self.problem.fit).tolist()  # type: ignore[no-any-return]


def good_set(worth: Worth) -> tuple[int, ...]:
    """Return a connected set that no exchange of one table improves; empty if none was found."""
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


def within_bound(worth: Worth, known: Sequence[int]) -> tuple[list[int], list[Pair]]:
    """Keep the candidates and edges whose upper bound reaches the worth of a known set.

    Seen from any of its tables, every other table of a tree has one edge towards it. What a table
    adds to the cover is most over the known set and less over others: the cover is submodular. So
    a set is worth no more than its tables, each with its best edge and what it adds there; and this
    is less for fewer candidates, wherefore it is asked until nothing more falls away.
    """
    size = worth.problem.size
    covered = worth.cover(known)
    least = worth.of(known) - covered - _SLACK
    alone = [
        relevance + worth.cover([*{*known, place}]) - covered
        for place, relevance in enumerate(worth.relevance)
    ]
    places = list(range(len(alone)))
    edges = list(worth.problem.compatibility) if size > 1 else []
    while True:
        before = (len(places), len(edges))
        ranked = _with_best_edges(worth, alone, places, edges)
        places = [one for one in places if alone[one] + _most(ranked, size - 1, one) >= least]
        edges = [
            (one, other)
            for one, other in edges
            if one in places
            and other in places
            and alone[one] + alone[other] + worth.joins[one][other]
            + _most(ranked, size - 2, one, other) >= least
        ]  # fmt: skip
        if (len(places), len(edges)) == before:
            return places, edges


def _with_best_edges(
    worth: Worth, alone: Sequence[float], places: Sequence[int], edges: Sequence[Pair]
) -> list[tuple[float, int]]:
    """What each candidate counts together with its best edge, the most first."""
    best = dict.fromkeys(places, _NEVER)
    for one, other in edges:
        best[one] = max(best[one], worth.joins[one][other])
        best[other] = max(best[other], worth.joins[one][other])
    return sorted(((alone[place] + best[place], place) for place in places), reverse=True)


def _most(ranked: Sequence[tuple[float, int]], count: int, *without: int) -> float:
    """Return the sum of the `count` largest values, some left out."""
    rest = [value for value, place in ranked[: count + len(without)] if place not in without]
    return sum(rest[:count])


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
