"""Joins through a transform: keys that match once both sides are folded, stripped or cut alike.

A transform widens what matches, so more is asked for than of values that match as they are: nearly
all rows must be found, by names that refer to the parent or by values that chance does not explain,
and every edge costs a nat. A column that has a parent as it is needs none.

An update looks for the pairs of fresh columns alone (`view_pairs.py`) and weighs all of them anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields, replace

import numpy as np

from dovetail.arrays import Encoded, Flags, Ints, found_in, sorted_distinct
from dovetail.domain import JoinEdge, TableId
from dovetail.domain.sql import PREFIX
from dovetail.joins.column_arrays import ColumnArrays
from dovetail.joins.edges import edges_of
from dovetail.joins.keys.view_candidates import KnownPairs, ViewSearch, WeighedCandidates
from dovetail.joins.keys.view_pairs import ViewPairs
from dovetail.joins.keys.views import FAMILIES, LEAST_ROWS, FamilyViews, ViewedColumns, Views
from dovetail.joins.scoring.competition import score_jointly
from dovetail.joins.scoring.features import Features, local_logits
from dovetail.joins.scoring.scored_pairs import ScoredPairs, Unlikely
from dovetail.joins.scoring.weights import Weights
from dovetail.joins.value_index.postings import Postings

# Edges by their tables and columns.
_Edges = dict[tuple[TableId, TableId, tuple[tuple[str, str], ...]], JoinEdge]


def transformed_edges(
    arrays: ColumnArrays,
    viewed: ViewedColumns,
    edges: Sequence[JoinEdge],
    postings: Postings,
    weights: Weights,
    unlikely: Unlikely | None = None,
    known: KnownPairs | None = None,
) -> tuple[list[JoinEdge], ViewPairs]:
    """The given edges, and those through transforms; of two for the same columns the better.

    `postings` is the inverted index of all values. What is in a key as it is needs no transform,
    though the key be `unlikely`. The second part of the result may be `known` next time.
    """
    pairs = ViewPairs.none(len(arrays))
    families = [
        (number, family)
        for number, family in enumerate(FAMILIES)
        if any(view.transform in family for view in viewed.views)
    ]
    if not families:
        return list(edges), pairs
    names = Encoded.of(arrays.name)
    conventions = arrays.conventions(names)
    settled = _settled(arrays, names, edges, unlikely)
    found: _Edges = {}
    for number, family in families:
        views = FamilyViews(arrays, viewed, family)
        search = ViewSearch(views, postings, weights, conventions, ~settled)
        candidates = search.updated(known, number) if known else None
        candidates = candidates or search.all()
        pairs = pairs.replaced(number, candidates.likely, ~settled)
        more = list(_edges(candidates, weights))
        found |= {(edge.left, edge.right, edge.columns): edge for edge in more}
        settled |= _named(arrays, names, ((edge.left, edge.columns[0][0]) for edge in more))
    as_is = {(edge.left, edge.right, edge.columns): edge.score for edge in edges}
    better = {key: edge for key, edge in found.items() if edge.score > as_is.get(key, 0.0)}
    rest = [edge for edge in edges if (edge.left, edge.right, edge.columns) not in better]
    return [*rest, *better.values()], pairs


def _settled(
    arrays: ColumnArrays, names: Encoded[str], edges: Sequence[JoinEdge], unlikely: Unlikely | None
) -> Flags:
    """Columns that have a parent as they are."""
    settled = _named(
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
        settled[_explained(arrays, unlikely)] = True
    return settled


def _named(arrays: ColumnArrays, names: Encoded[str], some: Iterable[tuple[TableId, str]]) -> Flags:
    """Flags for some columns, given by their tables and names."""
    code = {name: number for number, name in enumerate(names.dictionary)}
    place = {table: number for number, table in enumerate(arrays.ids)}
    wanted = {place[table] * len(code) + code[name] for table, name in some}
    every = arrays.table * len(code) + names.codes
    return found_in(every, np.array(sorted(wanted), dtype=np.int64))


def _explained(arrays: ColumnArrays, unlikely: Unlikely) -> Ints:
    """Columns that are in a key, by names and values, though another table's key is likelier."""
    found = unlikely.candidates
    held = np.round(found.rows / arrays.filled[found.child], 6) >= LEAST_ROWS
    return sorted_distinct(found.child[held & (np.round(unlikely.logit, 6) > 0)])


def _edges(candidates: WeighedCandidates, weights: Weights) -> Iterator[JoinEdge]:
    """The candidates above 0.5, in view of each other."""
    views, arrays = candidates.views, candidates.views.arrays
    found, weighed = candidates.found, candidates.features
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


def _key(arrays: ColumnArrays, column: int) -> tuple[TableId, str]:
    return arrays.ids[int(arrays.table[column])], arrays.name[column]


def _name(views: Views, child: int, parent: int) -> str:
    """The transform that both sides take: the one that does more, if they need different ones."""
    names = {views.transform[child], views.transform[parent]} - {""}
    return PREFIX if PREFIX in names else names.pop()
