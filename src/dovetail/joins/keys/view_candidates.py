"""Candidates for joins through a transform: pairs that names or values speak for, counted.

A pair is likely if names or values would speak for it with values as rare as may be; that depends
on its two columns alone. A candidate is one for which they speak with values as rare as they are,
and whose parent holds nearly all rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dovetail.joins.column_arrays import (
    ColumnArrays,
    Flags,
    Floats,
    Ints,
    found_in,
    sorted_distinct,
)
from dovetail.joins.inclusion.candidates import Candidates, concatenate, find_candidates
from dovetail.joins.inclusion.count_shared import count_shared
from dovetail.joins.keys.view_holders import ViewHolders
from dovetail.joins.keys.view_pairs import FreshPairs, ViewPairs, may_be_parents, not_dense
from dovetail.joins.keys.views import FamilyViews, Views
from dovetail.joins.naming.name_match import NameMatch
from dovetail.joins.scoring.features import Features, PairFeatures, local_logits
from dovetail.joins.scoring.value_information import (
    ValueInformation,
    information_of,
    value_information,
)
from dovetail.joins.scoring.weights import Weights
from dovetail.joins.value_index.postings import Postings

# From this Jaccard similarity on two keys hold the same things.
SAME = 0.9
# How much a name, or values, must say.
_LEAST_NAME, _LEAST_VALUE = 0.55, 0.5
# A likeness of naming conventions that speaks neither for nor against.
_NEUTRAL = 0.5
# Likely pairs of a family that are kept at most.
_MOST_PAIRS = 1 << 20
# With a greater share of columns whose keys are not known all pairs are looked for.
_MOST_SEEKING = 0.1

_NOTHING = np.empty(0, dtype=np.int64)
_NO_CANDIDATES = Candidates(*(_NOTHING,) * 4)

# Columns, and the keys beside them.
Pairs = tuple[Ints, Ints]


@dataclass(frozen=True, slots=True)
class KnownPairs:
    """The pairs that were likely before, by the numbers of now, and which columns are fresh."""

    pairs: ViewPairs
    fresh: Flags


@dataclass(frozen=True, slots=True)
class WeighedCandidates:
    """Candidates among some columns under a family of transforms, with their features.

    `likely` are the pairs, by the numbers of all columns, to be known next time; None if these are
    too many.
    """

    views: Views
    found: Candidates
    features: Features
    likely: Pairs | None


@dataclass(frozen=True, slots=True)
class ViewSearch:
    """Looks for candidates among the columns under one family of transforms.

    `conventions` are those of all tables by their names; `children` flags the columns, among all,
    that have no parent yet.
    """

    family: FamilyViews
    postings: Postings
    weights: Weights
    conventions: Floats
    children: Flags

    def all(self) -> WeighedCandidates:
        """All candidates."""
        views = self.family.of(self.family.sharing(self.postings))
        arrays, parents = views.arrays, may_be_parents(views, self.weights)
        if not parents.any():
            return self._weighed(views, self._unweighed(views), _NO_CANDIDATES, _Likely())
        judge = self._judge(views, value_information(arrays, self.weights))
        seen = _Likely()

        def within_bound(child: Ints, parent: Ints) -> Flags:
            likely = np.flatnonzero(judge.likely(child, parent))
            able = judge.able(child[likely], parent[likely])
            seen.add(child[likely], parent[likely], able)
            now = np.zeros(len(child), dtype=np.bool_)
            now[likely] = able
            return now

        children, changed = self.children[views.column], views.changed
        parts = [
            find_candidates(arrays, judge.information.distinctive, within_bound, None, chosen)
            for chosen in ((children & changed, parents), (children & ~changed, parents & changed))
            if chosen[0].any() and chosen[1].any()
        ]
        found = concatenate(parts)
        return self._weighed(views, judge, found.take(_order(found.child, found.parent)), seen)

    def updated(self, known: KnownPairs, number: int) -> WeighedCandidates | None:
        """The same from the pairs known of the family of a number; None if too little is known."""
        looked = known.pairs.looked[number]
        seeking = self.children & (known.fresh | ~looked)
        few = np.count_nonzero(seeking) <= _MOST_SEEKING * len(seeking)
        if not known.pairs.complete[number] or not few:
            return None
        holders = ViewHolders(self.family, self.postings)
        fresh = FreshPairs(self.family, holders, self.postings, self.weights)
        more = self._likely(fresh.find(known.fresh, seeking, self.children))
        child, parent = known.pairs.of_family(number)
        still = self.children[child]
        child, parent = np.append(child[still], more[0]), np.append(parent[still], more[1])
        order = _order(child, parent)
        views, child, parent = self._views(child[order], parent[order])
        judge = self._judge(
            views, information_of(views.arrays, self.weights, holders.commonness(views))
        )
        able = judge.able(child, parent)
        seen = _Likely()
        seen.add(child, parent, able)
        child, parent = child[able], parent[able]
        counted = count_shared(views.arrays, child, views.arrays.value_hashes, parent)
        found = Candidates(child, parent, *counted)
        enough = found.rows >= views.arrays.thresholds.rows * views.arrays.filled[child]
        return self._weighed(views, judge, found.take(enough), seen)

    def _likely(self, pairs: Pairs) -> Pairs:
        """Those of some pairs that are likely: by name, or distinctive, and within their bound."""
        views, child, parent = self._views(*pairs)
        judge = self._unweighed(views)
        distinctive = judge.information.distinctive
        able = distinctive[child] & distinctive[parent]
        rest = np.flatnonzero(~able)
        named = NameMatch(views.arrays, sorted_distinct(parent[rest]))
        able[rest] = named(child[rest], parent[rest])
        able[able] = judge.likely(child[able], parent[able])
        return views.column[child[able]], views.column[parent[able]]

    def _views(self, child: Ints, parent: Ints) -> tuple[Views, Ints, Ints]:
        """The columns of some pairs by themselves, and the pairs by their places there."""
        columns = sorted_distinct(np.append(child, parent))
        at = np.searchsorted(columns, child), np.searchsorted(columns, parent)
        return self.family.of(columns, lazy=True), *at

    def _judge(self, views: Views, information: ValueInformation) -> _Judge:
        bound = np.full(len(views.column), np.inf)
        features = PairFeatures(views.arrays, information, None, bound, self.conventions)
        return _Judge(views.arrays, information, features, self.weights)

    def _unweighed(self, views: Views) -> _Judge:
        """One that does not know how rare values are, and need not."""
        rare = np.zeros(len(views.column))
        return self._judge(views, information_of(views.arrays, self.weights, rare))

    def _weighed(
        self, views: Views, judge: _Judge, found: Candidates, seen: _Likely
    ) -> WeighedCandidates:
        """Candidates with their features, without those for which these say too little."""
        features = judge.weighed(found)
        able = _says_enough(features.name, features.value, views.arrays.number[found.child])
        likely = seen.without_failed(found, len(views.column))
        if likely is not None:
            likely = views.column[likely[0]], views.column[likely[1]]
        return WeighedCandidates(views, found.take(able), features.take(able), likely)


@dataclass(frozen=True, slots=True)
class _Judge:
    """Says of pairs of columns whether names or values may speak for them."""

    arrays: ColumnArrays
    information: ValueInformation
    features: PairFeatures
    weights: Weights

    def likely(self, child: Ints, parent: Ints) -> Flags:
        """Whether they may, with values as rare as may be."""
        return self._within(self.features.upper_bounds(child, parent), child, parent)

    def able(self, child: Ints, parent: Ints) -> Flags:
        """Whether they may, with values as rare as they are."""
        return self._within(self.features.upper_bounds_now(child, parent), child, parent)

    def _within(self, best: Features, child: Ints, parent: Ints) -> Flags:
        bound = local_logits(best, self.weights) > self.weights.least
        # Equal keys count for more than their rarity says, so their bound is open.
        distinct = self.arrays.distinct
        same = self.arrays.key[child] & (distinct[child] >= SAME * distinct[parent])
        value = np.where(same, np.maximum(best.value, self._sparse(parent)), best.value)
        able: Flags = (bound | same) & _says_enough(best.name, value, self.arrays.number[child])
        return able

    def weighed(self, found: Candidates) -> Features:
        """Features that count two keys of the same values for what their sparsity says.

        How many other tables hold the values says nothing then: they refer to one of the two.
        """
        features = self.features.of(found)
        own, other = self.arrays.distinct[found.child], self.arrays.distinct[found.parent]
        jaccard = found.shared / np.maximum(own + other - found.shared, 1)
        same = self.arrays.key[found.child] & (jaccard >= SAME)
        raised = np.maximum(features.value, self._sparse(found.parent))
        # Keys that look different come from different systems, which name things differently.
        convention = np.maximum(features.convention, _NEUTRAL)
        value = np.where(same, raised, features.value)
        return replace(features, value=value, convention=convention)

    def _sparse(self, parent: Ints) -> Floats:
        """What the sparsity of a key says, whoever else holds its values."""
        found: Floats = np.clip(2 * self.information.sparsity[parent], 0, 1)
        return found


class _Likely:
    """Likely pairs as they are found; those that were counted are known to be `able`."""

    def __init__(self) -> None:
        self._parts: list[tuple[Ints, Ints, Flags]] = []
        self._size = 0

    def add(self, child: Ints, parent: Ints, able: Flags) -> None:
        """Take some pairs in, as long as there are not too many."""
        self._size += len(child)
        if self._size <= _MOST_PAIRS:
            self._parts.append((child, parent, able))
        else:
            self._parts.clear()

    def without_failed(self, found: Candidates, width: int) -> Pairs | None:
        """The pairs in order but for those that were counted and not found; None if too many."""
        if self._size > _MOST_PAIRS:
            return None
        child, parent, able = (
            np.concatenate([empty, *(part[place] for part in self._parts)])
            for place, empty in enumerate((_NOTHING, _NOTHING, np.empty(0, dtype=np.bool_)))
        )
        left = ~able | found_in(child * width + parent, found.child * width + found.parent)
        child, parent = child[left], parent[left]
        order = _order(child, parent)
        return child[order], parent[order]


def _order(child: Ints, parent: Ints) -> Ints:
    return np.lexsort((parent, child))


def _says_enough(name: Floats, value: Floats, number: Flags) -> Flags:
    """Whether names or values say enough for a pair of columns, flagged where they are numbers."""
    enough: Flags = np.maximum(name / _LEAST_NAME, value / _LEAST_VALUE) >= 1
    return enough & not_dense(value, number)
