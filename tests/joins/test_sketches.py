"""Sketches of value sets against Python sets."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dovetail.hashing import Hashes
from dovetail.joins import sketches
from dovetail.joins.candidate_search import group_equal_sets
from dovetail.joins.sketches import commonness, sample_places, sharing
from tests.support.column_arrays import COLUMNS, hashed, held


def test_sets_that_share_a_value_are_those_that_python_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    random = np.random.default_rng(3)
    # Some hashes differ in their last bits alone, so that the first ones do not tell them apart.
    pool = random.integers(0, 1 << 64, 400, dtype=np.uint64)
    pool = np.concatenate([pool, pool ^ np.uint64(1)])

    def column(size: int) -> Hashes:
        return np.unique(random.choice(pool, size))

    others = [column(40), column(3), column(1)]
    columns = [column(int(random.integers(1, 12))) for _ in range(200)]
    columns.append(np.empty(0, np.uint64))
    known = {int(value) for each in others for value in each}
    expected = [bool(known & {int(value) for value in each}) for each in columns]
    every = held([*columns, *others])
    chosen, rest = np.arange(len(columns)), np.arange(len(columns), len(every))
    for at_once in (1 << 24, 100, 1):
        monkeypatch.setattr(sketches, "_HASHES", at_once)
        assert sharing(every.take(chosen), every.take(rest)).tolist() == expected
    assert 0 < sum(expected) < len(expected)
    assert sharing(every.take(chosen[:0]), every.take(rest)).tolist() == []
    assert not sharing(every.take(chosen), every.take(rest[:0])).any()


@settings(deadline=None, max_examples=100)
@given(COLUMNS, st.sampled_from((1, 50, 1 << 22)), st.sampled_from((1, 40, 1 << 19)))
def test_equal_sets_and_common_values_are_those_that_python_says(
    columns: list[tuple[set[int], int, bool]], values: int, block: int
) -> None:
    """However the sets are cut into ranges and blocks."""
    sets, tables = [each for each, _, _ in columns], [table for _, table, _ in columns]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sketches, "_VALUES", values)
        patch.setattr(sketches, "_BLOCK", block)
        every = held([hashed(each) for each in sets])
        groups = group_equal_sets(every)
        common = commonness(every, np.array(tables, dtype=np.int64))
    for one, left in enumerate(sets):
        assert (groups.group_of[one] < 0) == (not left)
        if left:
            assert groups.values[int(groups.group_of[one])].tolist() == every[one].tolist()
    assert len(groups) == len({frozenset(each) for each in sets if each})
    for at, number in enumerate(common.tolist()):
        sampled = every[at][sample_places(every[at], every.counts(at))]
        holders = [
            len({t for t, each in zip(tables, every, strict=True) if value in each})
            for value in sampled
        ]
        assert number == pytest.approx(np.mean(np.log(holders)) if holders else 0.0)
