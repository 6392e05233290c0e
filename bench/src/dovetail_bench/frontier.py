"""The precision-recall frontier of `graph`: each question is scored once, and cut at any breadth.

The weights of its first probabilities come from here as well (`fit`, a logistic regression over
scored candidates); `Corpus.out_of_sample` scores a corpus that the set scorer was trained on.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import fmean

import numpy as np
import numpy.typing as npt

from dovetail.offline.summary import Progress, ProgressCallback
from dovetail.retrieve.graph.scored_candidates import ScoredCandidates
from dovetail.retrieve.graph.selector import GraphRetriever
from dovetail.retrieve.graph.set_scorer import SetScorer
from dovetail.retrieve.opening import searcher_of
from dovetail.settings import Settings
from dovetail_bench.datasets import Dataset, database_of
from dovetail_bench.measures import Retrieval, Score, retrieval, score
from dovetail_bench.questions import Question

Doubles = npt.NDArray[np.float64]

_RIDGE, _STEPS, _SETTLED = 3.0, 25, 1e-6


@dataclass(frozen=True, slots=True)
class ScoredQuestion:
    """A question with its scored candidates."""

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
class ConfidenceGroup:
    """Questions of like confidence: the F1 that was expected of them, and what was measured."""

    confidence: float
    measured: Retrieval


@dataclass(frozen=True, slots=True)
class Corpus:
    """A dataset whose questions have been scored."""

    name: str
    retriever: GraphRetriever
    questions: tuple[ScoredQuestion, ...]

    @classmethod
    def of(
        cls,
        dataset: Dataset,
        settings: Settings,
        *,
        evidence: bool = False,
        on_progress: ProgressCallback | None = None,
    ) -> Corpus:
        """Score all questions of a dataset, with the evidence they carry if wanted."""
        catalog = dataset.catalog(settings, on_progress)
        retriever = GraphRetriever(searcher_of(catalog, settings))
        given = dataset.question_set().over(catalog.ids)
        given.refuse_bad(dataset.name)
        seen = []
        for done, question in enumerate(given.questions, start=1):
            text = (question.with_evidence() if evidence else question).text
            seen.append(ScoredQuestion(question, retriever.score(text)))
            if on_progress:
                on_progress(Progress("ask", done, len(given.questions), question.id))
        return cls(dataset.name, retriever, tuple(seen))

    def scores(self, breadth: float) -> list[Score]:
        """The score of each question at some breadth."""
        found = (self.retriever.select(one.scored, breadth) for one in self.questions)
        return [
            score(s.ids, one.question.gold) for s, one in zip(found, self.questions, strict=True)
        ]

    def points(self, breadths: Sequence[float]) -> list[Point]:
        """The frontier."""
        return [Point(breadth, retrieval(self.scores(breadth))) for breadth in breadths]

    def confidences(self, breadth: float) -> list[float]:
        """The confidence of the selector in its set, for each question."""
        select, sure = self.retriever.select, self.retriever.confidence
        return [sure(one.scored, select(one.scored, breadth)) for one in self.questions]

    def by_confidence(self, breadth: float, groups: int = 4) -> list[ConfidenceGroup]:
        """The questions in groups of equal size, the surest first."""
        sure, scores = self.confidences(breadth), self.scores(breadth)
        order = sorted(range(len(sure)), key=lambda place: -sure[place])
        cuts = [len(order) * group // groups for group in range(groups + 1)]
        return [
            ConfidenceGroup(
                fmean(sure[place] for place in some), retrieval([scores[place] for place in some])
            )
            for some in (order[start:end] for start, end in pairwise(cuts))
            if some
        ]

    def out_of_sample(self, scorers: Sequence[SetScorer]) -> Corpus:
        """A copy of this corpus, each question scored by a scorer that did not see its database.

        Scorer `n` was trained without the databases of fold `n` (`fold_of`).
        """
        questions = (
            replace(one, scored=one.scored.by(scorers[fold_of(one.database, len(scorers))]))
            for one in self.questions
        )
        return replace(self, questions=tuple(questions))


def fold_of(database: str, folds: int) -> int:
    """The fold of a database, from its name alone: the same in every corpus."""
    return zlib.crc32(database.encode()) % folds


def fit(seen: Sequence[ScoredQuestion]) -> list[float]:
    """The weights of the features and the bias that tell gold candidates from others best."""
    features = np.vstack([one.scored.features for one in seen]).astype(np.float64)
    return logistic(features, np.concatenate([one.needed for one in seen]))


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


def at(points: Sequence[Point], pr: float) -> float:
    """F1 where the frontier reaches a perfect recall, between its points in proportion."""
    reached = np.maximum.accumulate([point.measured.pr for point in points])
    return float(np.interp(pr, reached, [point.measured.f1 for point in points]))
