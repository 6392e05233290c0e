"""Ten features for each candidate that say whether a query needs it; docs/graph.md has each.

None depends on how many tables the catalog has, on a candidate's rank or on the size of the set: a
feature that counts tables learns the conventions of one benchmark.
"""

from __future__ import annotations

import numpy as np

from dovetail.arrays import Float32s
from dovetail.retrieve.graph.query_match import QueryMatch

FEATURES = (
    "gap",
    "new_words",
    "new_values",
    "best_words",
    "name",
    "column",
    "column_gap",
    "gain",
    "group_gap",
    "plain_values",
)
# Small shares count for much, large ones for little more; plain words for cells are rare.
_STEEP, _RARE = 5, 5
# Below this a match is a prefix of a key, and best at nothing.
_LEAST_MATCH = 0.1


def features(query: QueryMatch) -> Float32s:
    """A row for each candidate, a column for each of `FEATURES`."""
    shares = query.word_weights / max(1e-6, float(query.word_weights.sum()))
    terms = np.vstack([query.words, query.values])
    weights = np.concatenate([shares, query.value_weights / query.mass])
    group = _groups(weights, terms, query.joins)
    # A table that covers all that a question says leaves nothing for the neighbours of others.
    left = max(0.0, 1 - float((weights @ terms).max(initial=0)))
    found: Float32s = np.stack(
        [
            query.scores - query.scores[0],
            np.log1p(_STEEP * newly_covered(query.word_weights, query.words)),
            newly_covered(query.value_weights, query.values),
            _best(shares, query.words),
            query.names,
            query.columns,
            query.headers - query.headers.max(),
            np.minimum(query.gains, left),
            group - group.max(),
            (_RARE * query.value_weights * query.plain) @ query.values,
        ],
        axis=1,
    ).astype(np.float32)
    return found


def newly_covered(weights: Float32s, match: Float32s) -> Float32s:
    """The weight of the terms that each candidate covers beyond all better ranked ones."""
    better = np.maximum.accumulate(match, axis=1)
    before = np.hstack([np.zeros((len(match), 1), dtype=match.dtype), better[:, :-1]])
    covered: Float32s = weights @ np.maximum(0, match - before)
    return covered


def _best(shares: Float32s, match: Float32s) -> Float32s:
    """The share of the words for which no other candidate is a better match, ties divided."""
    best = (match >= match.max(axis=1, keepdims=True) - 1e-6) & (match > _LEAST_MATCH)
    shared: Float32s = shares @ (best / np.maximum(1, best.sum(axis=1, keepdims=True)))
    return shared


def _groups(weights: Float32s, terms: Float32s, joins: Float32s) -> Float32s:
    """The share of the question that each candidate and those within two joins of it cover."""
    # A path of two joins is as sure as the weaker one.
    near = np.minimum(joins[:, :, None], joins[None]).max(axis=1)
    matched = terms.any(axis=1)
    reached = (terms[matched][:, None, :] * near[None]).max(axis=2, initial=0)
    covered: Float32s = weights[matched] @ reached
    return covered
