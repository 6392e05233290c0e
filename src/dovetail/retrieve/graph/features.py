"""Ten numbers for each candidate that say whether a question needs it; docs/graph.md has each.

None depends on how many tables there are, nor on a candidate's rank or the size of the set: what
counts tables learns the habits of one benchmark.
"""

from __future__ import annotations

import numpy as np

from dovetail.retrieve.graph.query_match import QueryMatch
from dovetail.search.fusion import Floats

FEATURES = (
    "gap",
    "new_words",
    "new_literals",
    "best_words",
    "name",
    "column",
    "column_gap",
    "gain",
    "group_gap",
    "lone_literals",
)
# Small shares count for much, large ones for little more; plain words for cells are rare.
_STEEP, _RARE = 5, 5
# Below this a match is a prefix of a key, and best at nothing.
_LEAST_MATCH = 0.1


def features(known: QueryMatch) -> Floats:
    """A row for each candidate, a column for each of `FEATURES`."""
    said = known.word_weights / max(1e-6, float(known.word_weights.sum()))
    mentions = np.vstack([known.words, known.literals])
    weights = np.concatenate([said, known.literal_weights / known.mass])
    group = _groups(weights, mentions, known.joins)
    # A table that covers all that a question says leaves nothing for the neighbours of others.
    left = max(0.0, 1 - float((weights @ mentions).max(initial=0)))
    found: Floats = np.stack(
        [
            known.scores - known.scores[0],
            np.log1p(_STEEP * newly(known.word_weights, known.words)),
            newly(known.literal_weights, known.literals),
            _best(said, known.words),
            known.names,
            known.columns,
            known.headers - known.headers.max(),
            np.minimum(known.gains, left),
            group - group.max(),
            (_RARE * known.literal_weights * known.speech) @ known.literals,
        ],
        axis=1,
    ).astype(np.float32)
    return found


def newly(weights: Floats, match: Floats) -> Floats:
    """What each candidate covers beyond all better ranked ones."""
    better = np.maximum.accumulate(match, axis=1)
    before = np.hstack([np.zeros((len(match), 1), dtype=match.dtype), better[:, :-1]])
    covered: Floats = weights @ np.maximum(0, match - before)
    return covered


def _best(said: Floats, match: Floats) -> Floats:
    """The share of the words for which no other candidate is a better match, ties divided."""
    best = (match >= match.max(axis=1, keepdims=True) - 1e-6) & (match > _LEAST_MATCH)
    shared: Floats = said @ (best / np.maximum(1, best.sum(axis=1, keepdims=True)))
    return shared


def _groups(weights: Floats, mentions: Floats, joins: Floats) -> Floats:
    """The share of the question that each candidate and those within two joins of it cover."""
    # A way of two joins is as sure as the weaker one.
    near = np.minimum(joins[:, :, None], joins[None]).max(axis=1)
    matched = mentions.any(axis=1)
    reached = (mentions[matched][:, None, :] * near[None]).max(axis=2, initial=0)
    covered: Floats = weights[matched] @ reached
    return covered
