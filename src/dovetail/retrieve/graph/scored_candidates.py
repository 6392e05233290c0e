"""The candidates of a question, each with the probability that it is needed.

The first probability is of a candidate by itself, a logistic regression over its features
(features.py); the network then scores all of them in the light of each other (set_scorer.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dovetail.arrays import Float32s
from dovetail.domain import Candidate, TableId
from dovetail.retrieve.graph.belonging import Pairs
from dovetail.retrieve.graph.features import FEATURES
from dovetail.retrieve.graph.groups import Group, groups
from dovetail.retrieve.graph.query_match import QueryMatch
from dovetail.retrieve.graph.set_features import SetInput
from dovetail.retrieve.graph.set_scorer import SetScorer

# What a unit of each feature adds to the logit, the log-odds that a candidate is needed. Fitted by
# logistic regression on the 2,884 questions of MMQA over databases that are not in Spider's dev
# set, and on nothing else: `programs/fit_graph.py` prints them.
WEIGHTS = {
    "gap": 1.54,
    "new_words": 1.06,
    "new_values": 2.12,
    "best_words": 2.64,
    "name": 0.42,
    "column": 0.48,
    "column_gap": 1.94,
    "gain": 5.42,
    "group_gap": 7.54,
    "plain_values": 1.30,
}
BIAS = -2.11

# The weights in the order of the features, the bias last.
COEFFICIENTS = (*(WEIGHTS[name] for name in FEATURES), BIAS)


@dataclass(frozen=True, slots=True)
class ScoredCandidates:
    """The candidates of a question, with their features and the probability that each is needed.

    `match`, `pairs` and `given` are what the probabilities come from; `groups` are the candidates
    that belong together, the likeliest group first.
    """

    candidates: Sequence[Candidate]
    features: Float32s
    probabilities: Float32s
    match: QueryMatch | None = None
    pairs: Pairs | None = None
    given: SetInput | None = None
    groups: tuple[Group, ...] = ()

    @property
    def first(self) -> Float32s:
        """The first probability of each candidate, by itself."""
        return predict(self.features)

    def by(self, scorer: SetScorer) -> ScoredCandidates:
        """The same candidates with the probabilities that a scorer gives them."""
        if self.given is None or self.match is None or self.pairs is None:
            return self
        probabilities = scorer.probabilities(self.given)
        found = tuple(groups(probabilities, self.pairs, self.match))
        return replace(self, probabilities=probabilities, groups=found)

    @property
    def meant(self) -> frozenset[int]:
        """The places of the candidates in groups that the question means; all without groups."""
        if not self.groups:
            return frozenset(range(len(self.candidates)))
        return frozenset(place for group in self.groups if group.meant for place in group.places)

    @property
    def tables(self) -> list[TableId]:
        return [one.id for one in self.candidates]

    @property
    def by_table(self) -> dict[TableId, float]:
        """The probability of each candidate."""
        return dict(zip(self.tables, self.probabilities.tolist(), strict=True))


def predict(rows: Float32s, coefficients: Sequence[float] = COEFFICIENTS) -> Float32s:
    """The probability that each candidate is needed, from its row of features."""
    logit = rows @ np.array(coefficients[:-1]) + coefficients[-1]
    probabilities: Float32s = (1 / (1 + np.exp(-logit))).astype(np.float32)
    return probabilities
