"""Joins through a transform: keys that match once both sides are folded, stripped or cut alike.

The catalog keeps normalized values of columns that a transform changes (`domain/sql.py`);
a column that it would not change does as it is. The search for candidates is that of columns as
they are. A transform widens what matches, so more is asked for than of values that match as they
are: nearly all rows must be found, by names that refer to the parent or by values that chance does
not explain, and every edge costs a nat. A column that has a parent as it is needs none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from dovetail.arrays import Flags, Floats, Ints
from dovetail.catalog.records import KeyView
from dovetail.domain.sql import CASE, DAY, PREFIX, PUNCTUATED, ZEROS
from dovetail.joins.candidate_search import Groups
from dovetail.joins.candidates import (
    Candidates,
    CountedPairs,
    Update,
    concatenate,
    find_candidates,
)
from dovetail.joins.columns import ColumnArrays, ValueSets
from dovetail.joins.counting import count_shared
from dovetail.joins.features import (
    NEUTRAL,
    Features,
    PairFeatures,
    Weights,
    local_logits,
    value_information,
)
from dovetail.joins.sketches import sharing

# Normal forms: transforms that are one function, or agree where a column needs less of it.
FORMS = ((CASE,), (PUNCTUATED,), (ZEROS, PREFIX), (DAY,))
# The share of the child's rows that must be found, and distinct values on both sides, at least.
LEAST_ROWS, _FEWEST = 0.9, 10
# From this Jaccard similarity on two keys hold the same things.
SAME = 0.9
# How much a name, or values, must say.
_LEAST_NAME, _LEAST_VALUE = 0.55, 0.5
# Twice what values of numbers must say by their sparsity: less is a plain sequence of numbers.
LEAST_SPARSE = 0.25
# A rung of the ladder must find more rows than this share of them that a lower one finds.
ENOUGH = 0.98


def normalized_candidates(
    arrays: ColumnArrays,
    normalized: Sequence[KeyView],
    weights: Weights,
    before: Mapping[int, CountedPairs],
) -> tuple[list[WeighedCandidates], dict[int, CountedPairs]]:
    """The candidates of each rung of the ladder above the values as they are, the lowest first.

    The second part of the result, by the number of a rung, may be `before` next time.
    """
    weighed: list[WeighedCandidates] = []
    counted: dict[int, CountedPairs] = {}
    conventions: Floats | None = None
    for number, form in enumerate(FORMS):
        if not any(each.transform in form for each in normalized):
            continue
        if conventions is None:
            conventions = arrays.conventions()
        columns = NormalizedColumns.of(arrays, normalized, form)
        search = TransformSearch(arrays, columns, weights, conventions)
        candidates, counted[number] = search.find(before.get(number))
        weighed.append(candidates)
    return weighed, counted


@dataclass(frozen=True, slots=True)
class NormalizedColumns:
    """Columns in one normal form: those that have values of their own there, and those that share a
    value with one of these as they are."""

    arrays: ColumnArrays
    column: Ints  # the number of each column among all
    transform: Sequence[str]  # the one that changes it, empty where it is as it is

    @property
    def changed(self) -> Flags:
        """Which columns have normalized values of their own."""
        return np.array([bool(name) for name in self.transform], dtype=np.bool_)

    @classmethod
    def of(
        cls, arrays: ColumnArrays, normalized: Sequence[KeyView], form: tuple[str, ...]
    ) -> NormalizedColumns:
        """The columns in a form; `normalized` value sets are numbered after those of columns."""
        columns = int(np.count_nonzero(arrays.children))
        own = {
            each.column: (columns + number, each)
            for number, each in enumerate(normalized)
            if each.transform in form
        }
        sets = arrays.values.numbers.copy()
        sets[list(own)] = [number for number, _ in own.values()]
        as_is = (arrays.distinct >= _FEWEST) & (arrays.number == (ZEROS in form))
        as_is[list(own)] = False
        as_is &= arrays.children | arrays.number  # what is kept in parts has no forms of its own
        others = np.flatnonzero(as_is)
        passes = arrays.values.passes
        shares = sharing(arrays.values.take(others), ValueSets(passes, sets[list(own)]))
        column = np.sort(np.append(others[shares], np.array(list(own), dtype=np.int64)))
        transforms = [own[number][1] if number in own else None for number in column.tolist()]
        values = ValueSets(passes, sets[column])
        under = _in_form(arrays, values, column, transforms, numbers=ZEROS in form)
        return cls(under, column, [each.transform if each else "" for each in transforms])


def _in_form(
    arrays: ColumnArrays,
    values: ValueSets,
    column: Ints,
    normalized: Sequence[KeyView | None],
    *,
    numbers: bool,
) -> ColumnArrays:
    """Some columns by themselves, with their values in a normal form."""
    distinct, filled = values.sizes, arrays.filled[column]
    high = arrays.high[column].copy()
    for at, each in enumerate(normalized):
        if numbers and each is not None:
            high[at] = each.maximum
    thresholds = arrays.thresholds
    return replace(
        arrays,
        table=arrays.table[column],
        position=arrays.position[column],
        name=[arrays.name[number] for number in column.tolist()],
        called=[arrays.called[number] for number in column.tolist()],
        number=np.full(len(column), numbers),
        text=arrays.text[column],
        filled=filled,
        distinct=distinct,
        unique=distinct == filled,
        key=(distinct > 0) & (distinct >= thresholds.unique * filled),
        low=np.where(np.isnan(arrays.low[column]), high, arrays.low[column]),
        high=high,
        values=values,
        period=arrays.period[column],
        codes=arrays.codes[column],
        prefix=[arrays.prefix[number] for number in column.tolist()],
        thresholds=replace(thresholds, rows=max(thresholds.rows, LEAST_ROWS)),
    )


@dataclass(frozen=True, slots=True)
class WeighedCandidates:
    """Candidates by the numbers of all columns, with their features, and the transform of each."""

    candidates: Candidates
    features: Features
    transform: Sequence[str]

    def take(self, chosen: Ints) -> WeighedCandidates:
        """Some of them."""
        transform = [self.transform[at] for at in chosen.tolist()]
        return WeighedCandidates(
            self.candidates.take(chosen), self.features.take(chosen), transform
        )


def together(parts: Sequence[WeighedCandidates]) -> WeighedCandidates:
    """Weighed candidates one after the other."""
    return WeighedCandidates(
        concatenate([part.candidates for part in parts]),
        Features(
            *(
                np.concatenate([getattr(part.features, field.name) for part in parts])
                for field in fields(Features)
            )
        ),
        [name for part in parts for name in part.transform],
    )


@dataclass(frozen=True, slots=True)
class TransformSearch:
    """Looks for candidates among columns in one normal form.

    `every` are all columns as they are, `conventions` those of all tables by their names.
    """

    every: ColumnArrays
    columns: NormalizedColumns
    weights: Weights
    conventions: Floats

    def find(self, before: CountedPairs | None) -> tuple[WeighedCandidates, CountedPairs]:
        """All candidates, and what may be `before` next time, by the numbers of all columns."""
        arrays, column = self.columns.arrays, self.columns.column
        changed, every = self.columns.changed, np.ones(len(column), dtype=np.bool_)
        if before is not None:
            number = np.full(len(self.every), -1, dtype=np.int64)
            number[column] = np.arange(len(column))
            before = before.renumbered(number, len(column))
        information = value_information(arrays, self.weights)
        update = Update.of(before, information.rarity, every)
        features = PairFeatures.of_columns(
            arrays, information, update.rarity_bound, self.conventions
        )
        sparsity = information.sparsity
        bounds = TransformBounds(
            features, self.weights, arrays.distinct, arrays.key, arrays.number, sparsity
        )
        keys = arrays.key
        children = arrays.children
        chosen = [(children & changed, keys), (children & ~changed, keys & changed)]
        more = find_candidates(arrays, information.distinctive, bounds, update.chosen(chosen))
        more = more.take(needed(self.every, self.columns, more))
        counted = concatenate([update.known, more]).sorted()
        kept = CountedPairs(counted, update.rarity, every)
        return self._weighed(bounds, counted), kept.renumbered(column, len(self.every))

    def _weighed(self, bounds: TransformBounds, counted: Candidates) -> WeighedCandidates:
        """The candidates with their features, if these say enough."""
        candidates = counted.take(bounds.within_now(counted.child, counted.parent))
        features = bounds.weighed(candidates)
        number = self.columns.arrays.number[candidates.child]
        enough = _says_enough(features.name, features.value, number)
        candidates = candidates.take(enough)
        ends = candidates.child.tolist(), candidates.parent.tolist()
        return WeighedCandidates(
            replace(
                candidates,
                child=self.columns.column[candidates.child],
                parent=self.columns.column[candidates.parent],
            ),
            features.take(enough),
            [_name(self.columns, child, parent) for child, parent in zip(*ends, strict=True)],
        )


@dataclass(frozen=True, slots=True)
class TransformBounds:
    """Says of pairs of columns whether names or values may speak for them.

    Per column: its `distinct` values, whether it is a `key`, whether it holds a `number`, and the
    `sparsity` of its values.
    """

    features: PairFeatures
    weights: Weights
    distinct: Ints
    key: Flags
    number: Flags
    sparsity: Floats

    def of_groups(self, children: Groups, keys: Groups) -> TransformBounds:
        """The same: it is told of pairs alone."""
        del children, keys
        return self

    def within_groups(self, child: Ints, key: Ints) -> Flags:
        """Every two groups are within bound."""
        del key
        return np.ones(len(child), dtype=np.bool_)

    def within(self, child: Ints, key: Ints) -> Flags:
        """Whether they may, with values as rare as they may become."""
        return self._within(self.features.upper_bounds(child, key), child, key)

    def within_now(self, child: Ints, key: Ints) -> Flags:
        """Whether they may, with values as rare as they are."""
        return self._within(self.features.upper_bounds_now(child, key), child, key)

    def _within(self, best: Features, child: Ints, key: Ints) -> Flags:
        bound = local_logits(best, self.weights) > self.weights.least
        # Equal keys count for more than their rarity says, so their bound is open.
        same = self.key[child] & (self.distinct[child] >= SAME * self.distinct[key])
        value = np.where(same, np.maximum(best.value, self._sparse(key)), best.value)
        within: Flags = (bound | same) & _says_enough(best.name, value, self.number[child])
        return within

    def weighed(self, candidates: Candidates) -> Features:
        """Features that count two keys of the same values for what their sparsity says.

        How many other tables hold the values says nothing then: they refer to one of the two.
        """
        features = self.features.of(candidates)
        own, other = self.distinct[candidates.child], self.distinct[candidates.parent]
        jaccard = candidates.shared / np.maximum(own + other - candidates.shared, 1)
        same = self.key[candidates.child] & (jaccard >= SAME)
        raised = np.maximum(features.value, self._sparse(candidates.parent))
        # Keys that look different come from different systems, which name things differently.
        convention = np.maximum(features.convention, NEUTRAL)
        value = np.where(same, raised, features.value)
        return replace(features, value=value, convention=convention)

    def _sparse(self, key: Ints) -> Floats:
        """What the sparsity of a key says, whoever else holds its values."""
        sparse: Floats = np.clip(2 * self.sparsity[key], 0, 1)
        return sparse


def needed(every: ColumnArrays, columns: NormalizedColumns, candidates: Candidates) -> Flags:
    """Which candidates find more rows than the two columns do as they are."""
    child, parent = columns.column[candidates.child], columns.column[candidates.parent]
    _, as_is = count_shared(every.values, child, every.values, parent)
    more: Flags = as_is < ENOUGH * candidates.rows
    return more


def _says_enough(name: Floats, value: Floats, number: Flags) -> Flags:
    """Whether names or values say enough for a pair of columns, flagged where they are numbers."""
    named = name >= _LEAST_NAME
    enough: Flags = named | ((value >= _LEAST_VALUE) & _not_dense(value, number))
    return enough


def _not_dense(value: Floats, number: Flags) -> Flags:
    """Whether values are no plain sequence of numbers, by what they say.

    Numbers 1..n behind a prefix, or padded, are in every other sequence of numbers; values say at
    most twice what their sparsity says.
    """
    sparse: Flags = (value >= LEAST_SPARSE) | ~number
    return sparse


def _name(columns: NormalizedColumns, child: int, parent: int) -> str:
    """The transform that both sides take: the one that does more, if they need different ones."""
    names = {columns.transform[child], columns.transform[parent]} - {""}
    return PREFIX if PREFIX in names else names.pop()
