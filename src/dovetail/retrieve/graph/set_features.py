"""What the set scorer sees: candidates in the light of each other, and what is between two of them.

To the ten features of each candidate by itself (features.py) come its coverage of the question and
that of the group it belongs to; of each two candidates, how they join, whether they belong together
and what each covers of the question that the other does not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dovetail.arrays import Float32s
from dovetail.retrieve.graph.belonging import Pairs
from dovetail.retrieve.graph.features import FEATURES, features
from dovetail.retrieve.graph.query_match import QueryMatch

SET_FEATURES = (
    *FEATURES,
    "dense_gap",  # cosine of question and schema line, less the best candidate's
    "dense",
    "cover",  # share of the question that it covers, words and values
    "cover_gap",  # the same, less the best candidate's
    "value",  # weight of the linked values that it holds
    "neighbour",  # what its neighbours cover beyond it
    "group_cover",  # share of the question that the tables it belongs to cover
    "group_cover_gap",  # the same, less the best one's
    "group_share",  # share of the first probabilities that the tables it belongs to have
    "group_probability",  # their first probabilities together
    "first_logit",  # the logit of its first probability, by itself
    "joined",  # score of its best join to another candidate
    "covered",  # share of the question that all candidates together cover
)
PAIR_FEATURES = ("join", "path", "together", "same_name", "adds", "lacks")


@dataclass(frozen=True, slots=True)
class SetInput:
    """The input of the set scorer: a row per candidate, and a matrix per feature of two."""

    rows: Float32s  # by candidate and by SET_FEATURES
    pairs: Float32s  # by two candidates and by PAIR_FEATURES


def set_input(query: QueryMatch, pairs: Pairs, first: Float32s) -> SetInput:
    """What the set scorer sees of some candidates; `first` are their first probabilities."""
    shares = query.word_weights / max(1e-6, float(query.word_weights.sum()))
    terms = np.vstack([query.words, query.values])
    weights = np.concatenate([shares, query.value_weights / query.mass])
    cover = weights @ terms
    group = weights @ (terms[:, None, :] * pairs.together[None]).max(axis=2, initial=0)
    probable = pairs.together @ first
    # What the second of two candidates covers beyond the first.
    adds = np.tensordot(weights, np.maximum(0, terms[:, None, :] - terms[:, :, None]), 1)
    others = pairs.joins - np.diag(np.diag(pairs.joins))
    rows = np.column_stack(
        [
            features(query),
            query.dense - query.dense.max(),
            query.dense,
            cover,
            cover - cover.max(),
            query.held,
            query.neighbours,
            group,
            group - group.max(),
            probable / max(1e-6, float(first.sum())),
            probable,
            np.log(first / (1 - first)),
            others.max(axis=1, initial=0),
            np.full(len(cover), weights @ terms.max(axis=1, initial=0)),
        ]
    )
    between = (others, pairs.paths, pairs.together, pairs.same_name, adds, adds.T)
    return SetInput(rows.astype(np.float32), np.stack(between, axis=2).astype(np.float32))
