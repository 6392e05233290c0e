"""Several rankings as one, by taking turns: the first of each, then the second of each, and so on.

Where a question needs several tables, each ranking is for another of them. Turns keep the best of
each near the top; sums of scores put tables first that are a little of everything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest

from dovetail.domain import Candidate


def in_turn(rankings: Sequence[Sequence[Candidate]]) -> list[Candidate]:
    """The candidates of rankings in turn, each once, with the highest relevance that it has.

    >>> from dovetail.domain import TableId
    >>> one, two, three = (Candidate(TableId("s", name), 0.5, {}) for name in "abc")
    >>> [candidate.name for candidate in in_turn([[one, two], [three, one]])]
    ['a', 'c', 'b']
    """
    best: dict[object, Candidate] = {}
    for turn in zip_longest(*rankings):
        for candidate in turn:
            if candidate is None:
                continue
            first = best.setdefault(candidate.id, candidate)
            if first.relevance < candidate.relevance:
                best[candidate.id] = replace(first, relevance=candidate.relevance)
    return list(best.values())
