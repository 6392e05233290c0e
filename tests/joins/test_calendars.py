"""Calendars: every column of days refers to them, and they connect no two tables."""

from __future__ import annotations

import json
import random
from datetime import date, timedelta
from pathlib import Path

import pyarrow as pa
import pytest

import dovetail
from tests.support.command_line import run

DAYS = [date(2022, 1, 1) + timedelta(n) for n in range(1096)]
SETTINGS = dovetail.Settings(embedder="none")


def some_days(rows: int, seed: int) -> list[date]:
    return random.Random(seed).choices(DAYS, k=rows)


@pytest.fixture(scope="module")
def company(tmp_path_factory: pytest.TempPathFactory) -> dovetail.Catalog:
    """Orders of customers, shifts of employees, and a calendar of the fiscal year."""
    numbers = [700 + 7 * n for n in range(90)]
    staff = [31_000 + 13 * n for n in range(40)]
    tables = {
        "calendar": pa.table(
            {
                "day": DAYS,
                "fiscal_week": [n // 7 for n in range(1096)],
                "holiday": ["Christmas" if (d.month, d.day) == (12, 25) else None for d in DAYS],
            }
        ),
        "orders": pa.table(
            {
                "order_no": [5_001 + 3 * n for n in range(800)],
                "customer_no": [numbers[n * 7 % 90] for n in range(800)],
                "created_at": some_days(800, 1),
                "order_date": some_days(800, 2),
            }
        ),
        "customers": pa.table({"customer_no": numbers, "firm": [f"Firm {n}" for n in range(90)]}),
        "shifts": pa.table(
            {
                "shift_no": [90_001 + 11 * n for n in range(500)],
                "employee_no": [staff[n * 3 % 40] for n in range(500)],
                "shift_date": some_days(500, 3),
            }
        ),
        "employees": pa.table({"employee_no": staff, "person": [f"P. {n}" for n in range(40)]}),
    }
    into = tmp_path_factory.mktemp("company")
    return dovetail.build(tables, into=into / "catalog", settings=SETTINGS)


def test_days_refer_to_a_calendar_never_for_sure(company: dovetail.Catalog) -> None:
    told = company.calendar_joins()
    assert {(edge.left.name, edge.columns[0][0]) for edge in told} == {
        ("orders", "created_at"),
        ("orders", "order_date"),
        ("shifts", "shift_date"),
    }
    assert all(edge.by_days and edge.score <= 0.5 for edge in told)
    assert not any(edge.by_days for edge in company.joins())
    assert company.show("shifts")["calendars"] == [
        "shift_date: a day of memory::calendar.day",
    ]


def test_the_commands_mark_them(company: dovetail.Catalog) -> None:
    where = ("-C", str(company.folder))
    listed = json.loads(run("joins", "calendar", "--json", *where).stdout)["joins"]
    assert {edge["left"] for edge in listed} == {"memory::orders", "memory::shifts"}
    assert "days of a calendar" in " ".join(run("joins", "shifts", *where).stdout.split())
    assert not json.loads(run("joins", "calendar", "--least", "0.9", "--json", *where).stdout)[
        "joins"
    ]
    assert "shift_date: a day of memory::calendar.day" in run("show", "shifts", *where).stdout


@pytest.mark.parametrize(
    ("question", "column"),
    [
        ("How many orders are there per fiscal week?", "order_date"),
        ("How many orders were created per fiscal week?", "created_at"),
    ],
)
def test_a_question_for_what_it_alone_knows_joins_it(
    company: dovetail.Catalog, question: str, column: str
) -> None:
    answer = company.ask(question)
    assert {table.name for table in answer.tables} == {"calendar", "orders"}
    assert [edge.by_days for edge in answer.joins] == [True]
    assert f"orders.{column} = calendar.day" in answer.skeleton


def test_it_connects_no_two_tables(company: dovetail.Catalog) -> None:
    for question in ("orders and shifts", "customers of orders and employees with shifts"):
        answer = company.ask(question, breadth=0.9)
        assert "calendar" not in {table.name for table in answer.tables}


def test_days_refer_to_nothing_else(tmp_path: Path) -> None:
    """Birthdays that are all different are no calendar, though another table repeats them."""
    birthdays = [date(1950, 1, 1) + timedelta(37 * n) for n in range(400)]
    tables = {
        "person": pa.table({"person_no": range(70_001, 70_401), "birthday": birthdays}),
        "guest": pa.table({"room": [n % 30 for n in range(300)], "born": birthdays[:300]}),
    }
    edges = dovetail.build(tables, into=tmp_path / "catalog", settings=SETTINGS).joins(least=0.0)
    assert not [edge for edge in edges if edge.columns[0][1] in ("birthday", "born")]


@pytest.mark.parametrize("written", ["%Y%m%d", "%Y-%m-%d"])
def test_a_calendar_is_one_however_its_days_are_written(tmp_path: Path, written: str) -> None:
    days = [day.strftime(written) for day in DAYS if day.weekday() < 5]
    tables = {
        "CALEN00F": pa.table({"CADATA": days, "CASETT": [n // 5 for n in range(len(days))]}),
        "ORDIN00F": pa.table(
            {"ORNUM": range(1, 301), "ORDATA": [days[n * 31 % 700] for n in range(300)]}
        ),
    }
    (edge,) = dovetail.build(tables, into=tmp_path / "catalog", settings=SETTINGS).calendar_joins(
        "ORDIN00F"
    )
    assert (edge.right.name, edge.columns) == ("CALEN00F", (("ORDATA", "CADATA"),))
