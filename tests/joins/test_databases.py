"""Latent databases: clashes of many pairs are those of single pairs."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dovetail.joins.databases import LatentDatabases


@settings(deadline=None)
@given(st.lists(st.sampled_from("abcdef"), min_size=1, max_size=12), st.data())
def test_many_clashes_are_those_of_single_pairs(names: list[str], data: st.DataObject) -> None:
    databases = LatentDatabases(names)
    table = st.integers(0, len(names) - 1)
    for one, other in data.draw(st.lists(st.tuples(table, table))):
        databases.join(one, other)
    pairs = np.array(list(product(range(len(names)), repeat=2)))
    expected = [databases.clash(one, other) for one, other in pairs.tolist()]
    assert databases.clashes(pairs[:, 0], pairs[:, 1]).tolist() == expected
