"""Scoring `paper`: CORE-T's table compatibility (appendix on compatibility, equations 1-4).

A pair of columns is valid if one is unique and one value set is contained in the other. It scores
half the Jaccard similarity of the values, half the similarity of the headers; two tables are as
compatible as their best pair.
"""

from __future__ import annotations

from dovetail.arrays import Floats, Ints
from dovetail.joins.candidates import Candidates, CountedPairs
from dovetail.joins.column_arrays import ColumnArrays
from dovetail.joins.inclusion.exact import pairs
from dovetail.joins.naming.header_embedding import HeaderSimilarity
from dovetail.joins.naming.header_tokens import HeaderTokens
from dovetail.joins.scoring.best_pair import BestPairs
from dovetail.joins.scoring.scored_pairs import (
    ScoredPairs,
    header_evidence,
    no_pairs,
)


def paper(
    arrays: ColumnArrays,
    similarity: HeaderSimilarity | None = None,
    before: CountedPairs | None = None,
) -> ScoredPairs:
    """The best valid pair of columns of every two tables."""
    del before
    tokens = HeaderTokens(arrays)

    def measured(inner: Ints, outer: Ints) -> tuple[Floats, Floats]:
        name = tokens.overlap(inner, outer)
        if similarity is not None:
            name = (name + similarity(inner, outer)) / 2
        return arrays.distinct[inner] / arrays.distinct[outer], name

    best = BestPairs(arrays)
    for inner, outer in pairs(arrays):
        jaccard, name = measured(inner, outer)
        best.add(inner, outer, (jaccard + name) / 2)
    inner, outer, score = best.found()
    if not len(score):
        return no_pairs()
    jaccard, name = measured(inner, outer)
    found = Candidates(inner, outer, arrays.distinct[inner], arrays.filled[inner])
    evidence = {"name": name, "jaccard": jaccard, **header_evidence(found, similarity)}
    return ScoredPairs(found, score, score, evidence)
