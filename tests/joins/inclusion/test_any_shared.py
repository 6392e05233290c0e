"""Columns that can match a transformed one: by bits of hashes, against Python sets."""

from __future__ import annotations

import numpy as np

from dovetail.hashing import Hashes
from dovetail.joins.inclusion.any_shared import any_shared


def test_columns_that_share_a_value_are_those_that_sets_say() -> None:
    random = np.random.default_rng(3)
    # Some hashes differ in their last bits alone, so that the first ones do not tell them apart.
    pool = random.integers(0, 1 << 64, 400, dtype=np.uint64)
    pool = np.concatenate([pool, pool ^ np.uint64(1)])

    def column(size: int) -> Hashes:
        return np.unique(random.choice(pool, size))

    views = [column(40), column(3), column(1)]
    columns = [column(int(random.integers(1, 12))) for _ in range(200)]
    columns.append(np.empty(0, np.uint64))
    known = {int(value) for view in views for value in view}
    expected = [bool(known & {int(value) for value in each}) for each in columns]
    assert any_shared(columns, views).tolist() == expected
    assert 0 < sum(expected) < len(expected)
    assert any_shared([], views).tolist() == []
