"""What names refer to."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.domain import TableId
from dovetail.joins.naming.copies import Copies, copy_marks
from dovetail.joins.naming.name_words import core, entity, identifies, naming_convention, refers
from dovetail.joins.naming.persons import ROLE, is_people, is_role
from tests.support.column_arrays import arrays_of


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
    assert low <= refers(core(column), entity(table)) <= high


@pytest.mark.parametrize(
    ("name", "identifier"),
    [("Customer ID (ERP)", True), ("persnr", True), ("customer_nk", True), ("Days (net)", False)],
)
def test_an_id_word_may_be_glued_or_followed_by_a_remark(name: str, identifier: bool) -> None:
    assert identifies(name) is identifier


@pytest.mark.parametrize(
    ("table", "marks"),
    [
        ("orders", set()),
        ("erp.orders_bak_2021", {"bak", "2021"}),
        ("stg_orders", {"stg"}),
        ("orders_v2", {"v2"}),
        ("price_list_hist", {"hist"}),
        ("work_orders", set()),  # a word that marks copies elsewhere, and names a thing here
        ("archive", set()),  # says nothing else: it is not a copy of anything
        ("staging.orders", set()),  # a schema does not make a copy
        ("coldplay", set()),
    ],
)
def test_copies_are_told_by_what_people_add_to_a_name(table: str, marks: set[str]) -> None:
    assert copy_marks(table) == marks


def test_a_copy_is_referred_to_by_copies_of_its_kind_alone() -> None:
    names = ["orders", "stg_orders", "stg_customers", "bak_items_2021", "items_2021", "orders_v2"]
    arrays = replace(arrays_of([], [], []), ids=[TableId("s", name) for name in names])
    child, parent = np.indices((len(names), len(names))).reshape(2, -1)
    expected = [
        bool(copy_marks(names[p])) and not copy_marks(names[p]) <= copy_marks(names[c])
        for c, p in zip(child.tolist(), parent.tolist(), strict=True)
    ]
    assert Copies.of(arrays).among(child, parent).tolist() == expected
    assert {False, True} == set(expected)


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


@given(st.text("idIDaZ_ 0-é.\n", max_size=9))
def test_conventions_by_the_shape_of_a_name_are_those_of_the_name(name: str) -> None:
    parts = re.findall("[A-Za-z]+", name)
    cases = [
        "upper" if part.isupper() and len(part) > 1 else "title" if part[0].isupper() else "lower"
        for part in parts
    ]
    expected = [f"{'later' if place else 'first'} {case}" for place, case in enumerate(cases)]
    camel = re.search("[a-z][A-Z]", name) is not None
    if len(parts) > 1 or camel:
        separator = "_" if "_" in name.strip("_") else " " if " " in name else ""
        expected.append(f"between {separator}{'camel' if camel else ''}")
    if parts and parts[-1].lower() == "id":
        expected.append(f"id as {parts[-1]}")
    assert list(naming_convention(name)) == expected
