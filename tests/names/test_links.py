"""Names of keys looked up by words, against each of them."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from dovetail.names.links import NameIndex
from dovetail.names.references import refers
from dovetail.names.table_name import entity
from dovetail.names.words import core

WORDS = ("customer", "cust", "order", "item", "id", "no", "order_item", "o", "a", "2", "", "é")
NAMES = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map("_".join)


@settings(deadline=None, max_examples=100)
@given(st.lists(st.tuples(NAMES, NAMES), min_size=1, max_size=8), NAMES)
def test_what_a_name_refers_to_is_looked_up(keys: list[tuple[str, str]], column: str) -> None:
    names = [(entity(table), core(key)) for table, key in keys]
    alike = NameIndex(names).alike(core(column))
    for at, (about, called) in enumerate(names):
        referred = refers([core(column)] * 2, [about, called]).max() > 0
        assert at in alike or not referred
