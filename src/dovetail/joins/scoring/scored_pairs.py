"""What scoring gives: scored pairs of columns, and the join edges that they are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dovetail.arrays import Floats
from dovetail.domain import JoinEdge
from dovetail.joins.candidates import Candidates, CountedPairs
from dovetail.joins.columns import ColumnArrays
from dovetail.joins.edges import cardinality, in_order


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


def edges_of(arrays: ColumnArrays, scored: ScoredPairs) -> list[JoinEdge]:
    """An edge for each scored pair, in order; its evidence is the counts and the scoring's own."""
    child, parent = scored.candidates.child, scored.candidates.parent
    evidence = _counts(arrays, scored) | scored.evidence
    names = list(evidence)
    values = np.column_stack([evidence[name] for name in names])
    match_rate = scored.candidates.rows / np.maximum(arrays.rows[arrays.table[child]], 1)
    # Column by column: to round an edge's evidence by itself takes longer than to make the edge.
    told = zip(
        child.tolist(),
        parent.tolist(),
        arrays.table[child].tolist(),
        arrays.table[parent].tolist(),
        [round(score, 6) for score in scored.score.tolist()],
        [round(rate, 6) for rate in match_rate.tolist()],
        _cardinalities(arrays, scored),
        np.round(values, 6).tolist(),
        strict=True,
    )
    edges = [
        JoinEdge(
            left=arrays.ids[of_left],
            right=arrays.ids[of_right],
            columns=((arrays.name[left], arrays.name[right]),),
            score=score,
            cardinality=how_many,
            match_rate=rate,
            evidence=dict(zip(names, said, strict=True)),
        )
        for left, right, of_left, of_right, score, rate, how_many, said in told
    ]
    return in_order(edges)


def _cardinalities(arrays: ColumnArrays, scored: ScoredPairs) -> list[str]:
    found = scored.candidates
    sides = arrays.unique[found.child].tolist(), arrays.unique[found.parent].tolist()
    return list(map(cardinality, *sides))


def _counts(arrays: ColumnArrays, scored: ScoredPairs) -> dict[str, Floats]:
    """What the exact counts of each pair come to."""
    found = scored.candidates
    table = arrays.table
    estimated = {}
    if arrays.estimated is not None:  # else it would be 0 of every edge
        either = arrays.estimated[table[found.child]] | arrays.estimated[table[found.parent]]
        estimated = {"estimated": either.astype(np.float64)}
    own, other = arrays.distinct[found.child], arrays.distinct[found.parent]
    return {
        "containment": found.shared / np.maximum(own, 1),
        "row_containment": found.rows / np.maximum(arrays.filled[found.child], 1),
        "coverage": found.shared / np.maximum(other, 1),
        "jaccard": found.shared / np.maximum(own + other - found.shared, 1),
        "uniqueness": other / np.maximum(arrays.filled[found.parent], 1),
        "fan_out": found.rows / np.maximum(found.shared, 1),
        "fan_in": arrays.filled[found.parent] / np.maximum(other, 1),
        **estimated,
    }
