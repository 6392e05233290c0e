"""Adjustment: join partners of the selection are added (Section 4.2.3).

It is additive. Step 1 adds the strongest partner of every selected table (seed). Step 2 adds, one
by one, the candidate that raises the mean compatibility and relevance of the group most (Equations
5 to 9). A seed is never dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

from dovetail.domain import Candidate, TableId
from dovetail.retrieve.prompt import JoinedPair

Compatibility = Callable[[TableId, TableId], float]


@dataclass(frozen=True, slots=True)
class AdjustOptions:
    """The paper's constants, the same for every corpus."""

    threshold: float = 0.5
    coherence: float = 0.5
    relevance: float = 0.5


@dataclass(frozen=True, slots=True)
class Addition:
    """A table that adjustment added.

    `step` is `partner` (of the seed `of`, by the compatibility `gain`) or `expansion` (joined best
    to `of`, raising the group by `gain`).
    """

    table: TableId
    step: str
    of: TableId
    gain: float


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


def compatibility_of(pairs: Sequence[JoinedPair]) -> Compatibility:
    """Return the function that gives two tables the score of their pair, or 0 without one."""
    scores: dict[tuple[TableId, TableId], float] = {}
    for pair in pairs:
        edge = pair.edge
        scores[edge.left, edge.right] = scores[edge.right, edge.left] = edge.score
    return lambda left, right: scores.get((left, right), 0.0)
