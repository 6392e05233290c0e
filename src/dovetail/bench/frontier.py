"""The `graph` selector along its dial: every question is looked at once, and cut at any breadth.

Also where its weights come from: logistic regression over the scored candidates, and
probabilities out of sample for the corpus that they were fitted on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import fmean

import numpy as np
import numpy.typing as npt

from dovetail.bench.datasets import Dataset, database_of
from dovetail.bench.measures import Retrieval, Score, retrieval, score
from dovetail.bench.questions import Question
from dovetail.offline.progress import Progress, ProgressCallback
from dovetail.retrieve.graph.selector import GraphRetriever, ScoredCandidates, predict
from dovetail.retrieve.opening import searcher_of
from dovetail.settings import Settings

Doubles = npt.NDArray[np.float64]

FOLDS = 5
_RIDGE, _STEPS, _SETTLED = 3.0, 25, 1e-6


@dataclass(frozen=True, slots=True)
class Seen:
    """A question and what the selector saw of it."""

    question: Question
    scored: ScoredCandidates

    @property
    def database(self) -> str:
        return database_of(self.question.gold[0])

    @property
    def needed(self) -> npt.NDArray[np.bool_]:
        """Which of the candidates are gold."""
        return np.array([table in self.question.gold for table in self.scored.tables], dtype=bool)


@dataclass(frozen=True, slots=True)
class Point:
    """What is measured at one breadth."""

    breadth: float
    measured: Retrieval


@dataclass(frozen=True, slots=True)
class Part:
    """Questions of like confidence: the F1 that was to be expected of them, and what came."""

    confidence: float
    measured: Retrieval


@dataclass(frozen=True, slots=True)
class Corpus:
    """A dataset whose questions have been looked at."""

    name: str
    retriever: GraphRetriever
    seen: tuple[Seen, ...]

    @classmethod
    def of(
        cls,
        dataset: Dataset,
        settings: Settings,
        *,
        evidence: bool = False,
        on_progress: ProgressCallback | None = None,
    ) -> Corpus:
        """Look at all questions of a dataset, with the evidence they carry if wanted."""
        catalog = dataset.catalog(settings, on_progress)
        retriever = GraphRetriever(searcher_of(catalog, settings))
        asked = dataset.question_set().over(catalog.ids)
        asked.refuse_bad(dataset.name)
        seen = []
        for done, question in enumerate(asked.questions, start=1):
            text = (question.with_evidence() if evidence else question).text
            seen.append(Seen(question, retriever.score(text)))
            if on_progress:
                on_progress(Progress("ask", done, len(asked.questions), question.id))
        return cls(dataset.name, retriever, tuple(seen))

    def scores(self, breadth: float) -> list[Score]:
        """How each question fares at some breadth."""
        found = (self.retriever.select(one.scored, breadth) for one in self.seen)
        return [score(s.ids, one.question.gold) for s, one in zip(found, self.seen, strict=True)]

    def points(self, breadths: Sequence[float]) -> list[Point]:
        """The frontier."""
        return [Point(breadth, retrieval(self.scores(breadth))) for breadth in breadths]

    def confidences(self, breadth: float) -> list[float]:
        """How sure the selector is of each question."""
        select, sure = self.retriever.select, self.retriever.confidence
        return [sure(one.scored, select(one.scored, breadth)) for one in self.seen]

    def by_confidence(self, breadth: float, parts: int = 4) -> list[Part]:
        """The questions in equal parts, the surest first."""
        sure, scores = self.confidences(breadth), self.scores(breadth)
        order = sorted(range(len(sure)), key=lambda place: -sure[place])
        cuts = [len(order) * part // parts for part in range(parts + 1)]
        return [
            Part(fmean(sure[place] for place in some), retrieval([scores[place] for place in some]))
            for some in (order[start:end] for start, end in pairwise(cuts))
            if some
        ]

    def out_of_sample(self) -> Corpus:
        """The same, every question scored with weights that were fitted on other databases."""
        names = sorted({one.database for one in self.seen})
        fold = {name: place % FOLDS for place, name in enumerate(names)}
        fitted = [
            fit([one for one in self.seen if fold[one.database] != left]) for left in range(FOLDS)
        ]
        return replace(self, seen=tuple(self._again(fold, fitted)))

    def _again(self, fold: dict[str, int], fitted: Sequence[Sequence[float]]) -> Iterator[Seen]:
        for one in self.seen:
            probabilities = predict(one.scored.features, fitted[fold[one.database]])
            yield replace(one, scored=replace(one.scored, probabilities=probabilities))


def fit(seen: Sequence[Seen]) -> list[float]:
    """The weights of the features and the bias that tell gold candidates from others best.

    Newton's method for a logistic regression over features of like spread, with a ridge.
    """
    features = np.vstack([one.scored.features for one in seen]).astype(np.float64)
    needed = np.concatenate([one.needed for one in seen])
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


def at(points: Sequence[Point], pr: float) -> float:
    """F1 where the frontier reaches a perfect recall, between its points in proportion."""
    reached = np.maximum.accumulate([point.measured.pr for point in points])
    return float(np.interp(pr, reached, [point.measured.f1 for point in points]))
