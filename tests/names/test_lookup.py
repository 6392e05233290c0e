"""Names of columns and keys compared for many pairs at once, against one column at a time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dovetail.names import lookup
from dovetail.names.lookup import NameIndex, NameMatch
from dovetail.names.table_name import entity
from dovetail.names.words import core

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
    keys = np.flatnonzero(is_key)
    child, parent = np.repeat(np.arange(count), len(keys)), np.tile(keys, count)
    listed = [(entity(tables[key]), core(names[key])) for key in keys.tolist()]
    index = NameIndex(listed)
    expected = [
        key in keys[index.alike(core(names[column]))]
        for column, key in zip(child.tolist(), parent.tolist(), strict=True)
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lookup, "_TOGETHER", together)
        assert (
            NameMatch.of(names, np.arange(count), tables, keys)(child, parent).tolist() == expected
        )


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
    index = NameIndex([(entity(table), core(name)) for table, name in keys])
    expected = len(index.alike(core(column))) > few
    assert NameIndex.of_keys(tables, names).has_more_than(core(column), few) == expected
