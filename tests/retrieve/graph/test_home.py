"""Tables of other systems: they stay in a set for what they add, and for nothing else."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

import dovetail
from dovetail.retrieve.graph.home import apart, stay_home

# ERP orders, ERP customers, shop orders.
SYSTEMS = ["erp", "erp", "shop"]
LIKELY = np.array([0.4, 0.2, 0.9], dtype=np.float32)


@pytest.mark.parametrize(
    ("covers", "kept"),
    [
        pytest.param([[1, 0, 1], [0.3, 1, 0.3]], [0, 1], id="the shop only says the same"),
        pytest.param([[1, 0, 1], [0.3, 1, 0.3], [0, 0, 1]], [2, 1], id="the shop has more of it"),
        pytest.param([[1, 0, 0], [0.3, 1, 0.3], [0, 0, 0.6]], [2, 0, 1], id="it has something new"),
        pytest.param([[1, 0, 1], [0, 0, 0.2]], [2], id="the likelier of two that fit alike"),
        pytest.param([], [2, 0, 1], id="no words: nothing to go by"),
    ],
)
def test_a_table_of_another_system_must_add_something(
    covers: list[list[float]], kept: list[int]
) -> None:
    rows = np.array(covers, dtype=np.float32).reshape(-1, 3)
    found = stay_home([2, 0, 1], SYSTEMS, rows, LIKELY)
    assert found == kept


def test_within_one_system_everything_stays() -> None:
    rows = np.array([[1, 1, 1]], dtype=np.float32)
    assert stay_home([0, 1, 2], ["erp"] * 3, rows, LIKELY) == [0, 1, 2]


def test_a_reading_over_two_systems_is_two_readings() -> None:
    rows = np.array([[1, 0, 1], [0.3, 1, 0.3]], dtype=np.float32)
    found = list(apart([2, 0, 1], SYSTEMS, rows, LIKELY))
    assert [places for places, _ in found] == [[0, 1], [2]]
    assert [share for _, share in found] == pytest.approx([0.4, 0.6])
    assert [places for places, _ in apart([0, 1], SYSTEMS, rows, LIKELY)] == [[0, 1]]


def test_two_systems_with_the_same_thing_give_a_set_of_one(tmp_path: Path) -> None:
    people = [(n, f"first{n}", f"last{n}", 1 + n % 3) for n in range(1, 60)]
    with closing(sqlite3.connect(tmp_path / "hr.sqlite")) as db:
        db.execute("CREATE TABLE employees (employee_id, first_name, last_name, office_id)")
        db.execute("CREATE TABLE offices (office_id, office_name, city)")
        db.executemany("INSERT INTO employees VALUES (?, ?, ?, ?)", people)
        towns = [(1, "North", "Aston"), (2, "South", "Bexley"), (3, "West", "Corby")]
        db.executemany("INSERT INTO offices VALUES (?, ?, ?)", towns)
        db.commit()
    with closing(sqlite3.connect(tmp_path / "warehouse.sqlite")) as db:
        db.execute("CREATE TABLE dim_employee (employee_key, employee_id, full_name, gender)")
        rows = [(900 + n, n, f"first{n} last{n}", "fm"[n % 2]) for n, *_ in people]
        db.executemany("INSERT INTO dim_employee VALUES (?, ?, ?, ?)", rows)
        db.commit()
    catalog = dovetail.build(
        *(f"{name}={tmp_path / name}.sqlite" for name in ("hr", "warehouse")), into=tmp_path / "c"
    )
    found = catalog.ask("In which city is the office of the employee First7 Last7?", breadth=0.8)
    assert {str(one.id) for one in found.tables} == {"hr::employees", "hr::offices"}
    held = {str(one.id): one.reason for one in found.tables}["hr::employees"]
    assert "First7 Last7" in held
