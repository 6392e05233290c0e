"""Candidates for joins through a transform: pairs that names or values speak for, counted.

A pair is likely if names or values would speak for it with values as rare as may be; that depends
on its two columns alone. A candidate is one for which they speak with values as rare as they are,
and whose parent holds nearly all rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dovetail.arrays import Flags, Floats, Ints, sorted_distinct
from dovetail.joins.column_arrays import ColumnArrays
from dovetail.joins.inclusion.candidate_search import EachPair
from dovetail.joins.inclusion.candidates import Candidates, concatenate, find_candidates
from dovetail.joins.inclusion.count_shared import count_shared
from dovetail.joins.keys.view_holders import ViewHolders
from dovetail.joins.keys.view_pairs import FreshPairs, ViewPairs, may_be_parents, not_dense
from dovetail.joins.keys.views import FamilyViews, Views
from dovetail.joins.scoring.features import Features, PairFeatures, local_logits
from dovetail.joins.scoring.value_information import (
    ValueInformation,
    information_of,
    value_information,
)
from dovetail.joins.scoring.weights import Weights
from dovetail.joins.value_index.postings import Postings
from dovetail.names.lookup import NameMatch

# From this Jaccard similarity on two keys hold the same things.
SAME = 0.9
# How much a name, or values, must say.
_LEAST_NAME, _LEAST_VALUE = 0.55, 0.5
# A likeness of naming conventions that speaks neither for nor against.
_NEUTRAL = 0.5
# Likely pairs of a family that are kept at most, and that are counted though they cannot join yet.
_MOST_PAIRS, _MOST_COUNTED = 1 << 20, 1 << 15
# A transform must find more rows than this share of them that are found as they are.
_ALREADY = 0.98
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
            none = _Likely(self.family, views)
            return self._weighed(views, self._unweighed(views), _NO_CANDIDATES, none)
        judge = self._judge(views, value_information(arrays, self.weights))
        seen = _Likely(self.family, views)

        def within_bound(child: Ints, parent: Ints) -> Flags:
            likely = np.flatnonzero(judge.likely(child, parent))
            able = judge.able(child[likely], parent[likely])
            seen.add(child[likely], parent[likely], able)
            now = np.zeros(len(child), dtype=np.bool_)
            now[likely] = able
            return now

        children, changed = self.children[views.column], views.changed
        parts = [
            find_candidates(arrays, judge.information.distinctive, EachPair(within_bound), chosen)
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
        seen = _Likely(self.family, views)
        seen.add(child, parent, able)
        return self._weighed(views, judge, counted(views, child[able], parent[able]), seen)

    def _likely(self, pairs: Pairs) -> Pairs:
        """Those of some pairs that are likely: by name, or distinctive, and within their bound."""
        views, child, parent = self._views(*pairs)
        judge = self._unweighed(views)
        distinctive = judge.information.distinctive
        able = distinctive[child] & distinctive[parent]
        rest = np.flatnonzero(~able)
        arrays, keys = views.arrays, sorted_distinct(parent[rest])
        named = NameMatch.of(arrays.name, arrays.table, arrays.table_names, keys)
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
        features = PairFeatures.of_columns(views.arrays, information, None, bound, self.conventions)
        return _Judge(views.arrays, information, features, self.weights)

    def _unweighed(self, views: Views) -> _Judge:
        """One that does not know how rare values are, and need not."""
        rare = np.zeros(len(views.column))
        return self._judge(views, information_of(views.arrays, self.weights, rare))

    def _weighed(
        self, views: Views, judge: _Judge, found: Candidates, seen: _Likely
    ) -> WeighedCandidates:
        """Candidates that need a transform, with their features, if these say enough."""
        likely = seen.left(found)
        found = found.take(needed(self.family.arrays, views, found))
        features = judge.weighed(found)
        able = _says_enough(features.name, features.value, views.arrays.number[found.child])
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
    """Likely pairs of some columns as they are found; the `able` ones are counted elsewhere."""

    def __init__(self, family: FamilyViews, views: Views) -> None:
        self._family, self._views = family, views
        self._parts: list[tuple[Ints, Ints, Flags]] = []
        self._size = 0

    def add(self, child: Ints, parent: Ints, able: Flags) -> None:
        """Take some pairs in, as long as there are not too many."""
        self._size += len(child)
        if self._size <= _MOST_PAIRS:
            self._parts.append((child, parent, able))
        else:
            self._parts.clear()

    def left(self, found: Candidates) -> Pairs | None:
        """The pairs, by the numbers of all columns, without those whose counts rule them out.

        They come in order. `found` are the able ones that do not; None if there are too many.
        """
        if self._size > _MOST_PAIRS:
            return None
        child, parent, able = (
            np.concatenate([empty, *(part[place] for part in self._parts)])
            for place, empty in enumerate((_NOTHING, _NOTHING, np.empty(0, dtype=np.bool_)))
        )
        order = _order(child, parent)
        child, parent, able = child[order], parent[order], able[order]
        child, parent = child[~able], parent[~able]
        if len(child) <= _MOST_COUNTED:  # so that how rare their values are need not be known
            rest = counted(self._views, child, parent)
            rest = rest.take(needed(self._family.arrays, self._views, rest))
            child, parent = rest.child, rest.parent
        found = found.take(needed(self._family.arrays, self._views, found))
        child, parent = np.append(child, found.child), np.append(parent, found.parent)
        order, column = _order(child, parent), self._views.column
        return column[child[order]], column[parent[order]]


def counted(views: Views, child: Ints, parent: Ints) -> Candidates:
    """Those of some pairs, in order, whose parent holds enough of the child's rows."""
    arrays = views.arrays
    found = Candidates(child, parent, *count_shared(arrays, child, arrays.value_hashes, parent))
    return found.take(found.rows >= arrays.thresholds.rows * arrays.filled[child])


def needed(every: ColumnArrays, views: Views, found: Candidates) -> Flags:
    """Which candidates find more rows than the two columns do as they are."""
    child, parent = views.column[found.child], views.column[found.parent]
    _, as_is = count_shared(every, child, every.value_hashes, parent)
    more: Flags = as_is < _ALREADY * found.rows
    return more


def _order(child: Ints, parent: Ints) -> Ints:
    return np.lexsort((parent, child))


def _says_enough(name: Floats, value: Floats, number: Flags) -> Flags:
    """Whether names or values say enough for a pair of columns, flagged where they are numbers."""
    enough: Flags = np.maximum(name / _LEAST_NAME, value / _LEAST_VALUE) >= 1
    return enough & not_dense(value, number)
