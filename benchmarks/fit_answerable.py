"""Fits the probability that a catalog can answer a question, on questions it can and cannot answer.

    python benchmarks/fit_answerable.py MMQA SPIDER_TRAIN --apart SPIDER [--limit 400]

Each question is asked over its corpus twice: with all tables, where it has an answer, and without
the tables of its own database, where hardly a table fits. A logistic regression tells the two
apart; its weights stand in retrieve/graph/answerable.py. Questions over databases of `--apart` are
left out. `benchmarks/doubt.py` measures the result on other corpora.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np
from benchmarks.doubt import spaced

from dovetail.bench.datasets import Dataset, database_of, open_dataset
from dovetail.bench.frontier import logistic
from dovetail.bench.measures import area_under_curve
from dovetail.retrieve.graph.answerable import EVIDENCE, evidence
from dovetail.retrieve.graph.selector import GraphRetriever
from dovetail.retrieve.opening import searcher_of
from dovetail.search.searcher import Searcher
from dovetail.settings import Settings

# The shares of questions with an answer that may be refused: which bound refuses no more.
_WORDS = 2  # the evidence that needs no embedder
REFUSED = (0.005, 0.01, 0.02, 0.05)


def rows(
    dataset: Dataset, apart: Sequence[str], limit: int
) -> tuple[list[Sequence[float]], list[bool]]:
    """The evidence of questions over the whole corpus, and without their own databases."""
    settings = Settings()
    catalog = dataset.catalog(settings)
    searcher = searcher_of(catalog, settings)
    asked = dataset.question_set().over(catalog.ids).questions
    kept = [one for one in asked if database_of(one.gold[0]) not in apart]
    found: list[Sequence[float]] = []
    answers: list[bool] = []
    for question in spaced(kept, limit):
        own = database_of(question.gold[0])
        others = searcher.among(table for table in catalog.ids if database_of(table) != own)
        for each, has_answer in ((searcher, True), (others, False)):
            seen = _evidence(each, question.text)
            if seen:
                found.append(seen)
                answers.append(has_answer)
    return found, answers


def _evidence(searcher: Searcher, text: str) -> Sequence[float]:
    scored = GraphRetriever(searcher).score(text)
    return evidence(searcher.analyse(text), scored.match, scored.first) if scored.match else ()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", nargs="+", help="corpora, as `dovetail bench` takes them")
    parser.add_argument("--apart", help="a corpus whose databases are left out")
    parser.add_argument("--limit", type=int, default=400, help="questions of each corpus")
    options = parser.parse_args()
    apart = list(open_dataset(options.apart).sources) if options.apart else []
    parts = [rows(open_dataset(data), apart, options.limit) for data in options.data]
    seen = np.array([row for found, _ in parts for row in found])
    has_answer = np.array([one for _, answers in parts for one in answers])
    without = logistic(seen[:, :_WORDS], has_answer)
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
