"""Scorings by name: how sure is a join, from 0 to 1, above 0.5 "joinable".

`foreign_key` is ours and the default; `paper` is CORE-T's, `jar` is JAR's.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dovetail.errors import UsageError

if TYPE_CHECKING:
    from dovetail.joins.candidates import CountedPairs
    from dovetail.joins.column_arrays import ColumnArrays
    from dovetail.joins.naming.header_embedding import HeaderSimilarity
    from dovetail.joins.scoring.scored_pairs import ScoredPairs


@dataclass(frozen=True, slots=True)
class Scoring:
    """A way to score, with the version that is stored beside its results.

    `pairwise`: the score of two tables depends on no other table. The module of the same name
    scores; it is loaded when it is needed, so that stored scores can be read without it.
    """

    name: str
    version: int
    pairwise: bool

    def score(
        self,
        arrays: ColumnArrays,
        headers: HeaderSimilarity | None,
        before: CountedPairs | None = None,
    ) -> ScoredPairs:
        """Score pairs of columns; what was counted before need not be counted again."""
        module = importlib.import_module(f"dovetail.joins.scoring.{self.name}")
        scored: ScoredPairs = getattr(module, self.name)(arrays, headers, before)
        return scored


SCORINGS = (
    Scoring("foreign_key", 10, pairwise=False),
    Scoring("paper", 2, pairwise=True),
    Scoring("jar", 3, pairwise=True),
)
DEFAULT_SCORING = SCORINGS[0].name


def scoring(name: str) -> Scoring:
    """A scoring by name."""
    for known in SCORINGS:
        if known.name == name:
            return known
    there = ", ".join(known.name for known in SCORINGS)
    raise UsageError(f"scoring {name!r} is not known; there are: {there}")
