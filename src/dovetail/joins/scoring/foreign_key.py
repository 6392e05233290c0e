"""Scoring `keylike`: is this column a reference to that key? Training-free, in four steps.

1. `Evidence`: what names, values and places say about one candidate, each in [0, 1];
2. `local_odds`: their sum in nats: would a person who sees just the two tables call it a key?
3. `rivals`: edges that exclude each other cost each other odds, so that of look-alike databases the
   better is preferred, or the doubt is kept;
4. `settle`: edges without a rival form latent databases; no database holds two tables of one name,
   so edges that would force that are blocked, which decides between rivals that remain.

    odds  = prior + name + value + key - own - measure - orphans - repeats + cover + habit
    score = 1 / (1 + exp(-(odds - clash - ln 2 * rivals)))

Nothing is fitted. The score behaves like a probability; above 0.5 the evidence for outweighs the
evidence against.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dovetail.joins.column_arrays import Flags, Floats, Ints, Lake
from dovetail.joins.inclusion.candidates import Candidates, concatenate, find_candidates, find_fresh
from dovetail.joins.naming.name_words import entity, words
from dovetail.joins.scoring.features import (
    DEFAULT,
    SLACK,
    Coded,
    Constants,
    Evidence,
    Features,
    Semantic,
    local_odds,
    surprise,
)
from dovetail.joins.value_index.postings import Postings

NAME, VERSION = "keylike", 3
# With a greater share of fresh columns everything is looked for anew.
_MOST_FRESH = 0.1


@dataclass(frozen=True, slots=True)
class Kept:
    """What need not be done again while a lake grows: the pairs that were counted.

    `rare` is how rare each column's values were when its pairs were looked for, NaN for a column
    whose were not. What had no hope then has none now, unless values have become much rarer since.
    """

    counted: Candidates
    rare: Floats


@dataclass(frozen=True, slots=True)
class Edges:
    """Scored candidates with their evidence, and what to keep."""

    candidates: Candidates
    features: Features
    odds: Floats
    rivals: Floats
    blocked: Flags
    score: Floats
    rank: Floats


def keylike(
    lake: Lake,
    constants: Constants = DEFAULT,
    semantic: Semantic | None = None,
    postings: Postings | None = None,
    kept: Kept | None = None,
) -> tuple[Edges, Kept]:
    """Score everything in a lake that may be a reference; the same with what was kept, or without.

    The second part is for the next time.
    """
    postings = postings or Postings.of_lake(lake)
    values = surprise(lake, constants, postings)
    fresh = np.ones(len(lake), dtype=np.bool_)
    if kept is not None:
        fresh = ~(values.rare <= kept.rare + SLACK)
    if kept is None or np.count_nonzero(fresh) > _MOST_FRESH * len(lake):
        fresh[:] = True
        base = values.rare
    else:
        base = np.where(fresh, values.rare, kept.rare)
    evidence = Evidence(lake, values, semantic, base + SLACK)

    def hope(child: Ints, parent: Ints) -> Flags:
        return local_odds(evidence.at_best(child, parent), constants) > constants.least

    if kept is None or fresh.all():
        counted = find_candidates(lake, values.telling, hope)
    else:
        same = ~(fresh[kept.counted.child] | fresh[kept.counted.parent])
        more = find_fresh(lake, values.telling, fresh, postings, hope)
        counted = concatenate([kept.counted.take(same), more])
    counted = counted.take(np.lexsort((counted.parent, counted.child)))
    found = evidence.of(counted)
    odds = local_odds(found, constants)
    alive = odds > constants.least
    edges = settle(lake, counted.take(alive), found.take(alive), odds[alive], constants)
    return edges, Kept(counted, base)


def local_scores(lake: Lake, found: Candidates, constants: Constants = DEFAULT) -> Floats:
    """What candidates come to each by itself, without a look at their rivals."""
    odds = local_odds(Evidence(lake, surprise(lake, constants)).of(found), constants)
    scores: Floats = 1 / (1 + np.exp(-odds))
    return scores


def rivals(lake: Lake, found: Candidates, rank: Floats, constants: Constants) -> Floats:
    """The weight of the edges that exclude each edge, in equal rivals.

    A child column has one parent. And a parent has one child table of a given name: two `orders`
    that point to one `customers` come from two databases.
    """
    weight = constants.sharp * rank
    things = Coded.of([entity(table.name) for table in lake.ids]).code
    table = lake.table[found.child]
    claim = found.parent * (int(things.max(initial=0)) + 1) + things[table]
    one_parent = _others(weight, found.child, found.child * len(lake) + found.parent)
    return one_parent + _others(weight, claim, claim * len(lake.ids) + table)


def _others(weight: Floats, group: Ints, mine: Ints) -> Floats:
    """Per edge, the summed exp(weight) of its group less its own kind, relative to its own."""
    everyone, own = _log_sum(weight, group), _log_sum(weight, mine)
    rest = np.log(np.maximum(1 - np.exp(np.minimum(own - everyone, 0)), 1e-15)) + everyone
    relative: Floats = np.exp(np.minimum(rest - weight, 4))
    return relative


def _log_sum(values: Floats, group: Ints) -> Floats:
    """ln of the sum of exp(values) over each entry's group."""
    _, of = np.unique(group, return_inverse=True)
    top = np.full(int(of.max(initial=-1)) + 1, -np.inf)
    np.maximum.at(top, of, values)
    total: Floats = np.log(np.bincount(of, np.exp(values - top[of])))[of] + top[of]
    return total


class Databases:
    """Latent databases: sets of tables joined by sure edges, none with two tables of one name."""

    def __init__(self, names: Sequence[str]) -> None:
        self._up = list(range(len(names)))
        self._names = [{name} for name in names]
        self._first = Coded.of(names).code

    def find(self, table: int) -> int:
        """The set a table is in, by one of its tables."""
        while self._up[table] != table:
            self._up[table] = self._up[self._up[table]]
            table = self._up[table]
        return table

    def clash(self, one: int, other: int) -> bool:
        """Whether joining two tables would put two tables of one name into one set."""
        one, other = self.find(one), self.find(other)
        return one != other and not self._names[one].isdisjoint(self._names[other])

    def clashes(self, one: Ints, other: Ints) -> Flags:
        """The same for many pairs of tables."""
        sets = np.array([self.find(table) for table in range(len(self._up))], dtype=np.int64)
        one, other = sets[one], sets[other]
        found: Flags = (one != other) & (self._first[one] == self._first[other])
        # Two tables by themselves clash by their one name; only larger sets need a closer look.
        single = np.bincount(sets, minlength=len(sets)) == 1
        more = np.flatnonzero(~(single[one] & single[other]))
        pairs, back = np.unique(one[more] * len(sets) + other[more], return_inverse=True)
        looked = [self.clash(pair // len(sets), pair % len(sets)) for pair in pairs.tolist()]
        found[more] = np.array(looked, dtype=np.bool_)[back]
        return found

    def join(self, one: int, other: int) -> bool:
        """Join two tables' sets, unless they are one or would clash; says whether it did."""
        if self.clash(one, other):
            return False
        one, other = self.find(one), self.find(other)
        if one == other:
            return False
        if len(self._names[one]) < len(self._names[other]):
            one, other = other, one
        self._up[other] = one
        self._names[one] |= self._names[other]
        return True


def settle(
    lake: Lake,
    found: Candidates,
    evidence: Features,
    odds: Floats,
    constants: Constants = DEFAULT,
) -> Edges:
    """Score every candidate in view of the others (steps 3 and 4 above)."""
    databases = Databases([" ".join(words(table.name)) for table in lake.ids])
    left, right = lake.table[found.child], lake.table[found.parent]
    tables = len(lake.ids)
    low, high = np.minimum(left, right), np.maximum(left, right)
    pairs, pair = np.unique(low * tables + high, return_inverse=True)
    rank = odds + constants.exact * evidence.exact
    while True:
        blocked = databases.clashes(pairs // tables, pairs % tables)[pair]
        wall = constants.clash * blocked
        weight = np.round(rivals(lake, found, rank - wall, constants), 9)
        total = np.round(odds - wall - constants.rival * weight, 9)
        score = 1 / (1 + np.exp(-np.clip(total, -700, 700)))
        sure = np.flatnonzero((score > 0.5) & (weight < constants.clear))
        sure = sure[np.lexsort((_by_name(lake, found.take(sure)), -score[sure]))]
        grown = [databases.join(int(left[edge]), int(right[edge])) for edge in sure]
        if not any(grown):
            return Edges(found, evidence, odds, weight, blocked, score, rank)


def _by_name(lake: Lake, found: Candidates) -> Ints:
    """The place of each edge in the order of its names, which does not depend on ids."""
    names = [
        (lake.ids[lake.table[p]].name, lake.ids[lake.table[c]].name, lake.name[c], lake.name[p])
        for c, p in zip(found.child.tolist(), found.parent.tolist(), strict=True)
    ]
    places = {name: place for place, name in enumerate(sorted(set(names)))}
    return np.array([places[name] for name in names], dtype=np.int64)
