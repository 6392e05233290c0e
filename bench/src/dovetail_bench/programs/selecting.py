"""What selection costs beyond search, in CPU milliseconds for a question.

    dovetail bench run selecting DATA [--k 10,16,50] [--limit 300]

Every question is embedded before the clock starts. All are then searched for, and after that all
are answered by `graph`, which searches too: selection is the difference of the medians.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from dovetail.retrieve.graph.selector import GraphRetriever
from dovetail.retrieve.opening import searcher_of
from dovetail.settings import Settings
from dovetail_bench.datasets import open_dataset


def clocked(work: Callable[[str], object], questions: Sequence[str]) -> list[float]:
    """The milliseconds that each question takes."""
    found = []
    for question in questions:
        started = time.process_time()
        work(question)
        found.append(1000 * (time.process_time() - started))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path, help="the folder of a corpus")
    parser.add_argument("--k", default="10,16,50", help="numbers of candidates")
    parser.add_argument("--limit", type=int, default=300, help="only the first questions")
    options = parser.parse_args()
    dataset = open_dataset(options.data)
    searcher = searcher_of(dataset.catalog(Settings()), Settings())
    questions = [question.text for question in dataset.questions(options.limit)]
    for question in questions:
        searcher.vector(question)
    for k in map(int, options.k.split(",")):
        retriever = GraphRetriever(searcher, k=k)
        retriever.retrieve(questions[0])
        searching = clocked(partial(searcher.search, k=k), questions)
        both = clocked(retriever.retrieve, questions)
        p50 = statistics.median(both) - statistics.median(searching)
        p95 = statistics.quantiles(both, n=20)[-1] - statistics.quantiles(searching, n=20)[-1]
        print(
            f"K={k}: search {statistics.median(searching):.2f} ms, "
            f"selection {p50:.2f} ms p50, {p95:.2f} ms p95"
        )


if __name__ == "__main__":
    main()
