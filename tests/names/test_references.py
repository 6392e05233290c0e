"""How far names refer to each other: as people mean them, and by the million as one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.names.references import (
    ROLE,
    NamePairs,
    abbreviations,
    heads,
    refers,
    word_likeness,
    word_weights,
)
from dovetail.names.table_name import entity
from dovetail.names.words import Words, core, is_people, is_role

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


def one_by_one(one: Words, other: Words) -> float:
    """How far one name refers to the other, the slow way: a pair at a time."""
    if not one or not other:
        return 0.0
    if "".join(one) == "".join(other):
        return 1.0
    named = weighted(other, one)
    if any(word_likeness(one[head], word) for head in heads(one) for word in other):
        named *= 0.5 + 0.5 * weighted(one, other)
    else:
        named /= 3
    return max(named, 0.8) if set(one) & set(abbreviations(other)) else named


def weighted(wanted: Words, among: Words) -> float:
    weights = word_weights(wanted)
    best = [max(word_likeness(word, other) for other in among) for word in wanted]
    return sum(w * likeness for w, likeness in zip(weights, best, strict=True)) / sum(weights)


@given(NAMES)
def test_pairs_refer_as_far_as_one_by_one(given_names: list[list[str]]) -> None:
    names = [tuple(name) for name in given_names]
    one, other = np.indices((len(names), len(names))).reshape(2, -1)
    expected = [one_by_one(names[i], names[j]) for i, j in zip(one, other, strict=True)]
    assert NamePairs.of(names).refers(one, other).tolist() == pytest.approx(expected, abs=1e-12)


def test_pairs_are_compared_block_by_block() -> None:
    names = [core("customer_id"), entity("customers"), core("cust_no"), core("city"), ()]
    one, other = np.array([0, 2, 3, 4] * 20_000), np.array([1, 1, 1, 1] * 20_000)
    found = NamePairs.of(names).refers(one, other).reshape(-1, 4)
    assert (found == found[0]).all()
    assert found[0].tolist() == pytest.approx([1.0, 0.72, 0.0, 0.0])


@pytest.mark.parametrize(
    ("column", "table", "low", "high"),
    [
        ("customer_id", "customers", 1.0, 1.0),
        ("cust_no", "Customers", 0.6, 0.9),
        ("dept", "tbl_department", 0.4, 0.7),
        ("created_by_staff", "staff", 0.6, 1.0),
        ("account_type", "account", 0.0, 0.4),
        ("city", "country", 0.0, 0.2),
        ("id", "customers", 0.0, 0.0),
        ("StuID", "Student", 0.7, 0.9),
        ("oid", "order", 0.1, 0.4),  # an initial, no word for any id
        ("Customer ID (ERP)", "crm.customers", 1.0, 1.0),
        ("customer_id", "exports/2024/customers", 1.0, 1.0),
        ("sales_rep_id", "sales.products", 0.0, 0.0),  # a schema is not what a table is about
    ],
)
def test_names_refer_as_people_mean_them(column: str, table: str, low: float, high: float) -> None:
    assert low <= refers([core(column)], [entity(table)])[0] <= high


@pytest.mark.parametrize(
    ("column", "table", "strength"),
    [
        ("sales_rep_id", "hr.employees", 0.6),
        ("approved_by", "users", 0.6),
        ("rep_id", "orders", 0.0),
        ("order_id", "employees", 0.0),
        ("manager_id", "employee_benefits", 0.0),  # about benefits
    ],
)
def test_roles_refer_to_tables_of_people(column: str, table: str, strength: float) -> None:
    assert ROLE * (is_role(core(column)) and is_people(entity(table))) == strength
