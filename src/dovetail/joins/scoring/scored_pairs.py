"""What every scoring gives: scored pairs of columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dovetail.arrays import Floats
from dovetail.joins.candidates import Candidates, CountedPairs
from dovetail.joins.naming.header_embedding import HeaderSimilarity


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


def no_pairs() -> ScoredPairs:
    """The result where nothing can be scored."""
    none = np.empty(0, dtype=np.int64)
    empty = np.empty(0, dtype=np.float64)
    return ScoredPairs(Candidates(none, none, none, none), empty, empty, {})


def header_evidence(found: Candidates, similarity: HeaderSimilarity | None) -> dict[str, Floats]:
    """The cosine of the headers; or that names were compared by their words alone."""
    if similarity is None:
        return {"lexical_only": np.ones(len(found))}
    return {"semantic": similarity(found.child, found.parent)}
