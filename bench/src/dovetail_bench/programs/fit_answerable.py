"""Fits the probability that a catalog can answer a question, on questions it can and cannot answer.

    dovetail bench run fit_answerable MMQA SPIDER_TRAIN SPIDER --strangers BIRD BEAVER
    dovetail bench run fit_answerable SPIDER BIRD MMQA BEAVER SPIDER_TRAIN --leave-one-out

Questions of each corpus are asked over it, where they have an answer. As many have none: half of
them over the corpus without their own database, and as many of the other corpora, or of those of
`--strangers`, whose database it does not hold. A logistic regression tells the two apart; its
weights stand in retrieve/doubt.py.

`--leave-one-out` measures instead: the weights are fitted without a corpus, and without every
question over a database that it holds, and then asked of it. `at 5%` is the share of strangers
refused where a bound refuses 5% of its own questions; `3 to 7%` the mean over such bounds, which
moves less with a single question.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from dovetail.retrieve.ask import CANDIDATES, GraphRetriever
from dovetail.retrieve.doubt import SIGNS, WORD_WEIGHTS, Signs, WordCover, answerable
from dovetail.search.searcher import Searcher
from dovetail.settings import Settings
from dovetail_bench.datasets import Dataset, database_of, open_dataset
from dovetail_bench.measures import area_under_curve
from dovetail_bench.questions import Question
from dovetail_bench.retrievers import searcher_of

# The shares of questions with an answer that may be refused: which bound refuses no more.
REFUSED = (0.005, 0.01, 0.02, 0.05)
AROUND = (0.03, 0.04, 0.05, 0.06, 0.07)
_RIDGE, _STEPS, _SETTLED = 3.0, 25, 1e-6

Doubles = npt.NDArray[np.float64]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Row:
    """The evidence of a question of some database, asked over a corpus.

    `own`: it has an answer there. `stranger`: it is of another corpus.
    """

    seen: Signs
    nowhere: bool
    database: str
    own: bool = False
    stranger: bool = False


def rows(dataset: Dataset, strangers: Sequence[Question], limit: int) -> list[Row]:
    """The evidence of questions with an answer, and of as many without one."""
    settings = Settings()
    catalog = dataset.catalog(settings)
    searcher = searcher_of(catalog, settings)
    own = spaced(dataset.question_set().over(catalog.ids).questions, limit)
    found = [_row(searcher, one, own=True) for one in own]
    for one in own[::2]:
        home = database_of(one.gold[0])
        others = searcher.among(table for table in catalog.ids if database_of(table) != home)
        found.append(_row(others, one))
    foreign = [one for one in strangers if database_of(one.gold[0]) not in dataset.sources]
    found += [_row(searcher, one, stranger=True) for one in spaced(foreign, len(own) // 2)]
    return [one for one in found if one.seen]


def _row(
    searcher: Searcher, question: Question, *, own: bool = False, stranger: bool = False
) -> Row:
    retriever, database = GraphRetriever(searcher), database_of(question.gold[0])
    query = searcher.analyse(question.text)
    candidates = searcher.search(query, CANDIDATES)
    if not candidates:
        return Row((), nowhere=True, database=database, own=own, stranger=stranger)
    scored = retriever.score(query, candidates)
    covered = retriever.doubter.by_meaning(WordCover.of(query, scored), scored)
    seen = retriever.doubter.signs(query, scored, covered)
    return Row(seen, covered.mostly_nowhere, database, own, stranger)


def fitted(given: Sequence[Row]) -> list[float]:
    """The weights that tell questions with an answer from the others, and the bias."""
    return logistic(np.array([row.seen for row in given]), np.array([row.own for row in given]))


def left_out(dataset: Dataset, parts: dict[str, list[Row]]) -> tuple[int, int, float, float, float]:
    """A corpus by weights fitted without it: how many own questions and strangers there are, AUC,
    and the shares of strangers refused at 5% and at 3 to 7% of its own.
    """
    others = [
        row
        for name, part in parts.items()
        if name != dataset.name
        for row in part
        if row.database not in dataset.sources
    ]
    weights = fitted(others)
    mine = [
        (answerable(row.seen, nowhere=row.nowhere, weights=weights), row)
        for row in parts[dataset.name]
    ]
    own = sorted(likely for likely, row in mine if row.own)
    strange = [likely for likely, row in mine if row.stranger]
    around = [_below(strange, float(np.quantile(own, share))) for share in AROUND]
    at_five = _below(strange, own[len(own) // 20])
    auc = area_under_curve(own, strange)
    return len(own), len(strange), auc, at_five, float(np.mean(around))


def _below(values: Sequence[float], bound: float) -> float:
    return sum(one < bound for one in values) / max(1, len(values))


def spaced(items: Sequence[T], limit: int) -> list[T]:
    """At most `limit` of some items, evenly spaced."""
    count = min(limit, len(items))
    return [items[len(items) * place // count] for place in range(count)]


def logistic(features: Doubles, needed: npt.NDArray[np.bool_]) -> list[float]:
    """The weights of features and the bias that tell some rows from the others best.

    Newton's method for a logistic regression over features of like spread, with a ridge.
    """
    mean, spread = features.mean(axis=0), features.std(axis=0) + 1e-6
    rows = np.hstack([(features - mean) / spread, np.ones((len(features), 1))])
    ridge = np.diag([_RIDGE] * features.shape[1] + [1e-6])
    weights = np.zeros(rows.shape[1])
    for _ in range(_STEPS):
        likely = 1 / (1 + np.exp(-rows @ weights))
        curvature = (rows * (likely * (1 - likely))[:, None]).T @ rows + ridge
        step = np.linalg.solve(curvature, rows.T @ (likely - needed) + ridge @ weights)
        weights -= step
        if np.abs(step).max() < _SETTLED:
            break
    raw: Doubles = weights[:-1] / spread
    return [*raw.tolist(), float(weights[-1] - raw @ mean)]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", nargs="+", help="corpora, as `dovetail bench` takes them")
    parser.add_argument("--strangers", nargs="*", default=[], help="corpora of which to ask alone")
    parser.add_argument("--limit", type=int, default=150, help="questions of each corpus")
    parser.add_argument("--leave-one-out", action="store_true", help="measure each by the others")
    options = parser.parse_args(arguments)
    datasets = [open_dataset(data) for data in options.data]
    foreign = [*datasets, *(open_dataset(data) for data in options.strangers)]
    asked = {one.name: spaced(one.questions(), options.limit) for one in foreign}
    parts = {
        one.name: rows(
            one,
            [q for name, each in asked.items() if name != one.name for q in each],
            options.limit,
        )
        for one in datasets
    }
    if options.leave_one_out:
        _print_left_out(datasets, parts)
    else:
        _print_weights([row for part in parts.values() for row in part])


def _print_left_out(datasets: Sequence[Dataset], parts: dict[str, list[Row]]) -> None:
    print("| left out | own | strangers | AUC | at 5% | 3 to 7% |\n|---|---|---|---|---|---|")
    for one in datasets:
        own, strange, auc, at_five, around = left_out(one, parts)
        shares = f"{100 * at_five:.1f} | {100 * around:.1f}"
        print(f"| {one.name} | {own} | {strange} | {auc:.3f} | {shares} |", flush=True)


def _print_weights(given: Sequence[Row]) -> None:
    seen, has_answer = np.array([row.seen for row in given]), np.array([row.own for row in given])
    without = logistic(seen[:, : len(WORD_WEIGHTS)], has_answer)
    print("without an embedder:", ", ".join(f"{weight:.2f}" for weight in without))
    weights = fitted(given)
    for name, weight in zip((*SIGNS, "bias"), weights, strict=True):
        print(f"{name:14s}{weight:6.2f}")
    likely = 1 / (1 + np.exp(-(seen @ np.array(weights[:-1]) + weights[-1])))
    own, strange = likely[has_answer], likely[~has_answer]
    print(f"AUC {area_under_curve(own.tolist(), strange.tolist()):.3f} in sample")
    for share in REFUSED:
        bound = float(np.quantile(own, share))
        print(f"below {bound:.3f}: {share:.1%} of own, {np.mean(strange < bound):.1%} of strangers")


if __name__ == "__main__":
    main()
