"""Joins through a transform: keys that match once both sides are folded, stripped or cut alike.

A transform widens what matches, so more is asked for than of values that match as they are: nearly
all rows must be found, by names that refer to the parent or by values that chance does not explain,
and every edge costs a nat. A column that has a parent as it is needs none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from dovetail.catalog.reader import CatalogReader, KeyView
from dovetail.domain import JoinEdge, TableId
from dovetail.hashing import Hashes
from dovetail.joins.column_arrays import (
    Chained,
    ColumnArrays,
    Counts,
    Flags,
    Floats,
    Ints,
    sorted_distinct,
)
from dovetail.joins.distributed.distributed_columns import (
    DistributedColumns,
    DistributedCounts,
    take,
)
from dovetail.joins.edges import edges_of
from dovetail.joins.inclusion.candidates import Candidates, concatenate, find_candidates
from dovetail.joins.inclusion.count_shared import count_shared
from dovetail.joins.scoring.competition import score_jointly
from dovetail.joins.scoring.features import Features, PairFeatures, local_logits
from dovetail.joins.scoring.scored_pairs import ScoredPairs, Unlikely
from dovetail.joins.scoring.value_information import (
    ValueInformation,
    value_information,
    value_sparsity,
)
from dovetail.joins.scoring.weights import Weights
from dovetail.joins.value_index.postings import Postings
from dovetail.transforms import CASE, DAY, PREFIX, PUNCTUATED, ZEROS

# Transforms that are one function, or agree where a column needs less of it.
_FAMILIES = ((CASE,), (PUNCTUATED,), (ZEROS, PREFIX), (DAY,))
# The least share of the child's rows that must be found, and of distinct values on both sides.
_LEAST_ROWS, _FEWEST = 0.9, 10
# From this Jaccard similarity on two keys hold the same things.
_SAME = 0.9
# How much a name, or values, must say.
_LEAST_NAME, _LEAST_VALUE, _LEAST_SPARSE = 0.55, 0.5, 0.25
# A likeness of naming conventions that speaks neither for nor against.
_NEUTRAL = 0.5
# A transform must find more rows than this share of them that are found as they are.
_ALREADY = 0.98


@dataclass(frozen=True, slots=True)
class _Views:
    """Columns under one family of transforms: some have a view of their own, others do as is."""

    arrays: ColumnArrays
    column: Ints  # the number of each column among all
    transform: Sequence[str]  # the name of its own view, empty where it does as is


@dataclass(frozen=True, slots=True)
class ViewedColumns:
    """The views of columns, and the value sets of all columns and then of all views."""

    views: Sequence[KeyView]
    distinct: Ints
    value_hashes: Sequence[Hashes]
    counts: Sequence[Counts]

    @classmethod
    def of(cls, catalog: CatalogReader, arrays: ColumnArrays) -> ViewedColumns:
        """Those of a catalog, whose columns are in the arrays."""
        columns = arrays.value_hashes
        if isinstance(columns, DistributedColumns):
            values = columns.passes.values
            every = DistributedColumns(columns.passes, np.arange(len(values.distinct)))
            return cls(values.views, values.distinct, every, DistributedCounts(every))
        views = catalog.key_views()
        hashes, counts = catalog.view_values(views)
        sizes = np.array([view.distinct for view in views], dtype=np.int64)
        return cls(
            views,
            np.append(arrays.distinct, sizes),
            Chained(columns, hashes),
            Chained(arrays.counts, counts),
        )


def transformed_edges(
    arrays: ColumnArrays,
    viewed: ViewedColumns,
    edges: Sequence[JoinEdge],
    postings: Postings,
    weights: Weights,
    unlikely: Unlikely | None = None,
) -> list[JoinEdge]:
    """The given edges, and those through transforms; of two for the same columns the better.

    `postings` is the inverted index of all values. What is in a key as it is needs no transform,
    though the key be `unlikely`.
    """
    settled = {
        (edge.left, edge.columns[0][0])
        for edge in edges
        if edge.score > 0.5 or edge.evidence.get("logit", 0.0) > 0.0
        if edge.evidence.get("row_containment", 0.0) >= _LEAST_ROWS
    }
    if unlikely is not None:
        settled |= {_key(arrays, child) for child in _explained(arrays, unlikely).tolist()}
    found: dict[tuple[TableId, TableId, tuple[tuple[str, str], ...]], JoinEdge] = {}
    for family in _FAMILIES:
        if any(view.transform in family for view in viewed.views):
            more = list(_edges(arrays, _viewed(arrays, viewed, family, postings), settled, weights))
            found |= {(edge.left, edge.right, edge.columns): edge for edge in more}
            settled |= {(edge.left, edge.columns[0][0]) for edge in more}
    as_is = {(edge.left, edge.right, edge.columns): edge.score for edge in edges}
    better = {key: edge for key, edge in found.items() if edge.score > as_is.get(key, 0.0)}
    rest = [edge for edge in edges if (edge.left, edge.right, edge.columns) not in better]
    return [*rest, *better.values()]


def _explained(arrays: ColumnArrays, unlikely: Unlikely) -> Ints:
    """Columns that are in a key, by names and values, though another table's key is likelier."""
    found = unlikely.candidates
    held = np.round(found.rows / arrays.filled[found.child], 6) >= _LEAST_ROWS
    return sorted_distinct(found.child[held & (np.round(unlikely.logit, 6) > 0)])


def _viewed(
    arrays: ColumnArrays, viewed: ViewedColumns, family: tuple[str, ...], postings: Postings
) -> _Views:
    """The columns with a view, and those that may match one as they are."""
    own = {
        view.column: (len(arrays) + place, view)
        for place, view in enumerate(viewed.views)
        if view.transform in family
    }
    numbers = ZEROS in family
    able = (arrays.distinct >= _FEWEST) & (arrays.number if numbers else ~arrays.number)
    able[list(own)] = False
    others = np.flatnonzero(able)
    known = np.array([place for place, _ in own.values()], dtype=np.int64)
    column = np.sort(np.append(others[_sharing(viewed, others, known, postings)], list(own)))
    of = column.tolist()
    sets = np.array([own[c][0] if c in own else c for c in of], dtype=np.int64)
    distinct = viewed.distinct[sets]
    filled = arrays.filled[column]
    high = arrays.high[column].copy()
    for place, number in enumerate(of):
        if numbers and number in own:
            high[place] = own[number][1].maximum
    thresholds = arrays.thresholds
    under = replace(
        arrays,
        table=arrays.table[column],
        position=arrays.position[column],
        name=[arrays.name[c] for c in of],
        number=np.full(len(of), numbers),
        filled=filled,
        distinct=distinct,
        unique=distinct == filled,
        key=(distinct > 0) & (distinct >= thresholds.unique * filled),
        low=np.where(np.isnan(arrays.low[column]), high, arrays.low[column]),
        high=high,
        value_hashes=take(viewed.value_hashes, sets),
        counts=take(viewed.counts, sets),
        global_ids=arrays.global_ids[column],
        thresholds=replace(thresholds, rows=max(thresholds.rows, _LEAST_ROWS)),
    )
    return _Views(under, column, [own[c][1].transform if c in own else "" for c in of])


def _sharing(viewed: ViewedColumns, columns: Ints, views: Ints, postings: Postings) -> Flags:
    """Which columns have a value in common with some view: no other can match one."""
    every = viewed.value_hashes
    if isinstance(every, DistributedColumns):
        return every.passes.sharing(columns, views)
    known = sorted_distinct(np.concatenate(take(every, views)))
    found: Flags = postings.holding_any(known)[columns]
    return found


def _edges(
    every: ColumnArrays, views: _Views, settled: set[tuple[TableId, str]], weights: Weights
) -> Iterator[JoinEdge]:
    arrays = views.arrays
    # Numbers 1..n behind a prefix, or padded, are in every other sequence of numbers; values say at
    # most twice what their sparsity says.
    parents = arrays.key & _not_dense(2 * value_sparsity(arrays, weights), arrays.number)
    if not parents.any():
        return
    information = value_information(arrays, weights)
    found, weighed = _candidates(views, parents, settled, information, weights)
    needed = _needed(every, views, found)
    found, weighed = found.take(needed), weighed.take(needed)
    if not len(found):
        return
    logit = local_logits(weighed, weights) - weights.transform
    scored = score_jointly(arrays, found, weighed, logit, weights)
    evidence = {field.name: getattr(weighed, field.name) for field in fields(Features)}
    evidence |= {"logit": scored.logit, "competitors": scored.competitors}
    evidence["transformed"] = np.ones(len(found))
    pairs = zip(found.child.tolist(), found.parent.tolist(), strict=True)
    said = {
        (*_key(arrays, child), *_key(arrays, parent)): _name(views, child, parent)
        for child, parent in pairs
    }
    for edge in edges_of(arrays, ScoredPairs(found, scored.score, scored.rank, evidence)):
        (left, right) = edge.columns[0]
        transform = said[edge.left, left, edge.right, right]
        if edge.score > 0.5:
            yield replace(edge, transform=transform)


def _candidates(
    views: _Views,
    parents: Flags,
    settled: set[tuple[TableId, str]],
    information: ValueInformation,
    weights: Weights,
) -> tuple[Candidates, Features]:
    """Pairs one of which has a view of its own that names or values speak for, in order."""
    arrays = views.arrays
    features = PairFeatures(arrays, information)
    changed = np.array([bool(name) for name in views.transform], dtype=np.bool_)
    open_child = np.array(
        [
            (arrays.ids[table], name) not in settled
            for table, name in zip(arrays.table.tolist(), arrays.name, strict=True)
        ],
        dtype=np.bool_,
    )

    def within_bound(child: Ints, parent: Ints) -> Flags:
        best = features.upper_bounds(child, parent)
        bound = local_logits(best, weights) > weights.least
        # Equal keys count for more than their rarity says, so their bound is open.
        same = arrays.key[child] & (arrays.distinct[child] >= _SAME * arrays.distinct[parent])
        value = np.where(same, np.maximum(best.value, _sparse(information, parent)), best.value)
        able: Flags = (bound | same) & _says_enough(best.name, value, arrays.number[child])
        return able

    parts = [
        find_candidates(arrays, information.distinctive, within_bound, None, (children, keys))
        for children, keys in (
            (open_child & changed, parents),
            (open_child & ~changed, parents & changed),
        )
        if children.any() and keys.any()
    ]
    found = concatenate(parts)
    found = found.take(np.lexsort((found.parent, found.child)))
    weighed = _raised(arrays, found, features.of(found), information)
    able = _says_enough(weighed.name, weighed.value, arrays.number[found.child])
    return found.take(able), weighed.take(able)


def _says_enough(name: Floats, value: Floats, number: Flags) -> Flags:
    """Whether names or values say enough for a pair of columns, flagged where they are numbers."""
    enough: Flags = np.maximum(name / _LEAST_NAME, value / _LEAST_VALUE) >= 1
    return enough & _not_dense(value, number)


def _not_dense(value: Floats, number: Flags) -> Flags:
    """Whether values are no plain sequence of numbers, by what they say."""
    found: Flags = (value >= _LEAST_SPARSE) | ~number
    return found


def _needed(every: ColumnArrays, views: _Views, found: Candidates) -> Flags:
    """Which candidates find more rows than the two columns do as they are."""
    child, parent = views.column[found.child], views.column[found.parent]
    _, as_is = count_shared(every, child, every.value_hashes, parent)
    needed: Flags = as_is < _ALREADY * found.rows
    return needed


def _key(arrays: ColumnArrays, column: int) -> tuple[TableId, str]:
    return arrays.ids[int(arrays.table[column])], arrays.name[column]


def _name(views: _Views, child: int, parent: int) -> str:
    """The transform that both sides take: the one that does more, if they need different ones."""
    names = {views.transform[child], views.transform[parent]} - {""}
    return PREFIX if PREFIX in names else names.pop()


def _raised(
    arrays: ColumnArrays, found: Candidates, features: Features, information: ValueInformation
) -> Features:
    """Features that count two keys of the same values for what their sparsity says.

    How many other tables hold the values says nothing then: they refer to one of the two.
    """
    own, other = arrays.distinct[found.child], arrays.distinct[found.parent]
    jaccard = found.shared / np.maximum(own + other - found.shared, 1)
    same = arrays.key[found.child] & (jaccard >= _SAME)
    value = np.where(
        same, np.maximum(features.value, _sparse(information, found.parent)), features.value
    )
    # Keys that look different come from different systems, which name things differently.
    return replace(features, value=value, convention=np.maximum(features.convention, _NEUTRAL))


def _sparse(information: ValueInformation, parent: Ints) -> Floats:
    """What the sparsity of a key says, whoever else holds its values."""
    found: Floats = np.clip(2 * information.sparsity[parent], 0, 1)
    return found
