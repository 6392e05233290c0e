"""The inclusion engine against Python sets, and candidates against every pair of columns."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from dataclasses import replace
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
from dovetail.domain import TableId
from dovetail.hashing import Hashes, mix
from dovetail.joins.column_arrays import Flags, Ints, Lake, found_in
from dovetail.joins.inclusion import candidates
from dovetail.joins.inclusion import exact as inclusion
from dovetail.joins.inclusion.candidates import Candidates, find_candidates
from dovetail.joins.inclusion.equal_sets import group
from dovetail.joins.inclusion.exact import pairs, pairs_of, supersets
from dovetail.joins.scoring import features as evidence
from dovetail.joins.scoring import foreign_key
from dovetail.joins.value_index import index_segment as run
from dovetail.joins.value_index.postings import Postings
from dovetail.joins.value_index.row_sample import drawn_places


def hashed(values: set[int]) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    return np.sort(mix(np.array(sorted(values), dtype=np.uint64)))


def lake_of(sets: list[set[int]], tables: list[int], unique: list[bool]) -> Lake:
    """A lake of columns with these values, all named alike."""
    count = len(sets)
    number = max(tables, default=-1) + 1
    vectors = [hashed(values) for values in sets]
    counts = [
        np.full(len(values), 1 if u else 2, np.uint32)
        for values, u in zip(sets, unique, strict=True)
    ]
    return Lake(
        ids=[TableId("s", f"thing_{table}") for table in range(number)],
        rows=np.full(number, 100),
        table=np.array(tables, dtype=np.int64),
        position=np.ones(count, dtype=np.int64),
        name=["thing_id"] * count,
        number=np.ones(count, dtype=np.bool_),
        filled=np.array([int(c.sum()) for c in counts], dtype=np.int64),
        distinct=np.array([len(values) for values in sets], dtype=np.int64),
        unique=np.array(unique, dtype=np.bool_),
        key=np.array(unique, dtype=np.bool_),
        low=np.zeros(count),
        high=np.array([float(max(values, default=0)) for values in sets]),
        vectors=vectors,
        counts=counts,
    )


COLUMNS = st.lists(
    st.tuples(st.sets(st.integers(0, 60), max_size=40), st.integers(0, 4), st.booleans()),
    max_size=14,
)


@settings(deadline=None, max_examples=150)
@given(COLUMNS, st.integers(1, 20), st.sets(st.integers(0, 4)), st.sampled_from((1, 256, 10**6)))
def test_pairs_are_those_of_python_sets(
    columns: list[tuple[set[int], int, bool]], probes: int, fresh: set[int], few: int
) -> None:
    """All of them, and those of some tables by the index of values; `few` columns are not many, and
    no more candidates that fail are put up with."""
    sets = [values for values, _, _ in columns]
    tables, unique = [t for _, t, _ in columns], [u for _, _, u in columns]
    expected = {
        (i, j)
        for i, j in product(range(len(sets)), repeat=2)
        if tables[i] != tables[j] and (unique[i] or unique[j]) and sets[i] and sets[i] <= sets[j]
    }
    lake = lake_of(sets, tables, unique)
    flags = np.array([table in fresh for table in range(len(lake.ids))], dtype=np.bool_)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(inclusion, "PROBES", probes)
        patch.setattr(run, "_FEW", few)
        patch.setattr(inclusion, "_PATIENCE", few)
        found = listed(pairs(lake))
        those = listed(pairs_of(lake, Postings.of_lake(lake), flags))
    assert len(found) == len(set(found))
    assert set(found) == expected
    assert len(those) == len(set(those))
    assert set(those) == {(i, j) for i, j in expected if fresh & {tables[i], tables[j]}}


def listed(blocks: Iterable[tuple[Ints, Ints]]) -> list[tuple[int, int]]:
    return [
        pair for inner, outer in blocks for pair in zip(inner.tolist(), outer.tolist(), strict=True)
    ]


def listed_and_tried(lake: Lake, patience: int) -> tuple[list[tuple[int, int]], int]:
    """All pairs, and how many candidates were verified for them."""
    tried = 0
    verify = inclusion._lies_in

    def counting(inner: Hashes, outer: Hashes) -> bool:
        nonlocal tried
        tried += 1
        return verify(inner, outer)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(inclusion, "_lies_in", counting)
        patch.setattr(inclusion, "_PATIENCE", patience)
        found = listed(pairs(lake))
    return found, tried


def test_long_chains_are_found_by_transitivity() -> None:
    """A thousand nested sets: every pair is there, and few of them were verified."""
    sizes = range(20, 1020)
    lake = lake_of([set(range(size)) for size in sizes], list(range(1000)), [True] * 1000)
    found, tried = listed_and_tried(lake, inclusion._PATIENCE)
    assert len(found) == 1000 * 999 // 2
    assert tried < 1100


def test_near_misses_are_told_apart_together() -> None:
    """Two hundred sets that lack one or two of a thousand values: few candidates are verified."""
    random = np.random.default_rng(3)
    sets = [set(range(1000)) - {int(random.integers(1000)), place * 3} for place in range(200)]
    sets += [set(range(1000)), sets[7] - {5, 6, 8}]
    lake = lake_of(sets, list(range(len(sets))), [True] * len(sets))
    expected = {(i, j) for i, j in permutations(range(len(sets)), 2) if sets[i] <= sets[j]}
    found, few = listed_and_tried(lake, inclusion._PATIENCE)
    same, many = listed_and_tried(lake, len(sets))
    assert set(found) == set(same) == expected
    assert few < many / 2


def test_equal_sets_are_one_class_and_empty_ones_none() -> None:
    lake = lake_of([{1, 2}, set(), {2, 1}, {1, 2, 3}], [0, 1, 2, 3], [True, True, False, True])
    classes = group(lake)
    assert [len(vector) for vector in classes.vectors] == [3, 2]
    assert classes.of.tolist() == [1, -1, 1, 0]
    blocks = [np.column_stack(block).tolist() for block in supersets(classes)]
    assert sorted(pair for block in blocks for pair in block) == [[0, 0], [1, 0], [1, 1]]


def test_all_pairs_of_the_sample_are_those_of_python_sets(sample: dovetail.Catalog) -> None:
    lake = Lake.of(sample)
    sets = [set(vector.tolist()) for vector in lake.vectors]
    expected = {
        (i, j)
        for i, j in product(range(len(lake)), repeat=2)
        if lake.table[i] != lake.table[j]
        and (lake.unique[i] or lake.unique[j])
        and 0 < len(sets[i]) <= len(sets[j])
        and sets[i] <= sets[j]
    }
    found = set(listed(pairs(lake)))
    assert found == expected
    assert len(found) > 500


def brute_force(lake: Lake) -> dict[tuple[int, int], tuple[int, int]]:
    """Every column and key of two tables that hold enough of its rows: values in common, rows."""
    found = {}
    for i, j in product(range(len(lake)), repeat=2):
        if lake.table[i] == lake.table[j] or not lake.unique[j] or not len(lake.vectors[j]):
            continue
        held = found_in(lake.vectors[i], lake.vectors[j])
        rows = int(lake.counts[i][held].sum())
        if lake.filled[i] and rows >= lake.thresholds.rows * lake.filled[i]:
            found[i, j] = (int(held.sum()), rows)
    return found


def as_dict(found: Candidates) -> dict[tuple[int, int], tuple[int, int]]:
    parts = (found.child, found.parent, found.shared, found.rows)
    rows = zip(*(part.tolist() for part in parts), strict=True)
    return {(child, parent): (shared, held) for child, parent, shared, held in rows}


# One by one, as a product of matrices, that of few columns each, and in blocks of a few pairs.
WAYS = (
    {"_BUSY": 10**9},
    {"_BUSY": 1},
    {"_BUSY": 2, "_TOGETHER": 2},
    {"_BUSY": 1, "_BLOCK": 3, "_ROOM": 150},
)


@settings(deadline=None, max_examples=120)
@given(COLUMNS, st.sampled_from(WAYS), st.booleans())
def test_candidates_of_one_name_are_all_that_hold_enough_rows(
    columns: list[tuple[set[int], int, bool]], way: dict[str, int], hopeful: bool
) -> None:
    """All columns are named alike, so nothing may be left out but for rows, or for want of hope."""
    if not columns:
        return
    sets, tables, unique = (list(part) for part in zip(*columns, strict=True))
    lake = lake_of(sets, tables, unique)

    def hope(child: Ints, parent: Ints) -> Flags:
        return (child + parent) % 3 > 0

    expected = {
        pair: counts
        for pair, counts in brute_force(lake).items()
        if not hopeful or sum(pair) % 3 > 0
    }
    nothing = np.zeros(len(lake), dtype=np.bool_)
    with pytest.MonkeyPatch.context() as patch:
        for constant, value in way.items():
            patch.setattr(candidates, constant, value)
        found = find_candidates(lake, nothing, hope if hopeful else None)
    assert as_dict(found) == expected


def test_counts_of_rows_beyond_single_precision_are_exact() -> None:
    lake = lake_of([{1, 2}, {1, 2, 3}], [0, 1], [False, True])
    lake.counts[0][:] = (2**24, 1)
    lake.filled[0] = 2**24 + 1
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(candidates, "_BUSY", 1)
        found = find_candidates(lake, np.zeros(2, dtype=np.bool_))
    assert as_dict(found) == {(0, 1): (2, 2**24 + 1)}


def test_pairs_without_hope_have_no_odds(sample: dovetail.Catalog) -> None:
    """What `keylike` never counts would have come to nothing: as if it had counted everything."""
    lake = Lake.of(sample)
    values = evidence.surprise(lake, evidence.DEFAULT)
    everything = find_candidates(lake, values.telling)
    weighed = evidence.Evidence(lake, values)
    odds = evidence.local_odds(weighed.of(everything))
    best = evidence.local_odds(weighed.at_best(everything.child, everything.parent))
    assert (odds <= best).all()
    alive = everything.take(odds > evidence.DEFAULT.least)
    edges, _ = foreign_key.keylike(lake)
    assert as_dict(edges.candidates) == as_dict(alive)
    assert 50 < len(alive) < len(everything)


@settings(deadline=None, max_examples=60)
@given(COLUMNS)
def test_values_are_rare_that_few_tables_hold(
    columns: list[tuple[set[int], int, bool]],
) -> None:
    sets, tables = [values for values, _, _ in columns], [table for _, table, _ in columns]
    lake = lake_of(sets, tables, [unique for _, _, unique in columns])
    holders = {
        value: len({t for s, t in zip(sets, tables, strict=True) if value in s})
        for value in set().union(*sets)
    }
    drawn = [
        vector[drawn_places(vector, counts)].tolist()
        for vector, counts in zip(lake.vectors, lake.counts, strict=True)
    ]
    of = {int(mix(np.array([value], dtype=np.uint64))[0]): held for value, held in holders.items()}
    live = len(lake.ids)
    expected = [
        np.mean([np.log(live / of[value]) for value in values]) / np.log(max(live / 2, 2))
        if values
        else 0.0
        for values in drawn
    ]
    assert evidence.surprise(lake, evidence.DEFAULT).rare == pytest.approx(expected)


@settings(deadline=None)
@given(st.lists(st.sampled_from("abcdef"), min_size=1, max_size=12), st.data())
def test_many_clashes_are_those_of_single_pairs(names: list[str], data: st.DataObject) -> None:
    databases = foreign_key.Databases(names)
    table = st.integers(0, len(names) - 1)
    for one, other in data.draw(st.lists(st.tuples(table, table))):
        databases.join(one, other)
    pairs = np.array(list(product(range(len(names)), repeat=2)))
    expected = [databases.clash(one, other) for one, other in pairs.tolist()]
    assert databases.clashes(pairs[:, 0], pairs[:, 1]).tolist() == expected


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
    lake = Lake.of(dovetail.build(str(tmp_path), into=tmp_path / ".catalog"))
    found = {
        (lake.name[i], lake.name[j])
        for left, right in pairs(lake)
        for i, j in zip(left.tolist(), right.tolist(), strict=True)
    }
    assert (("inner", "outer") in found) is inside


def test_ten_million_distinct_values() -> None:
    values = np.sort(mix(np.arange(10_000_000, dtype=np.uint64)))
    few = lake_of([{1}, {1}], [0, 1], [True, True])
    vectors = [values, values[::2].copy()]
    counts = [np.ones(len(vector), dtype=np.uint32) for vector in vectors]
    lake = replace(few, vectors=vectors, counts=counts, distinct=np.array([10**7, 5 * 10**6]))
    found = [(inner.tolist(), outer.tolist()) for inner, outer in pairs(lake) if len(inner)]
    assert found == [([1], [0])]
