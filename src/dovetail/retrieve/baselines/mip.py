"""JAR's choice of a connected set of tables, as a mixed-integer program solved by HiGHS.

Chosen are exactly `size` tables and the edges of a tree over them. The objective adds, weighted:
the relevance of the tables, the compatibility of the edges, how well columns of chosen tables fit
the sub-questions, and how many sub-questions are covered at all.

The program is the published one with fewer variables and the same optima: of the columns of a
table only the best for a sub-question can be in an optimum, and of the column pairs of two tables
only the best; an edge is a pair of arcs away from a root, since at most `size - 1` edges that
connect `size` tables are a tree. (The released code could use two column pairs of the same two
tables, one per direction; here an edge is one pair, as the publication says.)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

import highspy
import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Pair = tuple[int, int]

_ENDLESS = float("inf")


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


class Status(StrEnum):
    """How a solution came about."""

    OPTIMAL = "optimal"
    INCUMBENT = "incumbent"  # the best that was found before time ran out
    INFEASIBLE = "infeasible"  # no so many candidates are connected
    TIMEOUT = "timeout"  # nothing was found in time


@dataclass(frozen=True, slots=True)
class Solution:
    """The chosen candidates and the tree over them; both empty where there is none."""

    status: Status
    tables: tuple[int, ...] = ()
    edges: tuple[Pair, ...] = ()
    objective: float = 0.0


def solve(problem: Problem, weights: Weights, *, seconds: float = 5.0) -> Solution:
    """The best connected set, or the best found in time; the same problem has the same answer."""
    if not 1 <= problem.size <= len(problem.relevance):
        return Solution(Status.INFEASIBLE)
    model = _Model()
    chosen = [model.binary(weights.coarse * value) for value in problem.relevance.tolist()]
    model.row([(table, 1.0) for table in chosen], problem.size, problem.size)
    arcs = _connect(model, problem, weights, chosen)
    _cover(model, problem, weights, chosen)
    first = _grown(problem, weights)
    start = {table: float(place in first) for place, table in enumerate(chosen)}
    status, values, objective = model.run(start if first else {}, seconds)
    if not len(values):
        return Solution(status)
    return Solution(
        status,
        tuple(place for place, table in enumerate(chosen) if values[table] > 0.5),
        tuple(sorted((min(arc), max(arc)) for arc, used in arcs.items() if values[used] > 0.5)),
        objective,
    )


def _grown(problem: Problem, weights: Weights) -> set[int]:
    """A connected set to begin with, so that time running out still leaves one; empty if none is.

    It grows from the most relevant table that has enough others around it.
    """
    near: dict[int, dict[int, float]] = {}
    for (low, high), score in problem.compatibility.items():
        near.setdefault(low, {})[high] = score
        near.setdefault(high, {})[low] = score
    for begin in np.argsort(-problem.relevance, kind="stable").tolist():
        gains: dict[int, float] = {begin: 0.0}
        inside: set[int] = set()
        while gains and len(inside) < problem.size:
            table = max(gains, key=lambda other: (gains[other], -other))
            inside.add(table)
            for other, score in near.get(table, {}).items():
                gain = weights.coarse * float(problem.relevance[other])
                gain += weights.compatibility * score
                gains[other] = max(gain, gains.get(other, -_ENDLESS))
            gains = {other: gain for other, gain in gains.items() if other not in inside}
        if len(inside) == problem.size:
            return inside
    return set()


def _connect(
    model: _Model, problem: Problem, weights: Weights, chosen: list[int]
) -> dict[Pair, int]:
    """One tree from a root over the chosen tables: flow leaves the root, one unit per table."""
    size, count = problem.size, len(chosen)
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
    for table in range(count):
        into = [arc for arc in arcs if arc[1] == table]
        from_it = [arc for arc in arcs if arc[0] == table]
        entered = [(arcs[arc], 1.0) for arc in into]
        model.row([*entered, (chosen[table], -1.0), (roots[table], 1.0)], 0, 0)
        flow = [(flows[arc], 1.0) for arc in into] + [(flows[arc], -1.0) for arc in from_it]
        model.row([*flow, (chosen[table], -1.0), (roots[table], float(size))], 0, 0)
        # Every table of a set could be its root: the first is, or the search is that much longer.
        for earlier in range(table):
            model.row([(roots[table], 1.0), (chosen[earlier], 1.0)], -_ENDLESS, 1)
    return arcs


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

    def run(self, start: Mapping[int, float], seconds: float) -> tuple[Status, Floats, float]:
        """Solve, from values that some variables may begin with; none were found: no values."""
        solver = highspy.Highs()  # type: ignore[no-untyped-call]
        for option, value in (
            ("output_flag", False),
            ("threads", 1),  # the same answer on every machine
            ("mip_rel_gap", 0.0),
            ("presolve", "off"),  # costs more than it saves: 117 ms against 78 at the median
            ("time_limit", seconds),
        ):
            solver.setOptionValue(option, value)
        solver.passModel(self._program())
        if start:
            places = np.array(list(start), dtype=np.int32)
            solver.setSolution(len(start), places, np.array(list(start.values())))
        solver.run()
        info = solver.getInfo()
        nothing: Floats = np.empty(0)
        ended = solver.getModelStatus()
        if info.primal_solution_status != highspy.SolutionStatus.kSolutionStatusFeasible:
            timed_out = ended == highspy.HighsModelStatus.kTimeLimit
            return Status.TIMEOUT if timed_out else Status.INFEASIBLE, nothing, 0.0
        optimal = ended == highspy.HighsModelStatus.kOptimal
        values = np.asarray(solver.getSolution().col_value, dtype=np.float64)
        status = Status.OPTIMAL if optimal else Status.INCUMBENT
        return status, values, float(info.objective_function_value)

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
