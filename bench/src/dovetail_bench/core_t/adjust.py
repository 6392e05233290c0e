"""Adjustment: join partners of the selection are added (Section 4.2.3), always or by need.

The paper's adjustment is additive. Step 1 adds the strongest partner of every selected table
(seed). Step 2 adds, one by one, the candidate that raises the mean compatibility and relevance of
the group most (Equations 5 to 9). A seed is never dropped.

A capable model rarely forgets a table, so most partners are noise. Adjustment by need connects a
chosen set that falls apart, and leaves any other set alone: where one candidate joins two of the
connected components, that candidate is what is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

from dovetail.components import Components
from dovetail.domain import Candidate, TableId
from dovetail.retrieve.prompt import JoinedPair
from dovetail_bench.core_t.reply import Selection

Compatibility = Callable[[TableId, TableId], float]
CONNECTOR = "connector"
# A selector that takes more than this share of a list has not chosen: what it left out says little.
_PLAUSIBLE, _LIST = 0.5, 4


@dataclass(frozen=True, slots=True)
class AdjustOptions:
    """The paper's constants, the same for every corpus."""

    threshold: float = 0.5
    coherence: float = 0.5
    relevance: float = 0.5


@dataclass(frozen=True, slots=True)
class Addition:
    """A table that adjustment added.

    `step` is `partner` (of the seed `of`, by the compatibility `gain`), `expansion` (joined best to
    `of`, raising the group by `gain`) or `connector` (joining `of` and `to`, the weaker of the two
    joins by `gain`).
    """

    table: TableId
    step: str
    of: TableId
    gain: float
    to: TableId | None = None


def adjust(
    seeds: Sequence[TableId],
    candidates: Sequence[Candidate],
    compatibility: Compatibility,
    options: AdjustOptions | None = None,
) -> list[Addition]:
    """Return what is added to the seeds, in order; all additions are candidates."""
    chosen = options or AdjustOptions()
    # Ties go to the more relevant, then to the smaller id: the first in this order wins.
    ranked = sorted(candidates, key=lambda one: (-one.relevance, one.id))
    group = list(dict.fromkeys(seeds))
    added = _partners(group, ranked, compatibility, chosen.threshold)
    group += [addition.table for addition in added]
    while group:
        best = _best(group, ranked, compatibility, chosen)
        if best is None or best.gain <= 0:
            break
        added.append(best)
        group.append(best.table)
    return added


def _partners(
    seeds: Sequence[TableId],
    ranked: Sequence[Candidate],
    compatibility: Compatibility,
    threshold: float,
) -> list[Addition]:
    """The strongest partner of each seed, if it is strong enough and not a seed itself."""
    found: dict[TableId, Addition] = {}
    for seed in seeds:
        others = [one.id for one in ranked if one.id != seed]
        if not others:
            continue
        partner = max(others, key=lambda other: compatibility(seed, other))
        strength = compatibility(seed, partner)
        if strength > threshold and partner not in seeds and partner not in found:
            found[partner] = Addition(partner, "partner", seed, strength)
    return [found[one.id] for one in ranked if one.id in found]


def _best(
    group: Sequence[TableId],
    ranked: Sequence[Candidate],
    compatibility: Compatibility,
    options: AdjustOptions,
) -> Addition | None:
    """The eligible candidate with the largest gain."""
    relevance = {one.id: one.relevance for one in ranked}
    pairs = len(group) * (len(group) - 1) // 2
    joined = sum(compatibility(one, other) for one, other in combinations(group, 2))
    related = sum(relevance[table] for table in group)
    best: Addition | None = None
    for one in ranked:
        if one.id in group:
            continue
        strengths = [compatibility(one.id, member) for member in group]
        if max(strengths) <= 0:
            continue
        coherence = (joined + sum(strengths)) / (pairs + len(group)) - joined / max(pairs, 1)
        nearness = (related + one.relevance) / (len(group) + 1) - related / len(group)
        gain = options.coherence * coherence + options.relevance * nearness
        if best is None or gain > best.gain:
            of = group[strengths.index(max(strengths))]
            best = Addition(one.id, "expansion", of, gain)
    return best


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


def compatibility_of(pairs: Sequence[JoinedPair]) -> Compatibility:
    """Return the function that gives two tables the score of their pair, or 0 without one."""
    scores: dict[tuple[TableId, TableId], float] = {}
    for pair in pairs:
        edge = pair.edge
        scores[edge.left, edge.right] = scores[edge.right, edge.left] = edge.score
    return lambda left, right: scores.get((left, right), 0.0)
