"""What scoring gives: scored pairs of columns."""

from __future__ import annotations

from dataclasses import dataclass

from dovetail.arrays import Floats
from dovetail.joins.candidates import Candidates, CountedPairs


@dataclass(frozen=True, slots=True)
class Unlikely:
    """Candidates that are next to impossible in view of others, and their logits by themselves."""

    candidates: Candidates
    logit: Floats


@dataclass(frozen=True, slots=True)
class ScoredPairs:
    """Scored pairs of columns, with the evidence for each by name; `rank` breaks ties.

    `counted` is what makes the next update cheaper. `unlikely` are pairs whose score is next to
    nothing: they are no edges, but their values have been explained.
    """

    candidates: Candidates
    score: Floats
    rank: Floats
    evidence: dict[str, Floats]
    counted: CountedPairs | None = None
    unlikely: Unlikely | None = None
