"""What every scoring takes and gives: incremental state in, scored pairs of columns out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dovetail.arrays import Flags, Floats
from dovetail.joins.inclusion.candidates import Candidates
from dovetail.joins.naming.header_embedding import HeaderSimilarity
from dovetail.joins.value_index.postings import Postings


@dataclass(frozen=True, slots=True)
class CountedPairs:
    """The candidates that `foreign_key` counted: they need not be counted again as tables come.

    `rarity` is how rare each column's values were when its pairs were looked for, NaN for a column
    whose were not. A pair whose upper bound was too low then is too low now, unless values have
    become much rarer since. `confined` flags columns for which only keys of their own source were
    looked at.
    """

    candidates: Candidates
    rarity: Floats
    confined: Flags


@dataclass(frozen=True, slots=True)
class IncrementalState:
    """What there is from before: the inverted index of all values, which tables are fresh (new or
    changed since the last evidence), and the pairs that `foreign_key` counted.

    A pairwise scoring then scores only the pairs of tables one of which is fresh.
    """

    postings: Postings
    fresh: Flags
    counted: CountedPairs | None = None


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
