"""Names of columns and keys compared for many pairs at once, against one column at a time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dovetail.domain import TableId
from dovetail.joins.naming import name_match
from dovetail.joins.naming.name_lookup import NameLookup
from dovetail.joins.naming.name_match import NameMatch
from tests.support.column_arrays import arrays_of

WORDS = (
    "customer",
    "cust",
    "order",
    "item",
    "id",
    "no",
    "order_item",
    "oi",
    "o",
    "a",
    "2",
    "",
    "é",
)
NAMES = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map("_".join)


@settings(deadline=None, max_examples=100)
@given(st.lists(st.tuples(NAMES, NAMES, st.booleans()), min_size=1, max_size=8), st.integers(1, 3))
def test_the_keys_that_match_are_those_looked_up(
    columns: list[tuple[str, str, bool]], together: int
) -> None:
    tables, names, is_key = zip(*columns, strict=True)
    count = len(columns)
    arrays = replace(
        arrays_of([{1}] * count, list(range(count)), list(is_key)),
        ids=[TableId("s", table) for table in tables],
        name=list(names),
    )
    keys = np.flatnonzero(arrays.key)
    child, parent = np.repeat(np.arange(count), len(keys)), np.tile(keys, count)
    lookup = NameLookup(arrays, keys)
    expected = [
        key in lookup.keys_named_by(names[column])
        for column, key in zip(child.tolist(), parent.tolist(), strict=True)
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(name_match, "_TOGETHER", together)
        assert NameMatch.of(arrays, keys)(child, parent).tolist() == expected


@settings(deadline=None, max_examples=100)
@given(
    st.lists(st.tuples(NAMES, NAMES), min_size=1, max_size=8),
    NAMES,
    st.integers(0, 8),
)
def test_whether_keys_are_more_than_a_few_is_told_without_a_list(
    keys: list[tuple[str, str]], column: str, few: int
) -> None:
    tables, names = zip(*keys, strict=True)
    count = len(keys)
    arrays = replace(
        arrays_of([{1}] * count, list(range(count)), [True] * count),
        ids=[TableId("s", table) for table in tables],
        name=list(names),
    )
    lookup = NameLookup(arrays, np.arange(count))
    assert lookup.names_more_than(column, few) == (len(lookup.keys_named_by(column)) > few)
