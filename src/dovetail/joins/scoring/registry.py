"""Scorings by name: how sure is a join, from 0 to 1, above 0.5 "joinable".

`foreign_key` is ours and the default; `paper` is CORE-T's, `jar` is JAR's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dovetail.errors import UsageError
from dovetail.joins.column_arrays import ColumnArrays
from dovetail.joins.naming.header_embedding import HeaderSimilarity
from dovetail.joins.scoring.foreign_key import foreign_key
from dovetail.joins.scoring.jar import jar
from dovetail.joins.scoring.paper import paper
from dovetail.joins.scoring.scored_pairs import IncrementalState, ScoredPairs


@dataclass(frozen=True, slots=True)
class Scoring:
    """A way to score, with the version that is stored beside its results.

    `pairwise`: the score of two tables depends on no other table.
    """

    name: str
    version: int
    pairwise: bool
    score: Callable[[ColumnArrays, HeaderSimilarity | None, IncrementalState | None], ScoredPairs]


SCORINGS = (
    Scoring("foreign_key", 4, pairwise=False, score=foreign_key),
    Scoring("paper", 2, pairwise=True, score=paper),
    Scoring("jar", 2, pairwise=True, score=jar),
)
DEFAULT_SCORING = SCORINGS[0].name
# Names that a scoring had before; they are accepted wherever one is named.
_ALIASES = {"keylike": "foreign_key"}


def scoring(name: str) -> Scoring:
    """A scoring by name."""
    for known in SCORINGS:
        if known.name == _ALIASES.get(name, name):
            return known
    there = ", ".join(known.name for known in SCORINGS)
    raise UsageError(f"scoring {name!r} is not known; there are: {there}")
