"""What names refer to among all tables, against each of them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dovetail.names.links import _referred
from dovetail.names.references import refers
from dovetail.names.table_name import entity
from dovetail.names.words import core

WORDS = ("customer", "cust", "order", "item", "id", "no", "order_item", "o", "a", "2", "", "é")
NAMES = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map("_".join)


@settings(deadline=None, max_examples=100)
@given(st.lists(NAMES, min_size=1, max_size=8), st.sets(NAMES, min_size=1, max_size=4))
def test_what_names_refer_to_is_found_among_all(tables: list[str], columns: set[str]) -> None:
    called = {core(column) for column in columns} - {()}
    named: list[Any] = [SimpleNamespace(name=table) for table in tables]
    found = _referred(called, named)
    for name in called:
        for at, table in enumerate(tables):
            far = float(refers([name], [entity(table)])[0])
            alike = not {word[0] for word in name}.isdisjoint(word[0] for word in entity(table))
            expected = pytest.approx(far) if alike and far >= 0.6 else None
            assert found.get(name, {}).get(at) == expected
