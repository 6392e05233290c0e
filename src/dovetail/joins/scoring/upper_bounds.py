"""The bounds by which `foreign_key` rules out pairs of columns before their values are counted."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dovetail.arrays import Flags, Ints
from dovetail.joins.candidate_search import Groups
from dovetail.joins.scoring.column_facts import ColumnFacts
from dovetail.joins.scoring.features import PairFeatures, local_logits
from dovetail.joins.scoring.weights import Weights

# By how much sums of the same numbers may differ.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class UpperBounds:
    """Pairs whose logit may reach the least that counts.

    `best` is what speaks most for a pair among the columns of each group, once groups are known.
    """

    features: PairFeatures
    weights: Weights
    best: ColumnFacts | None = None

    def of_groups(self, children: Groups, parents: Groups) -> UpperBounds:
        """The same, told the groups, where bounds of groups hold."""
        # Names that are more alike must never make a pair less likely.
        if self.weights.name < self.weights.value:
            return self
        return replace(self, best=self.features.at_best.best(children, parents))

    def within_groups(self, child: Ints, parent: Ints) -> Flags:
        """Whether any pair that two groups stand for is within bound, told by one of them."""
        if self.best is None:
            return np.ones(len(child), dtype=np.bool_)
        found = self.features.group_bounds(child, parent, self.best)
        return local_logits(found, self.weights) > self.weights.least - _ROUNDING

    def within(self, child: Ints, parent: Ints) -> Flags:
        """Whether each pair is within bound."""
        found = self.features.upper_bounds(child, parent)
        return local_logits(found, self.weights) > self.weights.least
