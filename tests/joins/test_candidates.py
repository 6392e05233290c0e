"""Foreign key candidates against every pair of columns."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dovetail.arrays import Flags, Ints, found_in
from dovetail.joins import candidates, counting
from dovetail.joins.candidates import (
    SourceOnly,
    find_candidates,
    group_equal_sets,
    prepare_search,
)
from dovetail.joins.columns import ColumnArrays
from tests.support.column_arrays import COLUMNS, arrays_of, as_dict, bounds_of


def brute_force(arrays: ColumnArrays) -> dict[tuple[int, int], tuple[int, int]]:
    """Every column and key of two tables that hold enough of its rows: values in common, rows."""
    found = {}
    for i, j in product(range(len(arrays)), repeat=2):
        if arrays.table[i] == arrays.table[j] or not arrays.unique[j] or not len(arrays.values[j]):
            continue
        held = found_in(arrays.values[i], arrays.values[j])
        rows = int(arrays.values.counts(i)[held].sum())
        if arrays.filled[i] and rows >= arrays.thresholds.rows * arrays.filled[i]:
            found[i, j] = (int(held.sum()), rows)
    return found


# One by one, as a product of matrices, that of few columns each, and in blocks of a few pairs; sets
# of a few values all at once, then a few pairs at a time, then all but the smallest otherwise.
WAYS = (
    {"_BUSY": 10**9, "_FEW": 0},
    {"_BUSY": 1, "_FEW": 0},
    {"_BUSY": 2, "_TOGETHER": 2, "_FEW": 0},
    {"_BUSY": 1, "BLOCK": 3, "_ROOM": 150, "_FEW": 0},
    {"BLOCK": 3},
    {"_AT_ONCE": 2},
    {"_BUSY": 2, "_FEW": 1},
)


@settings(deadline=None, max_examples=120)
@given(COLUMNS, st.sampled_from(WAYS), st.booleans())
def test_candidates_of_one_name_are_all_that_hold_enough_rows(
    columns: list[tuple[set[int], int, bool]], way: dict[str, int], bounded: bool
) -> None:
    """All columns are named alike: left out are those with few rows, or beyond the bound."""
    if not columns:
        return
    sets, tables, unique = (list(part) for part in zip(*columns, strict=True))
    arrays = arrays_of(sets, tables, unique)

    def within_bound(child: Ints, parent: Ints) -> Flags:
        return (child + parent) % 3 > 0

    expected = {
        pair: counts
        for pair, counts in brute_force(arrays).items()
        if not bounded or sum(pair) % 3 > 0
    }
    with pytest.MonkeyPatch.context() as patch:
        for constant, value in way.items():
            patch.setattr(candidates if constant == "BLOCK" else counting, constant, value)
        found = find_candidates(arrays, bounds_of(arrays, within_bound if bounded else None))
    assert as_dict(found) == expected


def test_counts_of_rows_beyond_single_precision_are_exact() -> None:
    arrays = arrays_of([{1, 2}, {1, 2, 3}], [0, 1], [False, True])
    arrays.values.counts(0)[:] = (2**24, 1)
    arrays.filled[0] = arrays.values.passes.values.filled[0] = 2**24 + 1
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counting, "_BUSY", 1)
        found = find_candidates(arrays, bounds_of(arrays))
    assert as_dict(found) == {(0, 1): (2, 2**24 + 1)}


@settings(deadline=None, max_examples=100)
@given(COLUMNS, st.integers(0, 2**16), st.booleans())
def test_candidates_of_confined_columns_are_the_keys_of_their_source(
    columns: list[tuple[set[int], int, bool]], seed: int, alike: bool
) -> None:
    if not columns:
        return
    sets, tables, unique = (list(part) for part in zip(*columns, strict=True))
    if alike:  # equal sets in several sources
        sets = [sets[place % 3 % len(sets)] for place in range(len(sets))]
    arrays = arrays_of(sets, tables, unique)
    random = np.random.default_rng(seed)
    sources = random.integers(0, 3, len(arrays.ids))[arrays.table]
    only = SourceOnly(random.random(len(arrays)) < 0.6, sources)
    found = find_candidates(arrays, bounds_of(arrays), source_only=only)
    expected = {
        (child, parent): counts
        for (child, parent), counts in brute_force(arrays).items()
        if not only.flags[child] or sources[child] == sources[parent]
    }
    assert as_dict(found) == expected


@settings(deadline=None, max_examples=60)
@given(COLUMNS, st.integers(0, 2**16))
def test_candidates_among_chosen_columns_are_those_of_all(
    columns: list[tuple[set[int], int, bool]], seed: int
) -> None:
    if not columns:
        return
    sets, tables, unique = (list(part) for part in zip(*columns, strict=True))
    arrays = arrays_of(sets, tables, unique)
    children, keys = np.random.default_rng(seed).random((2, len(arrays))) < 0.5
    chosen = [(children, keys), (~children, ~keys)]
    found = find_candidates(arrays, bounds_of(arrays), chosen)
    every = as_dict(find_candidates(arrays, bounds_of(arrays)))
    expected = {pair: n for pair, n in every.items() if children[pair[0]] == keys[pair[1]]}
    assert as_dict(found) == expected


def test_pairs_of_a_search_do_not_depend_on_its_ranges() -> None:
    """Also where columns of one multiset, which are called differently, are in several ranges."""
    sets = [set(range(5 + number % 3)) for number in range(24)]
    arrays = arrays_of(sets, [number // 4 for number in range(24)], [True] * 24)
    kind = np.arange(24) % 4
    bounds = replace(bounds_of(arrays), child_kind=kind, key_kind=kind)
    search = prepare_search(
        arrays,
        group_equal_sets(arrays.values),
        bounds,
        (np.ones(24, dtype=np.bool_), arrays.key),
        SourceOnly.of_none(24),
    )
    assert (np.diff(search.by_multiset.starts) > 1).any()
    found, several = [], []
    for block in (1 << 20, 100, 1):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(candidates, "BLOCK", block)
            ranges = list(search.ranges())
        several.append(len(ranges))
        assert [first for first, _ in ranges] == [0, *(last for _, last in ranges[:-1])]
        assert ranges[-1][1] == len(search.child_groups)
        parts = [np.stack(pair) for some in ranges for pair in search.pairs(*some, bounds)]
        found.append(sorted(np.concatenate(parts, axis=1).T.tolist()))
    assert several[0] == 1 < several[1] < several[2] == len(search.child_groups)
    assert found[0] == found[1] == found[2]
    assert len(found[0]) > 100
