"""JAR's program against every choice there is, tried out one by one."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest

from dovetail_bench.baselines.connected import (
    Pair,
    Problem,
    Weights,
    Worth,
    good_set,
    within_bound,
)
from dovetail_bench.baselines.mip import Limits, Solution, Status, solve

WEIGHTS = Weights(coarse=3.0, fine=3.0)


def drawn(rng: np.random.Generator, count: int, size: int, asked: int, density: float) -> Problem:
    """A random problem; similarities reach below zero, as cosines do."""
    pairs = [pair for pair in combinations(range(count), 2) if rng.random() < density]
    return Problem(
        relevance=rng.uniform(0.0, 0.8, count),
        fit=rng.uniform(-0.2, 0.8, (asked, count)),
        compatibility={pair: float(rng.uniform(0.01, 0.9)) for pair in pairs},
        size=size,
    )


def spanning(tables: tuple[int, ...], edges: tuple[Pair, ...]) -> bool:
    """Whether edges are a tree over tables."""
    reached = {tables[0]}
    for _ in tables:
        reached |= {end for edge in edges if reached & set(edge) for end in edge}
    return reached == set(tables) and len(edges) == len(tables) - 1


def best_tree(problem: Problem, tables: tuple[int, ...]) -> float | None:
    pairs = [pair for pair in combinations(tables, 2) if pair in problem.compatibility]
    sums = [
        sum(problem.compatibility[edge] for edge in edges)
        for edges in combinations(pairs, len(tables) - 1)
        if spanning(tables, edges)
    ]
    return max(sums) if sums else None


def best_cover(problem: Problem, weights: Weights, tables: tuple[int, ...]) -> float:
    asked = len(problem.fit)
    places = [(row, table) for row in range(asked) for table in tables]
    best = 0.0
    for given in product((False, True), repeat=len(places)):
        assigned = [place for place, used in zip(places, given, strict=True) if used]
        if len(assigned) > weights.spread * asked:
            continue
        fit = sum(problem.fit[place] for place in assigned)
        covered = len({row for row, _ in assigned})
        best = max(best, weights.fine * fit + weights.coverage * covered)
    return best


def enumerated(problem: Problem, weights: Weights) -> float | None:
    """The optimum by trying every set, every tree over it and every assignment."""
    values = []
    for tables in combinations(range(len(problem.relevance)), problem.size):
        tree = best_tree(problem, tables)
        if tree is not None:
            values.append(
                weights.coarse * sum(problem.relevance[list(tables)])
                + weights.compatibility * tree
                + best_cover(problem, weights, tables)
            )
    return max(values) if values else None


def value_of(problem: Problem, weights: Weights, solution: Solution) -> float:
    return float(
        weights.coarse * sum(problem.relevance[list(solution.tables)])
        + weights.compatibility * sum(problem.compatibility[edge] for edge in solution.edges)
        + best_cover(problem, weights, solution.tables)
    )


@pytest.mark.parametrize("block", range(8))
def test_optimum_is_that_of_enumeration(block: int) -> None:
    rng = np.random.default_rng(block)
    infeasible = 0
    for _ in range(25):
        count, size, asked = int(rng.integers(2, 8)), int(rng.integers(1, 6)), int(rng.integers(3))
        problem = drawn(rng, count, size, asked, float(rng.uniform(0.2, 1.0)))
        coarse, fine, coverage, join = rng.uniform(0.1, 8.0, 4).tolist()
        weights = Weights(coarse, fine, coverage, join, spread=float(rng.choice([0.5, 1.0, 2.0])))
        expected = enumerated(problem, weights)
        solution = solve(problem, weights)
        if expected is None:
            infeasible += 1
            assert solution == Solution(Status.INFEASIBLE)
            continue
        assert (solution.status, solution.timeout) == (Status.OPTIMAL, False)
        assert len(solution.tables) == size
        assert spanning(solution.tables, solution.edges)
        assert solution.objective == pytest.approx(expected, abs=1e-6)
        assert value_of(problem, weights, solution) == pytest.approx(expected, abs=1e-6)
    assert infeasible < 20


def test_two_halves_that_do_not_join_hold_no_larger_set() -> None:
    problem = Problem(np.ones(4), np.zeros((0, 4)), {(0, 1): 0.9, (2, 3): 0.8}, 3)
    assert solve(problem, WEIGHTS).status == Status.INFEASIBLE


def test_circles_are_no_connection() -> None:
    circles = {(0, 1): 0.9, (0, 2): 0.9, (1, 2): 0.9, (3, 4): 0.9, (3, 5): 0.9, (4, 5): 0.9}
    problem = Problem(np.ones(6), np.zeros((0, 6)), circles, 6)
    assert solve(problem, WEIGHTS).status == Status.INFEASIBLE
    joined = Problem(np.ones(6), np.zeros((0, 6)), {**circles, (2, 3): 0.01}, 6)
    solution = solve(joined, Weights(compatibility=100.0))
    assert (2, 3) in solution.edges
    assert spanning(solution.tables, solution.edges)
    assert solution.objective == pytest.approx(60 + 100 * (4 * 0.9 + 0.01))


def test_a_weak_connector_is_taken_where_the_set_must_be_connected() -> None:
    problem = Problem(np.array([0.9, 0.0, 0.8]), np.zeros((0, 3)), {(0, 1): 0.1, (1, 2): 0.1}, 3)
    solution = solve(problem, WEIGHTS)
    assert (solution.tables, solution.edges) == ((0, 1, 2), ((0, 1), (1, 2)))
    assert solution.objective == pytest.approx(3 * 1.7 + 0.2)


def test_coverage_outweighs_relevance() -> None:
    fit = np.array([[0.5, 0.4, -0.5], [-0.5, -0.5, 0.6]])
    every = {(0, 1): 0.5, (0, 2): 0.5, (1, 2): 0.5}
    problem = Problem(np.array([0.9, 0.8, 0.1]), fit, every, 2)
    assert solve(problem, WEIGHTS).tables == (0, 2)
    assert solve(problem, Weights(coarse=3.0, coverage=0.0, fine=0.1)).tables == (0, 1)


@pytest.mark.parametrize("size", [0, 4, 100])
def test_a_size_beyond_the_candidates_is_infeasible(size: int) -> None:
    problem = Problem(np.ones(3), np.zeros((0, 3)), {(0, 1): 0.5, (1, 2): 0.5}, size)
    assert solve(problem, WEIGHTS) == Solution(Status.INFEASIBLE)
    nothing = Problem(np.ones(0), np.zeros((2, 0)), {}, size)
    assert solve(nothing, WEIGHTS) == Solution(Status.INFEASIBLE)


def test_a_set_is_worth_its_best_tree_and_its_best_assignments() -> None:
    rng = np.random.default_rng(11)
    for _ in range(40):
        coarse, fine, coverage, join = rng.uniform(0.1, 8.0, 4).tolist()
        weights = Weights(coarse, fine, coverage, join, spread=float(rng.choice([0.5, 1.0, 2.0])))
        problem = drawn(rng, 6, 4, int(rng.integers(3)), 0.6)
        worth = Worth(problem, weights)
        for tables in combinations(range(6), 4):
            tree = best_tree(problem, tables)
            if tree is None:
                assert worth.of(tables) == -float("inf")
                continue
            relevance = weights.coarse * sum(problem.relevance[list(tables)])
            covered = best_cover(problem, weights, tables)
            assert worth.of(tables) == pytest.approx(
                relevance + weights.compatibility * tree + covered
            )


def test_what_is_left_out_is_in_no_set_that_is_as_good() -> None:
    """Every set of three is tried: one that holds a candidate or edge left out is worth less."""
    rng = np.random.default_rng(12)
    left_out = cut = 0
    for _ in range(40):
        problem = drawn(rng, 9, 3, 2, 0.8)
        worth = Worth(problem, Weights())
        first = good_set(worth)
        kept, edges = within_bound(worth, first)
        assert set(first) <= set(kept)
        left_out += 9 - len(kept)
        cut += len(problem.compatibility) - len(edges)
        for tables in combinations(range(9), 3):
            held = set(tables) <= set(kept) and set(worth.tree(tables)) <= set(edges)
            assert held or worth.of(tables) < worth.of(first)
    assert (left_out > 40, cut > 400) == (True, True)


# Relevance hardly tells candidates apart, joins do: a program that takes more than its first step.
HARD = replace(drawn(np.random.default_rng(5), 24, 8, 4, 0.5), relevance=np.full(24, 0.5))


def test_a_clock_that_runs_out_leaves_the_best_set_so_far_and_is_told() -> None:
    worth = Worth(HARD, WEIGHTS)
    first = good_set(worth)
    at_once = solve(HARD, WEIGHTS, Limits(seconds=0.0))
    assert (at_once.status, at_once.timeout) == (Status.INCUMBENT, True)
    assert (at_once.tables, at_once.objective) == (first, worth.of(first))
    assert spanning(at_once.tables, at_once.edges)


def test_work_that_runs_out_is_told_apart_and_ends_with_the_same_set() -> None:
    few = Limits(steps=1, seconds=600.0)
    one, other = (solve(HARD, WEIGHTS, few) for _ in range(2))
    assert one == other
    assert (one.status, one.timeout) == (Status.INCUMBENT, False)
    worth = Worth(HARD, WEIGHTS)
    assert one.objective >= worth.of(good_set(worth)) - 1e-6
    assert spanning(one.tables, one.edges)


def test_twenty_candidates_that_all_join_take_little_work() -> None:
    rng = np.random.default_rng(7)
    few = Limits(steps=10, seconds=600.0)
    for _ in range(15):
        assert solve(drawn(rng, 20, 5, 4, 1.0), WEIGHTS, few).status == Status.OPTIMAL
