"""Scoring `foreign_key`: is this column a foreign key to that key? Training-free, in four steps.

1. `PairFeatures`: what names, values and places say about one candidate, each in [0, 1];
2. `local_logits`: their sum in nats: would a person who sees just the two tables call it a key?
3. `competition`: edges that exclude each other cost each other odds, so that of look-alike
   databases the better is preferred, or the doubt is kept;
4. `score_jointly`: edges without a competitor form latent databases; no database holds two tables
   of one name, so edges that would force that are blocked, which decides between competitors.

    logit = prior + name + value + key - own - measure - orphans - repeats + cover + convention
    score = 1 / (1 + exp(-(logit - clash - ln 2 * competitors)))

Nothing is fitted. The score behaves like a probability; above 0.5 the evidence for outweighs the
evidence against.
"""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from dovetail.arrays import Flags, Ints
from dovetail.joins.column_arrays import ColumnArrays
from dovetail.joins.inclusion.candidates import concatenate, find_candidates
from dovetail.joins.inclusion.confinement import confinement
from dovetail.joins.inclusion.fresh_candidates import find_fresh_candidates
from dovetail.joins.naming.header_embedding import HeaderSimilarity
from dovetail.joins.scoring.competition import ScoredEdges, score_jointly
from dovetail.joins.scoring.features import PairFeatures, local_logits
from dovetail.joins.scoring.scored_pairs import (
    CountedPairs,
    IncrementalState,
    ScoredPairs,
    Unlikely,
)
from dovetail.joins.scoring.upper_bounds import UpperBounds
from dovetail.joins.scoring.value_information import value_information
from dovetail.joins.scoring.weights import DEFAULT_WEIGHTS, Weights
from dovetail.joins.value_index.postings import Postings

# With a greater share of fresh columns everything is looked for anew.
_MOST_FRESH = 0.1
# How much rarer a column's values may become before its pairs must be looked for again.
_SLACK = 0.05
# A pair with a lower score is no edge: of small tables with keys 1 to n there are very many.
_LEAST_SCORE = 0.001


def foreign_key(
    arrays: ColumnArrays, similarity: HeaderSimilarity | None, state: IncrementalState | None
) -> ScoredPairs:
    """The scoring as the registry has it: pairs with their score, and features as evidence."""
    postings, counted = (state.postings, state.counted) if state else (None, None)
    edges, counted = score_foreign_keys(arrays, DEFAULT_WEIGHTS, similarity, postings, counted)
    evidence = {f.name: getattr(edges.features, f.name) for f in fields(edges.features)}
    evidence |= {
        "logit": edges.logit,
        "competitors": edges.competitors,
        "blocked": edges.blocked * 1.0,
    }
    likely = edges.score >= _LEAST_SCORE
    unlikely = Unlikely(edges.candidates.take(~likely), edges.logit[~likely])
    return ScoredPairs(
        edges.candidates.take(likely),
        edges.score[likely],
        edges.rank[likely],
        {name: values[likely] for name, values in evidence.items()},
        counted,
        unlikely,
    )


def score_foreign_keys(
    arrays: ColumnArrays,
    weights: Weights = DEFAULT_WEIGHTS,
    similarity: HeaderSimilarity | None = None,
    postings: Postings | None = None,
    before: CountedPairs | None = None,
) -> tuple[ScoredEdges, CountedPairs]:
    """Score every pair of columns that may be a foreign key and its key.

    The scores are the same with the pairs counted before, or without. The second part of the result
    is what the next call may take for `before`.
    """
    postings = postings or Postings.of_arrays(arrays)
    information = value_information(arrays, weights, postings)
    confined = confinement(arrays, information.common)
    fresh = np.ones(len(arrays), dtype=np.bool_)
    if before is not None:
        fresh = ~(information.rarity <= before.rarity + _SLACK)
        fresh |= before.confined & ~confined.confined
    if before is None or np.count_nonzero(fresh) > _MOST_FRESH * len(arrays):
        fresh[:] = True
        rarity = information.rarity
    else:
        rarity = np.where(fresh, information.rarity, before.rarity)
    features = PairFeatures.of_columns(arrays, information, similarity, rarity + _SLACK)
    bounds = UpperBounds(features, weights)
    if before is None or fresh.all():
        counted = find_candidates(arrays, information.distinctive, bounds, confined=confined)
    else:
        known = before.candidates
        same = ~(fresh[known.child] | fresh[known.parent])
        same &= confined.allows(known.child, known.parent)

        def worth_counting(child: Ints, parent: Ints) -> Flags:
            able = confined.allows(child, parent)
            able[able] = bounds.within(child[able], parent[able])
            return able

        more = find_fresh_candidates(
            arrays, information.distinctive, fresh, postings, worth_counting
        )
        counted = concatenate([known.take(same), more])
    counted = counted.take(np.lexsort((counted.parent, counted.child)))
    found = features.of(counted)
    logit = local_logits(found, weights)
    able = logit > weights.least
    edges = score_jointly(arrays, counted.take(able), found.take(able), logit[able], weights)
    return edges, CountedPairs(counted, rarity, confined.confined)
