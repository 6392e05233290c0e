"""Groups of candidates that belong together, and which of them a question means.

Each group is a reading of the question by itself. The likeliest is the one that is meant; another
is dropped from the set and told of as an alternative, unless it covers words of the question that
the first does not, and the first words that it does not: then the question needs both, though
nothing joins them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from dovetail.arrays import Float32s
from dovetail.retrieve.graph.belonging import Pairs
from dovetail.retrieve.graph.query_match import WHOLE_WORD, QueryMatch

# Below this probability of belonging together two candidates are of different groups. It is small,
# since a table without rows joins nothing: tables that only seem apart must not be torn apart.
_TOGETHER = 0.1
# The share of a question that two groups must each cover beyond the other for both to be meant.
_ADDS = 0.02
# How much the likelier of two groups is preferred: fitted so that the probabilities hold.
_SHARPNESS = 1.5


@dataclass(frozen=True, slots=True)
class Group:
    """Candidates that belong together, by their places; `probability` that they are meant.

    `meant`: it is the likeliest group, or needed beside it.
    """

    places: tuple[int, ...]
    probability: float
    meant: bool


def groups(probabilities: Float32s, pairs: Pairs, query: QueryMatch) -> list[Group]:
    """The groups of the candidates, the likeliest first; ties as the candidates come."""
    ranked: list[int] = np.argsort(-probabilities, kind="stable").tolist()
    found = members(ranked, pairs.together)
    mass = np.array([float(probabilities[places].sum()) for places in found])
    likely = mass**_SHARPNESS
    likely = likely / max(float(likely.sum()), 1e-9)
    order = sorted(range(len(found)), key=lambda at: (-likely[at], found[at][0]))
    covers = [_covered(query, found[at]) for at in order]
    return [
        Group(
            tuple(found[at]),
            round(float(likely[at]), 4),
            rank == 0 or _needs_both(covers[0], covers[rank]),
        )
        for rank, at in enumerate(order)
    ]


def members(order: Iterable[int], together: Float32s) -> list[list[int]]:
    """Candidates by group: each group is what belongs to the first candidate left in an order."""
    left = list(order)
    found = []
    while left:
        first = left[0]
        found.append([place for place in left if together[first, place] > _TOGETHER])
        left = [place for place in left if together[first, place] <= _TOGETHER]
    return found


def _covered(query: QueryMatch, places: Sequence[int]) -> Float32s:
    """The weight of each word that some candidates cover, as shares of the question.

    A word in a column's name is covered in full: that another group has a table of that name adds
    nothing. A value counts for the words it is made of, so none that a name says counts twice.
    """
    shares = query.word_weights / max(1e-6, float(query.word_weights.sum()))
    words = np.minimum(1, query.covers[:, list(places)] / WHOLE_WORD)
    found: Float32s = shares * words.max(axis=1, initial=0)
    return found


def _needs_both(first: Float32s, other: Float32s) -> bool:
    """Whether each of two covers a part of the question that the other does not."""
    adds = np.maximum(0, other - first).sum()
    lacks = np.maximum(0, first - other).sum()
    return bool(min(adds, lacks) >= _ADDS)
