"""Candidates in view of each other: competing ones share the odds, and databases take shape.

A column refers to one key, and no database holds two tables of one name. So candidates that
exclude each other cost each other odds, and of look-alike databases the better is preferred, or the
doubt is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dovetail.arrays import Encoded, Flags, Floats, Ints, sorted_distinct
from dovetail.components import Components
from dovetail.joins.candidates import Candidates
from dovetail.joins.columns import ColumnArrays
from dovetail.joins.features import DEFAULT_WEIGHTS, Features, Weights, ranks
from dovetail.names.table_name import entity
from dovetail.names.words import words


class LatentDatabases:
    """Disjoint sets of tables joined by sure edges, none with two tables of one name.

    No database holds two tables of one name, so an edge that would force that is wrong.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._sets = Components(range(len(names)))
        self._names = [{name} for name in names]
        self._code = Encoded.of(names).codes

    def clash(self, one: int, other: int) -> bool:
        """Whether joining two tables would put two tables of one name into one set."""
        one, other = self._sets.root(one), self._sets.root(other)
        return one != other and not self._names[one].isdisjoint(self._names[other])

    def clashes(self, one: Ints, other: Ints) -> Flags:
        """The same for many pairs of tables."""
        sets = np.array([self._sets.root(t) for t in range(len(self._code))], dtype=np.int64)
        one, other = sets[one], sets[other]
        found: Flags = (one != other) & (self._code[one] == self._code[other])
        # Two tables by themselves clash by their one name; only larger sets need a closer look.
        single = np.bincount(sets, minlength=len(sets)) == 1
        more = np.flatnonzero(~(single[one] & single[other]))
        pairs, back = np.unique(one[more] * len(sets) + other[more], return_inverse=True)
        clashing = [self.clash(pair // len(sets), pair % len(sets)) for pair in pairs.tolist()]
        found[more] = np.array(clashing, dtype=np.bool_)[back]
        return found

    def join(self, one: int, other: int) -> bool:
        """Join two tables' sets, unless they are one or would clash; says whether it did."""
        if self.clash(one, other):
            return False
        one, other = self._sets.root(one), self._sets.root(other)
        if one == other:
            return False
        if len(self._names[one]) < len(self._names[other]):
            one, other = other, one
        self._sets.unite(one, other)
        self._names[one] |= self._names[other]
        return True


@dataclass(frozen=True, slots=True)
class ScoredEdges:
    """Scored candidates, with all that went into their scores.

    `competitors` is the weight of the competing candidates, in equal ones; `blocked` flags edges
    that would put two tables of one name into one database; `rank` breaks ties.
    """

    candidates: Candidates
    features: Features
    logit: Floats
    competitors: Floats
    blocked: Flags
    score: Floats
    rank: Floats


def score_jointly(
    arrays: ColumnArrays,
    found: Candidates,
    features: Features,
    logit: Floats,
    weights: Weights = DEFAULT_WEIGHTS,
) -> ScoredEdges:
    """Score every candidate in view of the others, given its logit by itself.

    Sure edges without competition form latent databases. What would put two tables of one name into
    one of them is blocked, which decides between competitors that remain; until nothing grows.
    """
    databases = LatentDatabases([" ".join(words(table.name)) for table in arrays.ids])
    left, right = arrays.table[found.child], arrays.table[found.parent]
    tables = len(arrays.ids)
    low, high = np.minimum(left, right), np.maximum(left, right)
    pairs, pair = np.unique(low * tables + high, return_inverse=True)
    rank = ranks(features, logit, weights)
    order = _name_order(arrays, found)
    while True:
        blocked = databases.clashes(pairs // tables, pairs % tables)[pair]
        penalty = weights.clash * blocked
        competitors = np.round(competition(arrays, found, rank - penalty, weights), 9)
        total = np.round(logit - penalty - weights.competitor * competitors, 9)
        score = 1 / (1 + np.exp(-np.clip(total, -700, 700)))
        sure = np.flatnonzero((score > 0.5) & (competitors < weights.clear))
        sure = sure[np.lexsort((order[sure], -score[sure]))]
        # Two tables that an edge did not join, no later edge between them does.
        sure = sure[np.sort(np.unique(pair[sure], return_index=True)[1])]
        ends = zip(left[sure].tolist(), right[sure].tolist(), strict=True)
        grown = [databases.join(one, other) for one, other in ends]
        if not any(grown):
            return ScoredEdges(found, features, logit, competitors, blocked, score, rank)


def competition(arrays: ColumnArrays, found: Candidates, rank: Floats, weights: Weights) -> Floats:
    """The weight of the candidates that exclude each candidate, in equal competitors.

    A child column has one parent. And a parent has one child table of a given name: two `orders`
    that point to one `customers` come from two databases.
    """
    weight = weights.sharp * rank
    entities = Encoded.of([entity(table.name) for table in arrays.ids]).codes
    table = arrays.table[found.child]
    claim = found.parent * (int(entities.max(initial=0)) + 1) + entities[table]
    one_parent = _others(weight, found.child, found.child * len(arrays) + found.parent)
    return one_parent + _others(weight, claim, claim * len(arrays.ids) + table)


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


def _name_order(arrays: ColumnArrays, found: Candidates) -> Ints:
    """The place of each edge in the order of its names, which does not depend on ids."""
    tables = _alphabetical([table.name for table in arrays.ids])
    used = sorted_distinct(np.concatenate([found.child, found.parent]))
    columns = np.zeros(len(arrays), dtype=np.int64)
    columns[used] = _alphabetical([arrays.name[column] for column in used.tolist()])
    child, parent = arrays.table[found.child], arrays.table[found.parent]
    names = (columns[found.parent], columns[found.child], tables[child], tables[parent])
    order = np.lexsort(names)
    new = np.zeros(len(found), dtype=np.int64)
    for part in names:
        new[1:] |= part[order][1:] != part[order][:-1]
    places = np.empty(len(found), dtype=np.int64)
    places[order] = np.cumsum(new)
    return places


def _alphabetical(names: Sequence[str]) -> Ints:
    """The place of each name in the order of all."""
    encoded = Encoded.of(names)
    order = sorted(range(len(encoded.dictionary)), key=encoded.dictionary.__getitem__)
    places = np.empty(len(order), dtype=np.int64)
    places[order] = np.arange(len(order))
    found: Ints = places[encoded.codes]
    return found
