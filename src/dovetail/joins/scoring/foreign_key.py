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

from dovetail.joins.candidates import (
    CountedPairs,
    Update,
    concatenate,
    find_candidates,
    own_source_only,
)
from dovetail.joins.columns import ColumnArrays
from dovetail.joins.scoring.competition import ScoredEdges, score_jointly
from dovetail.joins.scoring.features import PairFeatures, local_logits
from dovetail.joins.scoring.scored_pairs import ScoredPairs, Unlikely
from dovetail.joins.scoring.upper_bounds import UpperBounds
from dovetail.joins.scoring.value_information import value_information
from dovetail.joins.scoring.weights import DEFAULT_WEIGHTS, Weights

# A pair with a lower score is no edge: of small tables with keys 1 to n there are very many.
_LEAST_SCORE = 0.001


def foreign_key(arrays: ColumnArrays, before: CountedPairs | None = None) -> ScoredPairs:
    """Pairs of columns with their score, and their features as evidence."""
    edges, counted = score_foreign_keys(arrays, DEFAULT_WEIGHTS, before)
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
    before: CountedPairs | None = None,
) -> tuple[ScoredEdges, CountedPairs]:
    """Score every pair of columns that may be a foreign key and its key.

    The scores are the same with the pairs counted before, or without. The second part of the result
    is what the next call may take for `before`.
    """
    information = value_information(arrays, weights)
    source_only = own_source_only(arrays, information.common)
    update = Update.since(before, information.rarity, ~source_only.flags)
    features = PairFeatures.of_columns(arrays, information, update.rarity_bound)
    chosen = update.chosen([(np.ones(len(arrays), dtype=np.bool_), arrays.key)])
    changed = find_candidates(
        arrays, information.distinctive, UpperBounds(features, weights), chosen, source_only
    )
    known = update.known.take(source_only.allows(update.known.child, update.known.parent))
    counted = concatenate([known, changed]).sorted()
    weighed = features.of(counted)
    logit = local_logits(weighed, weights)
    eligible = logit > weights.least
    edges = score_jointly(
        arrays, counted.take(eligible), weighed.take(eligible), logit[eligible], weights
    )
    return edges, CountedPairs(counted, update.rarity, ~source_only.flags)
