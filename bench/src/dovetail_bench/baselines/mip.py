"""JAR's choice of a connected set of tables, as a mixed-integer program solved by HiGHS.

Chosen are exactly `size` tables and the edges of a tree over them. The objective adds, weighted:
the relevance of the tables, the compatibility of the edges, how well columns of chosen tables fit
the sub-questions, and how many sub-questions are covered at all.

The program is the published one with fewer variables and the same optima: of the columns of a
table only the best for a sub-question can be in an optimum, and of the column pairs of two tables
only the best; an edge is a pair of arcs away from a root, since at most `size - 1` edges that
connect `size` tables are a tree; candidates that no optimum holds are left out. (The released code
could use two column pairs of the same two tables, one per direction; here an edge is one pair, as
the publication says.)
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import count

import highspy
import numpy as np

from dovetail_bench.baselines.connected import (
    Pair,
    Problem,
    Weights,
    Worth,
    good_set,
    within_bound,
)

_ENDLESS = float("inf")
_CLOCK = highspy.HighsModelStatus.kTimeLimit
_OPTIMAL = highspy.HighsModelStatus.kOptimal


class Status(StrEnum):
    """How a solution came about."""

    OPTIMAL = "optimal"
    INCUMBENT = "incumbent"  # the best that was found with the work allowed
    INFEASIBLE = "infeasible"  # no so many candidates are connected


@dataclass(frozen=True, slots=True)
class Limits:
    """How much work a program is worth: in `steps`, which are the same on every machine.

    A step ends where HiGHS asks whether to go on: after a round of cuts, say. `seconds` of CPU,
    and twelve times as many on the wall, are for programs where waiting is worse than an answer
    that depends on the clock.
    """

    steps: int = 40
    seconds: float = 5.0


@dataclass(frozen=True, slots=True)
class Solution:
    """The chosen candidates and the tree over them; both empty where there is none.

    `timeout`: the clock ended the search, so that another run may find another set.
    """

    status: Status
    tables: tuple[int, ...] = ()
    edges: tuple[Pair, ...] = ()
    objective: float = 0.0
    timeout: bool = False


def solve(problem: Problem, weights: Weights, limits: Limits | None = None) -> Solution:
    """Return the best connected set, or the best within limits; equal problems give equal sets."""
    worth = Worth(problem, weights)
    first = good_set(worth) if 1 <= problem.size <= len(problem.relevance) else ()
    if not first:
        return Solution(Status.INFEASIBLE)
    kept, edges = within_bound(worth, first)
    start = [kept.index(one) for one in first]
    ended, places = _solved(problem.among(kept, edges), weights, start, limits or Limits())
    tables = tuple(kept[place] for place in places) or first
    return Solution(
        Status.OPTIMAL if ended == _OPTIMAL else Status.INCUMBENT,
        tables,
        tuple(worth.tree(tables)),
        worth.of(tables),
        timeout=ended == _CLOCK,
    )


def _solved(
    problem: Problem, weights: Weights, first: Sequence[int], limits: Limits
) -> tuple[highspy.HighsModelStatus, list[int]]:
    """Return how the search ended and its best set; it begins with `first`."""
    model = _Model()
    chosen = [model.binary(weights.coarse * value) for value in problem.relevance.tolist()]
    model.row([(table, 1.0) for table in chosen], problem.size, problem.size)
    _connect(model, problem, weights, chosen)
    _cover(model, problem, weights, chosen)
    start = [float(place in first) for place in range(len(chosen))]
    ended, values = model.run(chosen, start, limits)
    return ended, [place for place, value in enumerate(values) if value > 0.5]


def _connect(model: _Model, problem: Problem, weights: Weights, chosen: list[int]) -> None:
    """One tree from a root over the chosen tables: flow leaves the root, one unit per table."""
    size = problem.size
    roots = [model.binary(0.0) for _ in chosen]
    model.row([(root, 1.0) for root in roots], 1, 1)
    arcs: dict[Pair, int] = {}
    flows: dict[Pair, int] = {}
    for (low, high), score in problem.compatibility.items():
        for arc in ((low, high), (high, low)):
            arcs[arc] = model.binary(weights.compatibility * score)
            flows[arc] = model.variable(0.0, size - 1)
            model.row([(flows[arc], 1.0), (arcs[arc], 1.0 - size)], -_ENDLESS, 0)
        both = [(arcs[low, high], 1.0), (arcs[high, low], 1.0)]
        model.row([*both, (chosen[low], -1.0)], -_ENDLESS, 0)
        model.row([*both, (chosen[high], -1.0)], -_ENDLESS, 0)
    for table in range(len(chosen)):
        into = [arc for arc in arcs if arc[1] == table]
        from_it = [arc for arc in arcs if arc[0] == table]
        entered = [(arcs[arc], 1.0) for arc in into]
        model.row([*entered, (chosen[table], -1.0), (roots[table], 1.0)], 0, 0)
        flow = [(flows[arc], 1.0) for arc in into] + [(flows[arc], -1.0) for arc in from_it]
        model.row([*flow, (chosen[table], -1.0), (roots[table], float(size))], 0, 0)
        # Every table of a set could be its root: the first is, or the search is that much longer.
        for earlier in range(table):
            model.row([(roots[table], 1.0), (chosen[earlier], 1.0)], -_ENDLESS, 1)


def _cover(model: _Model, problem: Problem, weights: Weights, chosen: list[int]) -> None:
    """Sub-questions go to chosen tables, so many assignments in all; each may count as covered."""
    every: list[tuple[int, float]] = []
    for fits in problem.fit.tolist():
        given = [model.binary(weights.fine * fit) for fit in fits]
        for table, assigned in zip(chosen, given, strict=True):
            model.row([(assigned, 1.0), (table, -1.0)], -_ENDLESS, 0)
        covered = model.binary(weights.coverage)
        model.row([(covered, 1.0), *((assigned, -1.0) for assigned in given)], -_ENDLESS, 0)
        every += [(assigned, 1.0) for assigned in given]
    if every:
        model.row(every, -_ENDLESS, weights.spread * len(problem.fit))


@dataclass(slots=True)
class _Model:
    """Variables and rows as they are written down, then handed to HiGHS in one piece."""

    costs: list[float] = field(default_factory=list)
    uppers: list[float] = field(default_factory=list)
    integral: list[bool] = field(default_factory=list)
    bounds: list[tuple[float, float]] = field(default_factory=list)
    starts: list[int] = field(default_factory=lambda: [0])
    places: list[int] = field(default_factory=list)
    factors: list[float] = field(default_factory=list)

    def variable(self, cost: float, upper: float, *, integral: bool = False) -> int:
        self.costs.append(cost)
        self.uppers.append(upper)
        self.integral.append(integral)
        return len(self.costs) - 1

    def binary(self, cost: float) -> int:
        return self.variable(cost, 1.0, integral=True)

    def row(self, terms: list[tuple[int, float]], lower: float, upper: float) -> None:
        self.bounds.append((lower, upper))
        self.places += [place for place, _ in terms]
        self.factors += [factor for _, factor in terms]
        self.starts.append(len(self.places))

    def run(
        self, places: Sequence[int], start: Sequence[float], limits: Limits
    ) -> tuple[highspy.HighsModelStatus, list[float]]:
        """Solve from values that some variables begin with; theirs in the end, none if unknown."""
        solver = highspy.Highs()  # type: ignore[no-untyped-call]
        for option, value in (
            ("output_flag", False),
            ("threads", 1),  # the same answer on every machine
            ("mip_rel_gap", 0.0),
            ("presolve", "off"),  # costs more than it saves: 117 ms against 78 at the median
            ("time_limit", 12 * limits.seconds),
        ):
            solver.setOptionValue(option, value)
        solver.passModel(self._program())
        solver.setSolution(len(start), np.array(places, dtype=np.int32), np.array(start))
        steps, until = count(1), time.thread_time() + limits.seconds

        def go_on(event: highspy.highs.HighsCallbackEvent) -> None:
            if next(steps) > limits.steps or time.thread_time() > until:
                event.interrupt()

        solver.cbMipInterrupt += go_on
        solver.run()
        ended = solver.getModelStatus()  # an interrupt before the last step came from the clock
        if ended == highspy.HighsModelStatus.kInterrupt and next(steps) <= limits.steps + 1:
            ended = _CLOCK
        known = solver.getInfo().primal_solution_status
        if known != highspy.SolutionStatus.kSolutionStatusFeasible:
            return ended, []
        values = solver.getSolution().col_value
        return ended, [values[place] for place in places]

    def _program(self) -> highspy.HighsLp:
        program = highspy.HighsLp()
        program.num_col_, program.num_row_ = len(self.costs), len(self.bounds)
        program.sense_ = highspy.ObjSense.kMaximize
        program.col_cost_ = np.array(self.costs)
        program.col_lower_ = np.zeros(len(self.costs))
        program.col_upper_ = np.array(self.uppers, dtype=np.float64)
        bounds = np.array(self.bounds, dtype=np.float64)
        program.row_lower_, program.row_upper_ = bounds[:, 0].copy(), bounds[:, 1].copy()
        program.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        program.a_matrix_.start_ = np.array(self.starts, dtype=np.int32)
        program.a_matrix_.index_ = np.array(self.places, dtype=np.int32)
        program.a_matrix_.value_ = np.array(self.factors)
        kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
        program.integrality_ = [kinds[whole] for whole in self.integral]
        return program
