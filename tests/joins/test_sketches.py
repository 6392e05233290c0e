"""Sketches of value sets against Python sets."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dovetail.joins import sketches
from dovetail.joins.candidates import group_equal_sets
from dovetail.joins.sketches import commonness, sample_places
from tests.support.column_arrays import COLUMNS, hashed, held


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
