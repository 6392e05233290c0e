"""Candidates of new and changed columns, found by the inverted index, the other pairs unseen."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np

from dovetail.joins.column_arrays import ColumnArrays, Flags, Ints, found_in
from dovetail.joins.inclusion.candidates import BoundCheck, Candidates
from dovetail.joins.inclusion.count_shared import count_shared
from dovetail.joins.naming.name_lookup import NameLookup
from dovetail.joins.value_index.postings import Postings
from dovetail.joins.value_index.row_sample import sample_places


def find_fresh_candidates(
    arrays: ColumnArrays,
    distinctive: Flags,
    fresh: Flags,
    postings: Postings,
    within_bound: BoundCheck | None = None,
) -> Candidates:
    """Those of all candidates (`find_candidates`) one of whose columns is fresh."""
    pairs = [*_as_children(arrays, distinctive, fresh, postings)]
    pairs += _as_parents(arrays, distinctive, fresh, postings)
    nothing = np.empty(0, dtype=np.int64)
    child, parent = (
        np.concatenate([nothing, *part])
        for part in (zip(*pairs, strict=True) if pairs else [[], []])
    )
    order = np.lexsort((parent, child))
    child, parent = child[order], parent[order]
    if within_bound:
        able = np.flatnonzero(within_bound(child, parent))
        child, parent = child[able], parent[able]
    found = Candidates(child, parent, *count_shared(arrays, child, arrays.value_hashes, parent))
    return found.take(found.rows >= arrays.thresholds.rows * arrays.filled[child])


def _as_children(
    arrays: ColumnArrays, distinctive: Flags, fresh: Flags, postings: Postings
) -> Iterator[tuple[Ints, Ints]]:
    """Fresh columns with the keys that likely hold them."""
    lookup = NameLookup(arrays, np.flatnonzero(arrays.key))
    for child in np.flatnonzero(fresh & (arrays.filled > 0)).tolist():
        sample = sample_places(arrays.value_hashes[child], arrays.counts[child])
        rows = arrays.counts[child][sample].astype(np.int64)
        by_value, by_rows = postings.tally(arrays.value_hashes[child][sample], rows)
        likely = (2 * by_value >= len(sample)) | (2 * by_rows >= rows.sum())
        keys = np.flatnonzero(likely & arrays.key & (arrays.table != arrays.table[child]))
        chosen = found_in(keys, lookup.keys_named_by(arrays.name[child]))
        if distinctive[child]:
            chosen |= distinctive[keys]
        yield np.full(np.count_nonzero(chosen), child), keys[chosen]


def _as_parents(
    arrays: ColumnArrays, distinctive: Flags, fresh: Flags, postings: Postings
) -> Iterator[tuple[Ints, Ints]]:
    """Fresh keys with the columns, not fresh themselves, that they likely hold."""
    keys = np.flatnonzero(fresh & arrays.key & (arrays.distinct > 0))
    lookup = NameLookup(arrays, keys)
    named_by = cache(lambda column: frozenset(lookup.keys_named_by(column).tolist()))
    size, rows = postings.sample_sizes
    for parent in keys.tolist():
        by_value, by_rows = postings.sampled_among(arrays.value_hashes[parent])
        likely = (2 * by_value >= size) | (2 * by_rows >= rows)
        likely &= ~fresh & (arrays.filled > 0) & (arrays.table != arrays.table[parent])
        children = np.flatnonzero(likely)
        chosen = distinctive[children] & distinctive[parent]
        for place in np.flatnonzero(~chosen).tolist():  # the others must be named so
            chosen[place] = parent in named_by(arrays.name[children[place]])
        yield children[chosen], np.full(np.count_nonzero(chosen), parent)
