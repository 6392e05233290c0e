"""The tables that lead a sum over the terms of a query, in a catalog of very many tables.

Terms are added up from the rarest on. Once no table that is new to the sum could be among the
leading ones any more, the terms left, which many tables have, are looked up for the tables that are
still in question alone (MaxScore, Turtle and Flood 1995). Nothing is approximated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dovetail.arrays import Flags, Float32s, Ints, firsts
from dovetail.search.query import QueryTerm

# Sums of single precision may come out this much apart.
_ROUNDING = 1e-5


@dataclass(frozen=True, slots=True)
class WeightedTerm:
    """A term and what its match and its share of a table's name count in a sum."""

    term: QueryTerm
    match: float
    name_share: float

    @property
    def upper_bound(self) -> float:
        """The most that the term adds to any table."""
        if not len(self.term.tables):
            return 0.0
        most = max(self.match * float(self.term.match.max()), 0.0)
        return most + float(self.term.name_share.max()) * self.name_share

    def values(self, match: Float32s, name_share: Float32s) -> Float32s:
        """What the term adds, given how well it matches."""
        found: Float32s = np.float32(self.match) * match
        return found + np.float32(self.name_share) * name_share if self.name_share else found


def top_tables(
    terms: Sequence[WeightedTerm], pool: int, count: int, allowed: Flags | None = None
) -> Ints:
    """The tables with the largest sums, ties by place, at most `pool` and none with a sum of 0.

    Only allowed tables count, of `count` tables in all.
    """
    rarest_first = sorted(terms, key=lambda one: len(one.term.tables))
    sums = np.zeros(count, dtype=np.float32)
    left = sum(one.upper_bound for one in rarest_first)
    least = 0.0  # what the last of the leading tables has at least
    seen: list[npt.NDArray[np.int32]] = []
    done = 0
    for one in rarest_first:
        if left + _ROUNDING < least:
            break
        tables, values = one.term.tables, one.values(one.term.match, one.term.name_share)
        if allowed is not None:
            tables, values = tables[allowed[tables]], values[allowed[tables]]
        sums[tables] += values
        seen.append(tables)
        left -= one.upper_bound
        done += 1
        if len(tables) >= pool:
            least = max(least, float(np.partition(sums[tables], -pool)[-pool]))
    if not seen:
        return np.empty(0, np.int64)
    enough = max(least - left - _ROUNDING, 0.0)
    every = np.sort(np.concatenate([tables[sums[tables] >= enough] for tables in seen]))
    places = every[firsts(every)]
    found = sums[places]
    for one in rarest_first[done:]:
        found += one.values(*one.term.look_up(places))
    best = np.lexsort((places, -found))[:pool]
    leading: Ints = places[best[found[best] > 0]].astype(np.int64)
    return leading
