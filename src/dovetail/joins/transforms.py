"""Joins through a transform: keys that match once both sides are folded, stripped or cut alike.

The catalog keeps normalized values of columns that a transform changes (`domain/sql.py`);
a column that it would not change does as it is. The search for candidates is that of columns as
they are. A transform widens what matches, so more is asked for than of values that match as they
are: nearly all rows must be found, by names that refer to the parent or by values that chance does
not explain, and every edge costs a nat. A column that has a parent as it is needs none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from dovetail.arrays import Encoded, Flags, Floats, Ints, found_in, sorted_distinct
from dovetail.catalog.records import KeyView
from dovetail.domain import JoinEdge, TableId
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
from dovetail.joins.databases import score_jointly
from dovetail.joins.features import (
    Features,
    PairFeatures,
    Weights,
    local_logits,
    value_information,
    value_sparsity,
)
from dovetail.joins.scoring import ScoredPairs, Unlikely, edges_of
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
# A likeness of naming conventions that speaks neither for nor against.
_NEUTRAL = 0.5
# A transform must find more rows than this share of them that are found as they are.
_ALREADY = 0.98

# Edges by their tables and columns.
_Edges = dict[tuple[TableId, TableId, tuple[tuple[str, str], ...]], JoinEdge]


def transformed_edges(
    arrays: ColumnArrays,
    normalized: Sequence[KeyView],
    edges: Sequence[JoinEdge],
    weights: Weights,
    unlikely: Unlikely | None = None,
    before: Mapping[int, CountedPairs] | None = None,
) -> tuple[list[JoinEdge], dict[int, CountedPairs]]:
    """The given edges, and those through transforms; of two for the same columns the better.

    What is in a key as it is needs no transform, though the key be `unlikely`. The second part of
    the result, by the number of a form, may be `before` next time.
    """
    forms = [
        (number, form)
        for number, form in enumerate(FORMS)
        if any(each.transform in form for each in normalized)
    ]
    if not forms:
        return list(edges), {}
    names = Encoded.of(arrays.name)
    conventions = arrays.conventions(names)
    has_parent = _have_parents(arrays, names, edges, unlikely)
    better: _Edges = {}
    counted: dict[int, CountedPairs] = {}
    for number, form in forms:
        columns = NormalizedColumns.of(arrays, normalized, form)
        search = TransformSearch(arrays, columns, weights, conventions, ~has_parent)
        candidates, counted[number] = search.find((before or {}).get(number))
        more = list(_edges(candidates, weights))
        better |= {(edge.left, edge.right, edge.columns): edge for edge in more}
        has_parent |= _named(arrays, names, ((edge.left, edge.columns[0][0]) for edge in more))
    as_is = {(edge.left, edge.right, edge.columns): edge.score for edge in edges}
    better = {key: edge for key, edge in better.items() if edge.score > as_is.get(key, 0.0)}
    rest = [edge for edge in edges if (edge.left, edge.right, edge.columns) not in better]
    return [*rest, *better.values()], counted


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
        own = {
            each.column: (len(arrays) + number, each)
            for number, each in enumerate(normalized)
            if each.transform in form
        }
        sets = np.arange(len(arrays))
        sets[list(own)] = [number for number, _ in own.values()]
        as_is = (arrays.distinct >= _FEWEST) & (arrays.number == (ZEROS in form))
        as_is[list(own)] = False
        others = np.flatnonzero(as_is)
        passes = arrays.values.passes
        shares = sharing(ValueSets(passes, others), ValueSets(passes, sets[list(own)]))
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
        number=np.full(len(column), numbers),
        filled=filled,
        distinct=distinct,
        unique=distinct == filled,
        key=(distinct > 0) & (distinct >= thresholds.unique * filled),
        low=np.where(np.isnan(arrays.low[column]), high, arrays.low[column]),
        high=high,
        values=values,
        global_ids=arrays.global_ids[column],
        thresholds=replace(thresholds, rows=max(thresholds.rows, LEAST_ROWS)),
    )


@dataclass(frozen=True, slots=True)
class WeighedCandidates:
    """Candidates among columns in a normal form, with their features."""

    columns: NormalizedColumns
    candidates: Candidates
    features: Features


@dataclass(frozen=True, slots=True)
class TransformSearch:
    """Looks for candidates among columns in one normal form.

    `every` are all columns as they are, `conventions` those of all tables by their names;
    `children` flags the columns, among all, that have no parent yet.
    """

    every: ColumnArrays
    columns: NormalizedColumns
    weights: Weights
    conventions: Floats
    children: Flags

    def find(self, before: CountedPairs | None) -> tuple[WeighedCandidates, CountedPairs]:
        """All candidates, and what may be `before` next time, by the numbers of all columns."""
        arrays, column = self.columns.arrays, self.columns.column
        children, changed = self.children[column], self.columns.changed
        if before is not None:
            number = np.full(len(self.every), -1, dtype=np.int64)
            number[column] = np.arange(len(column))
            before = before.renumbered(number, len(column))
        information = value_information(arrays, self.weights)
        update = Update.of(before, information.rarity, children)
        features = PairFeatures.of_columns(
            arrays, information, update.rarity_bound, self.conventions
        )
        sparsity = information.sparsity
        bounds = TransformBounds(
            features, self.weights, arrays.distinct, arrays.key, arrays.number, sparsity
        )
        keys = arrays.key & _not_dense(2 * value_sparsity(arrays, self.weights), arrays.number)
        chosen = [(children & changed, keys), (children & ~changed, keys & changed)]
        known = update.known.take(children[update.known.child])
        more = find_candidates(arrays, information.distinctive, bounds, update.chosen(chosen))
        more = more.take(needed(self.every, self.columns, more))
        counted = concatenate([known, more]).sorted()
        kept = CountedPairs(counted, update.rarity, children)
        return self._weighed(bounds, counted), kept.renumbered(column, len(self.every))

    def _weighed(self, bounds: TransformBounds, counted: Candidates) -> WeighedCandidates:
        """The candidates with their features, if these say enough."""
        candidates = counted.take(bounds.within_now(counted.child, counted.parent))
        features = bounds.weighed(candidates)
        number = self.columns.arrays.number[candidates.child]
        enough = _says_enough(features.name, features.value, number)
        return WeighedCandidates(self.columns, candidates.take(enough), features.take(enough))


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
        convention = np.maximum(features.convention, _NEUTRAL)
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
    more: Flags = as_is < _ALREADY * candidates.rows
    return more


def _says_enough(name: Floats, value: Floats, number: Flags) -> Flags:
    """Whether names or values say enough for a pair of columns, flagged where they are numbers."""
    enough: Flags = np.maximum(name / _LEAST_NAME, value / _LEAST_VALUE) >= 1
    return enough & _not_dense(value, number)


def _not_dense(value: Floats, number: Flags) -> Flags:
    """Whether values are no plain sequence of numbers, by what they say.

    Numbers 1..n behind a prefix, or padded, are in every other sequence of numbers; values say at
    most twice what their sparsity says.
    """
    sparse: Flags = (value >= LEAST_SPARSE) | ~number
    return sparse


def _have_parents(
    arrays: ColumnArrays, names: Encoded[str], edges: Sequence[JoinEdge], unlikely: Unlikely | None
) -> Flags:
    """Columns that have a parent as they are."""
    flags = _named(
        arrays,
        names,
        (
            (edge.left, edge.columns[0][0])
            for edge in edges
            if edge.score > 0.5 or edge.evidence.get("logit", 0.0) > 0.0
            if edge.evidence.get("row_containment", 0.0) >= LEAST_ROWS
        ),
    )
    if unlikely is not None:
        flags[_explained(arrays, unlikely)] = True
    return flags


def _named(
    arrays: ColumnArrays, names: Encoded[str], columns: Iterable[tuple[TableId, str]]
) -> Flags:
    """Flags for some columns, given by their tables and names."""
    code = {name: number for number, name in enumerate(names.dictionary)}
    number = {table: number for number, table in enumerate(arrays.ids)}
    wanted = {number[table] * len(code) + code[name] for table, name in columns}
    every = arrays.table * len(code) + names.codes
    return found_in(every, np.array(sorted(wanted), dtype=np.int64))


def _explained(arrays: ColumnArrays, unlikely: Unlikely) -> Ints:
    """Columns that are in a key, by names and values, though another table's key is likelier."""
    candidates = unlikely.candidates
    contained = np.round(candidates.rows / arrays.filled[candidates.child], 6) >= LEAST_ROWS
    return sorted_distinct(candidates.child[contained & (np.round(unlikely.logit, 6) > 0)])


def _edges(weighed: WeighedCandidates, weights: Weights) -> Iterator[JoinEdge]:
    """The candidates above 0.5, in view of each other."""
    columns, arrays = weighed.columns, weighed.columns.arrays
    candidates, features = weighed.candidates, weighed.features
    if not len(candidates):
        return
    logit = local_logits(features, weights) - weights.transform
    scored = score_jointly(arrays, candidates, features, logit, weights)
    evidence = {field.name: getattr(features, field.name) for field in fields(Features)}
    evidence |= {"logit": scored.logit, "competitors": scored.competitors}
    evidence["transformed"] = np.ones(len(candidates))
    pairs = zip(candidates.child.tolist(), candidates.parent.tolist(), strict=True)
    transforms = {
        (*_key(arrays, child), *_key(arrays, parent)): _name(columns, child, parent)
        for child, parent in pairs
    }
    for edge in edges_of(arrays, ScoredPairs(candidates, scored.score, scored.rank, evidence)):
        (left, right) = edge.columns[0]
        if edge.score > 0.5:
            yield replace(edge, transform=transforms[edge.left, left, edge.right, right])


def _key(arrays: ColumnArrays, column: int) -> tuple[TableId, str]:
    return arrays.ids[int(arrays.table[column])], arrays.name[column]


def _name(columns: NormalizedColumns, child: int, parent: int) -> str:
    """The transform that both sides take: the one that does more, if they need different ones."""
    names = {columns.transform[child], columns.transform[parent]} - {""}
    return PREFIX if PREFIX in names else names.pop()
