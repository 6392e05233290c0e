"""What JAR's program costs on a corpus, and what ended it: the optimum, its steps, or the clock.

    dovetail bench run program DATA [--subquestions FILE] [--k 5] [--share 1/8] [--json]

Each question's 20 dense candidates make a program; CPU milliseconds are those of solving it, from
the similarities on. Where no sub-questions are given, a question is its own.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np

from dovetail.ports import Json
from dovetail.retrieve.opening import searcher_of
from dovetail.settings import Settings
from dovetail_bench.baselines.connected import Problem, Weights
from dovetail_bench.baselines.jar import Compatibility, fit
from dovetail_bench.baselines.mip import solve
from dovetail_bench.datasets import open_dataset
from dovetail_bench.questions import stratified
from dovetail_bench.subquestions import read_subquestions

CANDIDATES = 20


def measure(data: Path, file: Path | None, k: int, share: Fraction) -> Json:
    """Solve the program of each question; returns how they ended and the milliseconds."""
    dataset = open_dataset(data)
    searcher = searcher_of(dataset.catalog(), Settings())
    compatibility = Compatibility(searcher)
    every = dataset.questions()
    given = read_subquestions(file, dataset.rows()).by_text(every) if file else {}
    ended: Counter[str] = Counter()
    spent: list[float] = []
    for question in stratified(every, share, 42):
        found = searcher.dense(question.text, CANDIDATES)
        tables = [candidate.id for candidate in found]
        problem = Problem(
            relevance=np.array([candidate.relevance for candidate in found]),
            fit=fit(searcher, given.get(question.text, (question.text,)), tables),
            compatibility=compatibility.among(tables),
            size=min(k, len(tables)),
        )
        started = time.process_time()
        solution = solve(problem, Weights())
        spent.append(1000 * (time.process_time() - started))
        ended["clock" if solution.timeout else str(solution.status)] += 1
    middle, high, highest = np.quantile(spent, [0.5, 0.99, 1.0]).round().tolist()
    return {
        "dataset": dataset.name, "k": k, "programs": len(spent), "ended": dict(ended),
        "median_ms": middle, "p99_ms": high, "max_ms": highest,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--subquestions", type=Path)
    parser.add_argument("--k", type=int, default=5)
    parser.add_argument("--share", type=Fraction, default=Fraction(1))
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    result = measure(given.data, given.subquestions, given.k, given.share)
    if given.json:
        print(json.dumps(result))
        return
    print("  ".join(f"{name} {value}" for name, value in result.items()))


if __name__ == "__main__":
    main()
