"""Scoring `foreign_key`: is this column a foreign key to that key? Training-free, in three steps.

1. `PairFeatures`: what names, values and places say about one candidate, each in [0, 1];
2. `local_logits`: their sum in nats: would a person who sees just the two tables call it a key?
3. `score_jointly`: edges of one column exclude each other and cost each other odds, so that of
   look-alike keys the better is preferred, or the doubt is kept. Where sources say nothing, sure
   joins tell which tables are of one database, and others cost.

    logit = prior + name + value + key - own - measure - orphans - repeats + cover + convention
    score = 1 / (1 + exp(-(logit - penalties - ln 2 * competitors)))

Nothing is fitted. The score behaves like a probability; above 0.5 the evidence for outweighs the
evidence against.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from dovetail.arrays import Floats, firsts
from dovetail.catalog.records import StoredForm
from dovetail.domain import JoinEdge
from dovetail.domain.sql import CASE, CUT, DAY, PREFIX, PUNCTUATED, ZEROS
from dovetail.domain.sql import rung as kind
from dovetail.joins.candidates import Candidates
from dovetail.joins.columns import ColumnArrays
from dovetail.joins.competition import score_jointly
from dovetail.joins.edges import cardinality, in_order
from dovetail.joins.features import WEIGHTS, local_logits
from dovetail.joins.transforms import ENOUGH, WeighedCandidates, all_candidates, together

# How far up the ladder of normal forms each transform is.
_RUNGS = {"": 0, CASE: 1, PUNCTUATED: 1, DAY: 1, ZEROS: 1, PREFIX: 2, CUT: 3}
# A pair with a lower score is no edge: of small tables with keys 1 to n there are very many.
_LEAST_SCORE = 0.001


def foreign_key(
    arrays: ColumnArrays,
    normalized: Sequence[tuple[int, StoredForm]] = (),
) -> ScoredPairs:
    """Pairs of columns with their score, and their features as evidence."""
    weighed, logit = weigh(arrays, normalized)
    rung = np.array([_RUNGS[kind(name)] for name in weighed.transform], dtype=np.float64)
    score, jointly = score_jointly(arrays, weighed.candidates, weighed.features, logit, rung)
    evidence = {f.name: getattr(weighed.features, f.name) for f in fields(weighed.features)}
    evidence |= {"logit": logit, **jointly}
    possible = np.flatnonzero(score >= _LEAST_SCORE)
    return ScoredPairs(
        weighed.candidates.take(possible),
        score[possible],
        {name: values[possible] for name, values in evidence.items()},
        [weighed.transform[at] for at in possible.tolist()],
    )


def weigh(
    arrays: ColumnArrays, normalized: Sequence[tuple[int, StoredForm]]
) -> tuple[WeighedCandidates, Floats]:
    """The candidates of all rungs that may become edges, and the logit of each by itself."""
    weighed = lowest_rungs(all_candidates(arrays, normalized))
    transformed = np.array([bool(name) for name in weighed.transform], dtype=np.float64)
    logit = local_logits(weighed.features) - WEIGHTS.transform * transformed
    eligible = np.flatnonzero(logit > WEIGHTS.least)
    return weighed.take(eligible), logit[eligible]


def lowest_rungs(rungs: Sequence[WeighedCandidates]) -> WeighedCandidates:
    """Each pair of columns once: at the lowest rung of the ladder that finds its rows and says that
    they are no chance: `FOL-T001008` without all letters is any number, without `FOL-` a code.
    """
    every = together(rungs)
    candidates = every.candidates
    rung = np.repeat(np.arange(len(rungs)), [len(each.candidates) for each in rungs])
    order = np.lexsort((rung, candidates.parent, candidates.child))
    child, parent = candidates.child[order], candidates.parent[order]
    starts = firsts(child * (int(parent.max(initial=0)) + 1) + parent)
    sizes = np.diff(np.append(starts, len(order)))

    def most(of_each: Floats) -> Floats:
        greatest: Floats = np.maximum.reduceat(of_each, starts) if len(order) else of_each
        return np.repeat(greatest, sizes)

    rows = candidates.rows[order].astype(np.float64)
    finds = rows >= ENOUGH * most(rows)
    said = np.where(finds, local_logits(every.features)[order], -np.inf)
    enough = np.flatnonzero(finds & ((said > 0) | (most(said) <= 0)))
    pair = np.repeat(np.arange(len(starts)), sizes)[enough]
    return every.take(np.sort(order[enough[firsts(pair)]]))


@dataclass(frozen=True, slots=True)
class ScoredPairs:
    """Scored pairs of columns, with the evidence for each by name.

    `transform` is what makes the two match, empty for nothing.
    """

    candidates: Candidates
    score: Floats
    evidence: dict[str, Floats]
    transform: Sequence[str]


def edges_of(arrays: ColumnArrays, scored: ScoredPairs) -> list[JoinEdge]:
    """An edge for each scored pair, in order; its evidence is the counts and the scoring's own."""
    child, parent = scored.candidates.child, scored.candidates.parent
    evidence = _counts(arrays, scored) | scored.evidence
    names = list(evidence)
    values = np.column_stack([evidence[name] for name in names])
    match_rate = scored.candidates.rows / np.maximum(arrays.rows[arrays.table[child]], 1)
    # Column by column: to round an edge's evidence by itself takes longer than to make the edge.
    rows = zip(
        child.tolist(),
        parent.tolist(),
        arrays.table[child].tolist(),
        arrays.table[parent].tolist(),
        [round(score, 6) for score in scored.score.tolist()],
        [round(rate, 6) for rate in match_rate.tolist()],
        _cardinalities(arrays, scored),
        np.round(values, 6).tolist(),
        scored.transform,
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
            evidence=dict(zip(names, values_of, strict=True))
            | ({"transformed": 1.0} if transform else {}),
            transform=transform,
        )
        for left, right, of_left, of_right, score, rate, how_many, values_of, transform in rows
    ]
    return in_order(edges)


def _cardinalities(arrays: ColumnArrays, scored: ScoredPairs) -> list[str]:
    candidates = scored.candidates
    sides = arrays.unique[candidates.child].tolist(), arrays.unique[candidates.parent].tolist()
    return list(map(cardinality, *sides))


def _counts(arrays: ColumnArrays, scored: ScoredPairs) -> dict[str, Floats]:
    """What the exact counts of each pair come to."""
    candidates = scored.candidates
    table = arrays.table
    estimated = {}
    if arrays.estimated is not None:  # else it would be 0 of every edge
        either = (
            arrays.estimated[table[candidates.child]] | arrays.estimated[table[candidates.parent]]
        )
        estimated = {"estimated": either.astype(np.float64)}
    own, other = arrays.distinct[candidates.child], arrays.distinct[candidates.parent]
    return {
        "containment": candidates.shared / np.maximum(own, 1),
        "row_containment": candidates.rows / np.maximum(arrays.filled[candidates.child], 1),
        "coverage": candidates.shared / np.maximum(other, 1),
        "jaccard": candidates.shared / np.maximum(own + other - candidates.shared, 1),
        "uniqueness": other / np.maximum(arrays.filled[candidates.parent], 1),
        "fan_out": candidates.rows / np.maximum(candidates.shared, 1),
        "fan_in": arrays.filled[candidates.parent] / np.maximum(other, 1),
        **estimated,
    }
