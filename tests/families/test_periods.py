"""The times that questions name, and the members whose labels they meet."""

from __future__ import annotations

import pytest

from dovetail.domain import TableId
from dovetail.families.family import FamilyMember, Role
from dovetail.families.periods import label_period, named_by_time, periods, short_years


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("How many logins in 2022?", ["2022-01-01 2022-12-31"]),
        ("from 2019 to 2024", ["2019-01-01 2024-12-31"]),
        ("between 2019 and 2021", ["2019-01-01 2021-12-31"]),
        ("in 2019 and 2021", ["2019-01-01 2019-12-31", "2021-01-01 2021-12-31"]),
        ("2010\u20132014", ["2010-01-01 2014-12-31"]),
        ("in March 2024", ["2024-03-01 2024-03-31"]),
        ("January to March 2024", ["2024-01-01 2024-03-31"]),
        ("on July 4th, 2017", ["2017-07-04 2017-07-04"]),
        ("on 4 July 2017", ["2017-07-04 2017-07-04"]),
        ("from 2021-01-30 to 2021-02-02", ["2021-01-30 2021-02-02"]),
        ("in Q3 2023", ["2023-07-01 2023-09-30"]),
        ("in the third quarter of 2023", ["2023-07-01 2023-09-30"]),
        ("first half of 2023", ["2023-01-01 2023-06-30"]),
        ("in the 1990s", ["1990-01-01 1999-12-31"]),
        ("since 2020", ["2020-01-01 9999-12-31"]),
        ("before 2015", ["0001-01-01 2015-12-31"]),
        ("February 2024", ["2024-02-01 2024-02-29"]),
        ("orders worth more than 2000", []),
        ("order number 2021", []),
        ("invoice 20219 of account A2021", []),
        ("on 2021-02-31", []),
        ("may I see them?", []),
    ],
)
def test_periods(question: str, expected: list[str]) -> None:
    assert [f"{one.first} {one.last}" for one in periods(question)] == expected


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        ("2022", "2022-01-01 2022-12-31"),
        ("2024-02", "2024-02-01 2024-02-29"),
        ("2024-03-07", "2024-03-07 2024-03-07"),
        ("2023-Q4", "2023-10-01 2023-12-31"),
        ("1990/1999", "1990-01-01 1999-12-31"),
        ("2007 5", "2007-01-01 2007-12-31"),
        ("17", ""),
        ("", ""),
    ],
)
def test_labels(label: str, expected: str) -> None:
    found = label_period(label)
    assert (f"{found.first} {found.last}" if found else "") == expected


def members(*labels: str) -> list[FamilyMember]:
    return [FamilyMember(TableId("s", f"t_{one}"), Role.PARTITION, one) for one in labels]


def test_the_members_whose_times_are_asked_for_are_named() -> None:
    years = members("2019", "2020", "2021", "2022")
    assert [one.label for one in named_by_time(years, "from 2020 to 2021")] == ["2020", "2021"]
    assert named_by_time(years, "all of them") == []
    days = members("2017-07-31", "2017-08-01")
    assert [one.label for one in named_by_time(days, "in July 2017")] == ["2017-07-31"]
    assert named_by_time(members("1", "2", "3"), "in 2002") == []


def test_two_digits_are_years_only_where_they_can_be_nothing_else() -> None:
    elections = members("96", "98", "00", "02")
    assert [one.label for one in named_by_time(elections, "in 1998 or 2002")] == ["98", "02"]
    assert [one.label for one in named_by_time(members("14", "16", "18"), "in 2016")] == ["16"]
    assert short_years(["01", "02", "56"]) != {}
    assert short_years(["01", "02", "03"]) == {}
    assert short_years(["chr1", "2", "3"]) == {}
