"""Candidates in view of each other: competing ones share the odds, and databases take shape.

A column refers to one key, and no database holds two tables of one name. So candidates that
exclude each other cost each other odds, and of look-alike databases the better is preferred, or the
doubt is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dovetail.arrays import Encoded, Flags, Floats, Ints, firsts, sorted_distinct
from dovetail.components import Components
from dovetail.joins.candidates import Candidates
from dovetail.joins.columns import ColumnArrays
from dovetail.joins.features import DEFAULT_WEIGHTS, Features, Weights, ranks
from dovetail.names.references import ROLE
from dovetail.names.table_name import TableName, entity
from dovetail.names.words import plain, words

# The share of columns that versions of one table have in common, of those of the one with fewer and
# of the other, and nats by which a version of the child's own table yields to every other parent.
_ALIKE, _OF_MORE, _VERSION = 0.7, 0.6, 20.0
# The share of the rows found in a satellite that its master must hold.
_AS_MANY = 0.95
# How far words must name a parent for others that nothing names to be none, and what values say
# that speak for themselves.
_NAMED, _PROVED = 0.5, 0.5
# Tables that make a database.
_SEVERAL = 3


class LatentDatabases:
    """Disjoint sets of tables joined by sure edges, none with two tables of one name.

    No database holds two tables of one name, so an edge that would force that is wrong.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._sets = Components(range(len(names)))
        self._names = [{name} for name in names]
        self._code = Encoded.of(names).codes

    def clash(self, left: int, right: int) -> bool:
        """Whether joining two tables would put two tables of one name into one set."""
        left, right = self._sets.root(left), self._sets.root(right)
        return left != right and not self._names[left].isdisjoint(self._names[right])

    def clashes(self, left: Ints, right: Ints) -> Flags:
        """The same for many pairs of tables."""
        sets = np.array([self._sets.root(t) for t in range(len(self._code))], dtype=np.int64)
        left, right = sets[left], sets[right]
        clashing_pairs: Flags = (left != right) & (self._code[left] == self._code[right])
        # Two tables by themselves clash by their one name; only larger sets need a closer look.
        single = np.bincount(sets, minlength=len(sets)) == 1
        more = np.flatnonzero(~(single[left] & single[right]))
        pairs, back = np.unique(left[more] * len(sets) + right[more], return_inverse=True)
        clashing = [self.clash(pair // len(sets), pair % len(sets)) for pair in pairs.tolist()]
        clashing_pairs[more] = np.array(clashing, dtype=np.bool_)[back]
        return clashing_pairs

    def near(self, left: Ints, right: Ints) -> tuple[Floats, Floats]:
        """1 for pairs of tables of one set; 1 for pairs of two sets, both of several tables."""
        sets = np.array([self._sets.root(t) for t in range(len(self._code))], dtype=np.int64)
        several = np.bincount(sets, minlength=len(sets)) >= _SEVERAL
        left, right = sets[left], sets[right]
        near = (left == right).astype(np.float64)
        return near, (1 - near) * (several[left] & several[right])

    def join(self, left: int, right: int) -> bool:
        """Join two tables' sets, unless they are one or would clash; says whether it did."""
        if self.clash(left, right):
            return False
        left, right = self._sets.root(left), self._sets.root(right)
        if left == right:
            return False
        if len(self._names[left]) < len(self._names[right]):
            left, right = right, left
        self._sets.unite(left, right)
        self._names[left] |= self._names[right]
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
    candidates: Candidates,
    features: Features,
    logit: Floats,
    rung: Floats,
    weights: Weights = DEFAULT_WEIGHTS,
) -> ScoredEdges:
    """Score every candidate in view of the others, given its logit by itself, and its rung.

    Slices of one table do not refer to each other, whatever numbers they have in common. Sure
    edges without competition form latent databases. What would put two tables of one name into
    one of them is blocked, which decides between competitors that remain; until nothing grows.
    """
    databases = LatentDatabases([" ".join(words(table.name)) for table in arrays.ids])
    left, right = arrays.table[candidates.child], arrays.table[candidates.parent]
    tables = len(arrays.ids)
    low, high = np.minimum(left, right), np.maximum(left, right)
    pairs, pair = np.unique(low * tables + high, return_inverse=True)
    rank = ranks(features, logit, rung, weights) - weights.complete * lacking(arrays, candidates)
    # Between systems the longer list is the master, whatever the other one lacks of it.
    short = weights.complete * features.orphan * bool(arrays.thresholds.sources)
    kept = (weights.master - weights.original) * features.copy
    backward = backwards(arrays, candidates, rank - short + kept)
    versions = same_thing(arrays, left, right)
    slots = [bool(TableName.parse(table.name).slots) for table in arrays.ids]
    dated = np.array(slots, dtype=np.bool_)
    slices = versions & dated[left] & dated[right]
    if arrays.thresholds.sources:
        own = np.where(versions | backward, -np.inf, rank)
        versions |= satellites(arrays, candidates, own, logit, features, rung)
        versions |= unnamed(candidates, features)
    order = _name_order(arrays, candidates)
    levels = list(weights.levels)
    while True:
        blocked = databases.clashes(pairs // tables, pairs % tables)[pair]
        if arrays.thresholds.sources:
            blocked[:] = False
            near = apart = np.zeros(len(rank))
        else:
            near, apart = databases.near(left, right)
        penalty = weights.clash * blocked + weights.turned * (backward | slices)
        nearer = rank - penalty + weights.source * near
        competitors = np.round(competition(arrays, candidates, nearer, versions, weights), 9)
        total = logit - penalty - weights.competitor * competitors
        total = np.round(total - weights.apart * apart * (1 - features.value), 9)
        score = 1 / (1 + np.exp(-np.clip(total, -700, 700)))
        sure = np.flatnonzero((score > levels[0]) & (competitors < weights.clear))
        sure = sure[np.lexsort((order[sure], -score[sure]))]
        # Two tables that an edge did not join, no later edge between them does.
        sure = sure[np.sort(np.unique(pair[sure], return_index=True)[1])]
        ends = zip(left[sure].tolist(), right[sure].tolist(), strict=True)
        grown = [databases.join(one, other) for one, other in ends]
        if not any(grown) and len(levels) == 1:
            return ScoredEdges(candidates, features, logit, competitors, blocked, score, rank)
        if not any(grown):
            levels.pop(0)


def lacking(arrays: ColumnArrays, candidates: Candidates) -> Floats:
    """The share of a column's rows that each candidate lacks and another of its candidates has: a
    master is the most complete."""
    share = candidates.rows / np.maximum(arrays.filled[candidates.child], 1)
    most = np.zeros(len(arrays))
    np.maximum.at(most, candidates.child, share)
    short: Floats = most[candidates.child] - share
    return short


def same_thing(arrays: ColumnArrays, left: Ints, right: Ints) -> Flags:
    """Which pairs of tables are versions, parts or copies of one: of one source, about the same by
    their names, with mostly the same columns. What they share is no reference."""
    parsed = [TableName.parse(table.name) for table in arrays.ids]
    about = Encoded.of([(t.source, p.stem) for t, p in zip(arrays.ids, parsed, strict=True)]).codes
    columns: list[set[str]] = [set() for _ in arrays.ids]
    for table, name in zip(arrays.table.tolist(), arrays.name, strict=True):
        columns[table].add(plain(name))
    same = np.zeros(len(left), dtype=np.bool_)
    near = np.flatnonzero(about[left] == about[right])
    for at in near.tolist():
        one, other = columns[int(left[at])], columns[int(right[at])]
        less, more = sorted((len(one), len(other)))
        same[at] = len(one & other) >= max(_ALIKE * less, _OF_MORE * more)
    return same


def backwards(arrays: ColumnArrays, candidates: Candidates, rank: Floats) -> Flags:
    """Of two keys that hold each other's values, which way round is the weaker: only one of them is
    the master, and `rank` has what each lacks of the other. Of equals the one with fewer values
    refers to the other, then the one whose table comes later by name."""
    child, parent, count = candidates.child, candidates.parent, len(arrays)
    forward, turned = child * count + parent, parent * count + child
    order = np.argsort(forward)
    at = np.searchsorted(forward[order], turned)
    at[at == len(order)] = 0
    other = order[at] if len(order) else order
    both = np.flatnonzero(forward[other] == turned)
    flags = np.zeros(len(child), dtype=np.bool_)
    own, turn = np.round(rank[both], 9), np.round(rank[other[both]], 9)
    names = _alphabetical([table.name for table in arrays.ids])
    left, right = (
        arrays.distinct[side] * len(names) - names[arrays.table[side]]
        for side in (child[both], parent[both])
    )
    flags[both] = (own < turn) | ((own == turn) & (left > right))
    return flags


def satellites(
    arrays: ColumnArrays,
    candidates: Candidates,
    rank: Floats,
    logit: Floats,
    features: Features,
    rung: Floats,
) -> Flags:
    """Which candidates lead to a column that itself refers to the master of the child's domain.

    A member of a domain joins its master, not the nearest column that happens to hold its values:
    where the parent's own best parent holds the child's rows too, is of no other system than the
    parent is, writes keys as the parent does, and the child is named after it as far, or the parent
    is made from others, it is the master of both.
    """
    child, parent, count = candidates.child, candidates.parent, len(arrays)
    order = np.lexsort((parent, -rank, child))
    order = order[firsts(child[order])]
    order = order[(logit[order] > 0) & np.isfinite(rank[order])]
    master = np.full(count, -1, dtype=np.int64)
    master[child[order]] = parent[order]
    pairs = child * count + parent
    by_pair = np.argsort(pairs)
    wanted = child * count + master[parent]
    at = np.searchsorted(pairs[by_pair], wanted)
    at[at == len(by_pair)] = 0
    other = by_pair[at] if len(by_pair) else by_pair
    source = Encoded.of([table.source for table in arrays.ids]).codes[arrays.table]
    near = source[master[parent]] == source[parent]
    holds = candidates.rows[other] >= _AS_MANY * candidates.rows
    flags: Flags = (master[parent] >= 0) & (pairs[other] == wanted) & near & holds
    flags &= (logit[other] > 0) | (logit[other] >= logit)
    named = (features.name[other] >= features.name) | (features.copy > features.copy[other])
    return flags & named & (rung[other] <= rung)


def unnamed(candidates: Candidates, features: Features) -> Flags:
    """Which candidates nothing names and values hardly tell, where words name another one."""
    named = np.zeros(int(candidates.child.max(initial=-1)) + 1)
    words = np.where(features.name == ROLE, 0.0, features.name)
    np.maximum.at(named, candidates.child, words)
    silent: Flags = (features.name == 0) & (features.value < _PROVED)
    return silent & (named[candidates.child] >= _NAMED)


def competition(
    arrays: ColumnArrays, candidates: Candidates, rank: Floats, versions: Flags, weights: Weights
) -> Floats:
    """The weight of the candidates that exclude each candidate, in equal competitors.

    A child column has one parent. And a parent has one child table of a given name: two `orders`
    that point to one `customers` come from two databases.
    """
    weight = weights.sharp * np.where(versions, rank - _VERSION, rank)
    entities = Encoded.of([entity(table.name) for table in arrays.ids]).codes
    table = arrays.table[candidates.child]
    claim = candidates.parent * (int(entities.max(initial=0)) + 1) + entities[table]
    one_parent = _others(
        weight, candidates.child, candidates.child * len(arrays) + candidates.parent
    )
    if arrays.thresholds.sources:  # the sources are the databases
        return one_parent
    return one_parent + _others(weight, claim, claim * len(arrays.ids) + table)


def _others(weight: Floats, group: Ints, own_group: Ints) -> Floats:
    """Per edge, the summed exp(weight) of its group less its own kind, relative to its own."""
    everyone, own = _log_sum(weight, group), _log_sum(weight, own_group)
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


def _name_order(arrays: ColumnArrays, candidates: Candidates) -> Ints:
    """The place of each edge in the order of its names, which does not depend on ids."""
    tables = _alphabetical([table.name for table in arrays.ids])
    used = sorted_distinct(np.concatenate([candidates.child, candidates.parent]))
    columns = np.zeros(len(arrays), dtype=np.int64)
    columns[used] = _alphabetical([arrays.name[column] for column in used.tolist()])
    child, parent = arrays.table[candidates.child], arrays.table[candidates.parent]
    names = (columns[candidates.parent], columns[candidates.child], tables[child], tables[parent])
    order = np.lexsort(names)
    new = np.zeros(len(candidates), dtype=np.int64)
    for part in names:
        new[1:] |= part[order][1:] != part[order][:-1]
    ranked = np.empty(len(candidates), dtype=np.int64)
    ranked[order] = np.cumsum(new)
    return ranked


def _alphabetical(names: Sequence[str]) -> Ints:
    """The place of each name in the order of all."""
    encoded = Encoded.of(names)
    order = sorted(range(len(encoded.dictionary)), key=encoded.dictionary.__getitem__)
    places = np.empty(len(order), dtype=np.int64)
    places[order] = np.arange(len(order))
    found: Ints = places[encoded.codes]
    return found
