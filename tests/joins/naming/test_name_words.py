"""What names refer to."""

from __future__ import annotations

import pytest

from dovetail.joins.naming.name_words import core, entity, refers


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
    ],
)
def test_names_refer_as_people_mean_them(column: str, table: str, low: float, high: float) -> None:
    assert low <= refers(core(column), entity(table)) <= high
