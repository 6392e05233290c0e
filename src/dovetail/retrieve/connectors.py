"""Adjustment by need: connects a chosen set that falls apart, and leaves any other set alone.

The paper's adjustment (adjust.py) gives every chosen table its strongest partner back, needed or
not. A capable model rarely forgets a table, so most partners are noise. What can be told without
asking again is whether the chosen tables join: where they do not, and one candidate joins two of
their connected components, that candidate is what is missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from dovetail.components import Components
from dovetail.domain import Candidate, TableId
from dovetail.retrieve.adjust import Addition, Compatibility
from dovetail.retrieve.parse_reply import Selection

CONNECTOR = "connector"
# A selector that takes more than this share of a list has not chosen: what it left out says little.
_PLAUSIBLE, _LIST = 0.5, 4


def weakness(selection: Selection, candidates: int) -> str:
    """Say why what a selector left out cannot be relied on; empty if it can.

    A reply that names things outside the list did not read the list, and one that takes more than
    half of it did not choose. Both are told from the reply alone, whatever the model is called.

    >>> weakness(Selection((1, 2), dropped={"out of range": 1}), 10)
    'the reply names what is not in the list'
    >>> weakness(Selection((1, 2)), 10)
    ''
    """
    if not selection.sound:
        return "the reply names what is not in the list"
    if candidates >= _LIST and len(selection.tables) > _PLAUSIBLE * candidates:
        return f"the reply takes {len(selection.tables)} of {candidates} candidates"
    return ""


def components(
    tables: Sequence[TableId], compatibility: Compatibility, threshold: float
) -> list[list[TableId]]:
    """Return the connected components of tables under the joins stronger than a threshold."""
    edges = (pair for pair in combinations(tables, 2) if compatibility(*pair) > threshold)
    return Components(tables, edges).groups()


def connectors(
    chosen: Sequence[TableId],
    candidates: Sequence[Candidate],
    compatibility: Compatibility,
    threshold: float,
) -> list[Addition]:
    """Return the candidates that connect components of the chosen tables, in order.

    Each joins at least two components by compatibilities above the threshold; the one that joins
    most comes first, ties by relevance and then by id. It ends when the set is connected or no
    single candidate connects it further. `gain` is the second strongest of its joins.
    """
    ranked = sorted(candidates, key=lambda one: (-one.relevance, one.id))
    group, added = list(chosen), list[Addition]()
    while len(parts := components(group, compatibility, threshold)) > 1:
        offers = [
            joins
            for one in ranked
            if one.id not in group
            and len(joins := _joins(one.id, parts, compatibility, threshold)) > 1
        ]
        if not offers:
            break
        best = max(offers, key=len)  # the first of several: the most relevant
        (_, table, first), (gain, _, second), *_ = best
        added.append(Addition(table, CONNECTOR, first, gain, to=second))
        group.append(table)
    return added


def _joins(
    table: TableId,
    parts: Sequence[Sequence[TableId]],
    compatibility: Compatibility,
    threshold: float,
) -> list[tuple[float, TableId, TableId]]:
    """The table's strongest join with each component it joins, the strongest first."""
    best = [max((compatibility(table, one), table, one) for one in part) for part in parts]
    return sorted((join for join in best if join[0] > threshold), key=lambda join: -join[0])
