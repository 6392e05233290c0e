"""Fits the probability that a catalog can answer a question, on questions it can and cannot answer.

    python -m benchmarks.fit_answerable MMQA SPIDER_TRAIN SPIDER --strangers BIRD BEAVER

Questions of each corpus are asked over it, where they have an answer. As many have none: half of
them over the corpus without their own database, and as many of the other corpora, or of those of
`--strangers`, whose database it does not hold. A logistic regression tells the two apart; its
weights stand in retrieve/graph/answerable.py. `benchmarks/doubt.py`
measures the result.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np
from benchmarks.doubt import spaced

from dovetail.bench.datasets import Dataset, database_of, open_dataset
from dovetail.bench.frontier import logistic
from dovetail.bench.measures import area_under_curve
from dovetail.bench.questions import Question
from dovetail.retrieve.graph.answerable import EVIDENCE, WORD_WEIGHTS, Evidence
from dovetail.retrieve.graph.selector import GraphRetriever
from dovetail.retrieve.opening import searcher_of
from dovetail.search.searcher import Searcher
from dovetail.settings import Settings

# The shares of questions with an answer that may be refused: which bound refuses no more.
REFUSED = (0.005, 0.01, 0.02, 0.05)


def rows(
    dataset: Dataset, strangers: Sequence[Question], limit: int
) -> tuple[list[Evidence], list[bool]]:
    """The evidence of questions with an answer, and of as many without one."""
    settings = Settings()
    catalog = dataset.catalog(settings)
    searcher = searcher_of(catalog, settings)
    own = spaced(dataset.question_set().over(catalog.ids).questions, limit)
    found = [(_evidence(searcher, one.text), True) for one in own]
    for one in own[::2]:
        home = database_of(one.gold[0])
        others = searcher.among(table for table in catalog.ids if database_of(table) != home)
        found.append((_evidence(others, one.text), False))
    foreign = [one for one in strangers if database_of(one.gold[0]) not in dataset.sources]
    found += [(_evidence(searcher, one.text), False) for one in spaced(foreign, len(own) // 2)]
    return [seen for seen, _ in found if seen], [answer for seen, answer in found if seen]


def _evidence(searcher: Searcher, text: str) -> Evidence:
    retriever = GraphRetriever(searcher)
    return retriever.evidence(text, retriever.score(text))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", nargs="+", help="corpora, as `dovetail bench` takes them")
    parser.add_argument("--strangers", nargs="*", default=[], help="corpora of which to ask alone")
    parser.add_argument("--limit", type=int, default=150, help="questions of each corpus")
    options = parser.parse_args()
    datasets = [open_dataset(data) for data in options.data]
    foreign = [*datasets, *(open_dataset(data) for data in options.strangers)]
    asked = {one.name: spaced(one.questions(), options.limit) for one in foreign}
    parts = [
        rows(
            one,
            [q for name, each in asked.items() if name != one.name for q in each],
            options.limit,
        )
        for one in datasets
    ]
    seen = np.array([row for found, _ in parts for row in found])
    has_answer = np.array([one for _, answers in parts for one in answers])
    without = logistic(seen[:, : len(WORD_WEIGHTS)], has_answer)
    print("without an embedder:", ", ".join(f"{weight:.2f}" for weight in without))
    weights = logistic(seen, has_answer)
    for name, weight in zip((*EVIDENCE, "bias"), weights, strict=True):
        print(f"{name:14s}{weight:6.2f}")
    likely = 1 / (1 + np.exp(-(seen @ np.array(weights[:-1]) + weights[-1])))
    own, strange = likely[has_answer], likely[~has_answer]
    print(f"AUC {area_under_curve(own.tolist(), strange.tolist()):.3f} in sample")
    for share in REFUSED:
        bound = float(np.quantile(own, share))
        print(f"below {bound:.3f}: {share:.1%} of own, {np.mean(strange < bound):.1%} of strangers")


if __name__ == "__main__":
    main()
