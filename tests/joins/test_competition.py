"""Candidates in the order of their names, against names compared as they are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dovetail.domain import TableId
from dovetail.joins.candidates import Candidates
from dovetail.joins.databases import _name_order
from tests.support.column_arrays import arrays_of

NAMES = st.sampled_from(["b", "a", "B", "é", "aa", ""])


@settings(deadline=None)
@given(
    st.lists(NAMES, min_size=6, max_size=6),
    st.lists(NAMES, min_size=3, max_size=3),
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=12),
)
def test_edges_are_ordered_by_their_names(
    names: list[str], tables: list[str], pairs: list[tuple[int, int]]
) -> None:
    arrays = replace(
        arrays_of([{1}] * 6, [0, 0, 1, 1, 2, 2], [True] * 6),
        ids=[TableId(f"s{place}", name) for place, name in enumerate(tables)],
        name=names,
    )
    child, parent = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    counts = np.ones(len(pairs), dtype=np.int64)
    called = [(tables[p // 2], tables[c // 2], names[c], names[p]) for c, p in pairs]
    places = {name: place for place, name in enumerate(sorted(set(called)))}
    found = _name_order(arrays, Candidates(child, parent, counts, counts))
    assert found.tolist() == [places[name] for name in called]
