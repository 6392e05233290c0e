"""Exact inclusion dependencies against Python sets."""

from __future__ import annotations

import datetime as dt
from itertools import permutations, product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dovetail
from dovetail.hashing import Hashes
from dovetail.joins.candidate_search import group_equal_sets
from dovetail.joins.column_arrays import ColumnArrays
from dovetail.joins.inclusion import exact as inclusion
from dovetail.joins.inclusion.exact import pairs, supersets
from tests.support.column_arrays import COLUMNS, arrays_of, listed


@settings(deadline=None, max_examples=150)
@given(COLUMNS, st.integers(1, 20), st.sampled_from((1, 256, 10**6)))
def test_pairs_are_those_of_python_sets(
    columns: list[tuple[set[int], int, bool]], sketch_size: int, few: int
) -> None:
    """No more than a few candidates that fail are put up with."""
    sets = [values for values, _, _ in columns]
    tables, unique = [t for _, t, _ in columns], [u for _, _, u in columns]
    expected = {
        (i, j)
        for i, j in product(range(len(sets)), repeat=2)
        if tables[i] != tables[j] and (unique[i] or unique[j]) and sets[i] and sets[i] <= sets[j]
    }
    arrays = arrays_of(sets, tables, unique)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(inclusion, "SKETCH_SIZE", sketch_size)
        patch.setattr(inclusion, "_PATIENCE", few)
        found = listed(pairs(arrays))
    assert len(found) == len(set(found))
    assert set(found) == expected


def listed_and_tried(arrays: ColumnArrays, patience: int) -> tuple[list[tuple[int, int]], int]:
    """All pairs, and how many candidates were verified for them."""
    tried = 0
    verify = inclusion._is_contained

    def counting(inner: Hashes, outer: Hashes) -> bool:
        nonlocal tried
        tried += 1
        return verify(inner, outer)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(inclusion, "_is_contained", counting)
        patch.setattr(inclusion, "_PATIENCE", patience)
        found = listed(pairs(arrays))
    return found, tried


def test_long_chains_are_found_by_transitivity() -> None:
    """A thousand sets one in the other: every pair is there, and few of them were verified."""
    sizes = range(20, 1020)
    arrays = arrays_of([set(range(size)) for size in sizes], list(range(1000)), [True] * 1000)
    found, tried = listed_and_tried(arrays, inclusion._PATIENCE)
    assert len(found) == 1000 * 999 // 2
    assert tried < 1100


def test_near_misses_are_told_apart_together() -> None:
    """Two hundred sets that lack one or two of a thousand values: few candidates are verified."""
    random = np.random.default_rng(3)
    sets = [set(range(1000)) - {int(random.integers(1000)), place * 3} for place in range(200)]
    sets += [set(range(1000)), sets[7] - {5, 6, 8}]
    arrays = arrays_of(sets, list(range(len(sets))), [True] * len(sets))
    expected = {(i, j) for i, j in permutations(range(len(sets)), 2) if sets[i] <= sets[j]}
    found, few = listed_and_tried(arrays, inclusion._PATIENCE)
    same, many = listed_and_tried(arrays, len(sets))
    assert set(found) == set(same) == expected
    assert few < many / 2


def test_equal_sets_are_one_group_and_empty_ones_none() -> None:
    arrays = arrays_of([{1, 2}, set(), {2, 1}, {1, 2, 3}], [0, 1, 2, 3], [True, True, False, True])
    groups = group_equal_sets(arrays.values)
    assert [len(vector) for vector in groups.values] == [3, 2]
    assert groups.group_of.tolist() == [1, -1, 1, 0]
    blocks = [np.column_stack(block).tolist() for block in supersets(groups)]
    assert sorted(pair for block in blocks for pair in block) == [[0, 0], [1, 0], [1, 1]]


def test_all_pairs_of_the_sample_are_those_of_python_sets(sample: dovetail.Catalog) -> None:
    arrays = ColumnArrays.of(sample)
    sets = [set(vector.tolist()) for vector in arrays.values]
    expected = {
        (i, j)
        for i, j in product(range(len(arrays)), repeat=2)
        if arrays.table[i] != arrays.table[j]
        and (arrays.unique[i] or arrays.unique[j])
        and 0 < len(sets[i]) <= len(sets[j])
        and sets[i] <= sets[j]
    }
    found = set(listed(pairs(arrays)))
    assert found == expected
    assert len(found) > 500


@pytest.mark.parametrize(
    ("inner", "outer", "inside"),
    [
        ([1, 2], ["1", "2.0", "x"], True),
        ([1, 2], ["01", "02", "1"], False),
        ([1.0, -0.0], [0, 1, 7], True),
        ([1.5, float("nan")], ["1.50", "9"], True),
        ([True, False], [0, 1, 2], False),
        (["a ", " b"], ["a", "b", "c"], True),
        (["a", ""], ["a", "b"], True),
        (["A"], ["a", "b"], False),
        ([dt.date(2024, 1, 1)], ["2024-01-01", "2024-01-02"], True),
        ([dt.datetime(2024, 1, 1)], [dt.date(2024, 1, 1), dt.date(2024, 1, 2)], True),
        ([dt.datetime(2024, 1, 1, 9)], [dt.date(2024, 1, 1), dt.date(2024, 1, 2)], False),
        ([b"a"], ["a", "b"], False),
        ([b"\xff"], [b"\xff", b""], True),
        ([None, None], ["a", "b"], False),
    ],
)
def test_odd_values_are_in_each_other_as_documented(
    inner: list[Any], outer: list[Any], inside: bool, tmp_path: Path
) -> None:
    pq.write_table(pa.table({"inner": inner, "id": range(len(inner))}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"outer": outer}), tmp_path / "b.parquet")
    pq.write_table(pa.table({"outer": pa.array([], pa.int64())}), tmp_path / "empty.parquet")
    arrays = ColumnArrays.of(dovetail.build(str(tmp_path), into=tmp_path / ".catalog"))
    found = {
        (arrays.name[i], arrays.name[j])
        for left, right in pairs(arrays)
        for i, j in zip(left.tolist(), right.tolist(), strict=True)
    }
    assert (("inner", "outer") in found) is inside
