"""Candidates of new and changed columns, found by the inverted index, the other pairs unseen."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dovetail.arrays import Flags, Ints, sorted_distinct
from dovetail.joins.column_arrays import ColumnArrays
from dovetail.joins.inclusion.candidate_search import BoundCheck
from dovetail.joins.inclusion.candidates import Candidates
from dovetail.joins.inclusion.count_shared import count_shared
from dovetail.joins.value_index.postings import Postings
from dovetail.joins.value_index.row_sample import sample_places
from dovetail.names.lookup import NameMatch

# Columns, and the keys beside them.
Pairs = tuple[Ints, Ints]


def find_fresh_candidates(
    arrays: ColumnArrays,
    distinctive: Flags,
    fresh: Flags,
    postings: Postings,
    within_bound: BoundCheck | None = None,
) -> Candidates:
    """Those of all candidates (`find_candidates`) one of whose columns is fresh."""
    # Few names stand on one side of either part, so that few words are compared with many.
    parts = [
        _named(arrays, distinctive, list(pairs))
        for pairs in (_as_children(arrays, fresh, postings), _as_parents(arrays, fresh, postings))
    ]
    child, parent = (np.concatenate(part) for part in zip(*parts, strict=True))
    order = np.lexsort((parent, child))
    child, parent = child[order], parent[order]
    if within_bound:
        able = np.flatnonzero(within_bound(child, parent))
        child, parent = child[able], parent[able]
    found = Candidates(child, parent, *count_shared(arrays, child, arrays.value_hashes, parent))
    return found.take(found.rows >= arrays.thresholds.rows * arrays.filled[child])


def _named(arrays: ColumnArrays, distinctive: Flags, pairs: list[Pairs]) -> Pairs:
    """Those of some pairs that are distinctive, or named so."""
    nothing = np.empty(0, dtype=np.int64)
    child, parent = (np.concatenate(part) for part in zip((nothing, nothing), *pairs, strict=True))
    able = distinctive[child] & distinctive[parent]
    rest = np.flatnonzero(~able)
    able[rest] = _may_refer(arrays, child[rest], parent[rest])
    return child[able], parent[able]


def _may_refer(arrays: ColumnArrays, child: Ints, key: Ints) -> Flags:
    """Whether each column may refer to its key by name, with nothing done for other columns."""
    columns, keys = sorted_distinct(np.append(child, key)), sorted_distinct(key)
    names = [arrays.name[column] for column in columns.tolist()]
    at = np.searchsorted(columns, keys)
    match = NameMatch.of(names, arrays.table[columns], arrays.table_names, at)
    return match(np.searchsorted(columns, child), np.searchsorted(columns, key))


def _as_children(arrays: ColumnArrays, fresh: Flags, postings: Postings) -> Iterator[Pairs]:
    """Fresh columns with the keys that likely hold them."""
    for child in np.flatnonzero(fresh & (arrays.filled > 0)).tolist():
        sample = sample_places(arrays.value_hashes[child], arrays.counts[child])
        rows = arrays.counts[child][sample].astype(np.int64)
        by_value, by_rows = postings.tally(arrays.value_hashes[child][sample], rows)
        likely = (2 * by_value >= len(sample)) | (2 * by_rows >= rows.sum())
        keys = np.flatnonzero(likely & arrays.key & (arrays.table != arrays.table[child]))
        yield np.full(len(keys), child), keys


def _as_parents(arrays: ColumnArrays, fresh: Flags, postings: Postings) -> Iterator[Pairs]:
    """Fresh keys with the columns, not fresh themselves, that they likely hold."""
    size, rows = postings.sample_sizes
    for parent in np.flatnonzero(fresh & arrays.key & (arrays.distinct > 0)).tolist():
        by_value, by_rows = postings.sampled_among(arrays.value_hashes[parent])
        likely = (2 * by_value >= size) | (2 * by_rows >= rows)
        likely &= ~fresh & (arrays.filled > 0) & (arrays.table != arrays.table[parent])
        children = np.flatnonzero(likely)
        yield children, np.full(len(children), parent)
