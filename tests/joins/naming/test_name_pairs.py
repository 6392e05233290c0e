"""Names compared by the million, against one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.joins.naming.name_pairs import NamePairs
from dovetail.joins.naming.name_words import core, entity, refers

WORDS = [
    "a",
    "c",
    "cu",
    "cust",
    "customer",
    "customers",
    "of",
    "by",
    "for",
    "in",
    "the",
    "order",
    "orders",
    "item",
    "items",
    "lineitem",
    "account",
    "accounts",
    "type",
    "typ",
    "dept",
    "department",
    "d",
    "emp",
    "employee",
    "staff",
    "created",
    "s",
    "stu",
    "student",
    "udent",
    "id",
    "ö",
    "größe",
]
NAMES = st.lists(
    st.lists(st.one_of(st.sampled_from(WORDS), st.text("abc", min_size=1, max_size=6)), max_size=5),
    max_size=12,
)


@given(NAMES)
def test_pairs_refer_as_far_as_one_by_one(given_names: list[list[str]]) -> None:
    names = [tuple(name) for name in given_names]
    one, other = np.indices((len(names), len(names))).reshape(2, -1)
    expected = [refers(names[i], names[j]) for i, j in zip(one, other, strict=True)]
    assert NamePairs.of(names).refers(one, other).tolist() == pytest.approx(expected, abs=1e-12)


def test_pairs_are_compared_block_by_block() -> None:
    names = [core("customer_id"), entity("customers"), core("cust_no"), core("city"), ()]
    one, other = np.array([0, 2, 3, 4] * 20_000), np.array([1, 1, 1, 1] * 20_000)
    found = NamePairs.of(names).refers(one, other).reshape(-1, 4)
    assert (found == found[0]).all()
    assert found[0].tolist() == pytest.approx([1.0, 0.72, 0.0, 0.0])
