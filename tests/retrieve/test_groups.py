"""Which candidates belong together, which group is meant, and what is told of the others."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

import dovetail
from dovetail.domain import TableId
from dovetail.retrieve.groups import Pairs, belonging, groups, schema_of
from dovetail.retrieve.match import QueryMatch
from dovetail.search.neighbours import Neighbours

A, B, C = (TableId("s", name) for name in "abc")


def match(words: list[list[float]]) -> QueryMatch:
    """A question of equally heavy words; a row for each of them, a column for each candidate."""
    found = np.array(words, dtype=np.float32)
    count, none = found.shape[1], np.zeros(found.shape[1], dtype=np.float32)
    return QueryMatch(
        scores=none, names=none, columns=none, headers=none, gains=none, words=found, covers=found,
        word_weights=np.ones(len(found), dtype=np.float32), mass=float(len(found)),
        values=np.zeros((0, count), dtype=np.float32),
        value_weights=np.zeros(0, dtype=np.float32), plain=np.zeros(0, dtype=np.float32),
        content=np.ones(len(found), dtype=np.bool_), joins=np.eye(count, dtype=np.float32),
        defined=none, dense=none,
        value_signal=none, neighbours=none,
    )  # fmt: skip


def pairs(together: list[list[float]]) -> Pairs:
    matrix = np.array(together, dtype=np.float32)
    return Pairs(matrix, matrix, 0 * matrix, 0 * matrix, matrix)


APART = pairs([[1, 0.9, 0.01], [0.9, 1, 0.01], [0.01, 0.01, 1]])


def test_a_group_is_what_belongs_to_its_most_probable_table() -> None:
    likely = np.array([0.2, 0.6, 0.4], dtype=np.float32)
    first, other = groups(likely, APART, match([[1, 0, 1]]))
    assert (first.indices, other.indices) == ((1, 0), (2,))
    # In the ratio of 0.8 to 0.4, preferred by its power of 1.5.
    assert first.probability / other.probability == pytest.approx(2**1.5, rel=1e-2)
    assert first.probability + other.probability == pytest.approx(1)


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        pytest.param([[1, 0, 0], [0, 0, 1]], True, id="each says what the other does not"),
        pytest.param([[1, 0, 1], [0, 1, 0]], False, id="it says nothing new"),
        pytest.param([[1, 0, 1], [0, 0, 1]], False, id="it says all of it: another reading"),
        pytest.param([[1, 0, 0], [2 / 3, 0, 1]], False, id="named like a column"),
        pytest.param([[1, 0, 0], [0.3, 0, 1]], True, id="a key alone does not say it"),
    ],
)
def test_a_question_needs_both_groups_where_each_adds_to_the_other(
    words: list[list[float]], meant: bool
) -> None:
    likely = np.array([0.6, 0.2, 0.4], dtype=np.float32)
    first, other = groups(likely, APART, match(words))
    assert (first.meant, other.meant) == (True, meant)


def test_joins_and_spelling_say_what_belongs_together() -> None:
    def alone(path: float, apart: float, same_name: float) -> float:
        matrices = (np.array([[1, one], [one, 1]]) for one in (path, apart, same_name))
        return float(belonging(*matrices)[0, 1])

    assert alone(1.0, 0.0, 0.0) > 0.9
    assert alone(0.0, 0.0, 0.0) < 0.1
    assert alone(1.0, 2.0, 0.0) < alone(1.0, 0.0, 0.0)
    assert alone(1.0, 0.0, 1.0) < 0.1  # no database has two tables of one name


@pytest.mark.parametrize(
    ("table", "place"),
    [
        (TableId("erp", "sales.orders"), "erp::sales"),
        (TableId("crm.sqlite", "orders"), "crm.sqlite::"),
        (TableId("files", "exports/2024/orders.v2"), "files::exports/2024"),
    ],
)
def test_a_place_is_source_and_schema_or_folder(table: TableId, place: str) -> None:
    assert schema_of(table) == place


def test_paths_are_the_best_product_of_up_to_four_joins() -> None:
    rng = np.random.default_rng(3)
    count = 12
    scores = np.where(rng.random((count, count)) < 0.2, rng.random((count, count)), 0)
    scores = np.maximum(scores, scores.T).astype(np.float32)
    np.fill_diagonal(scores, 1)
    rows, others = np.nonzero(scores)
    starts = np.searchsorted(rows, np.arange(count + 1))
    joined = Neighbours(starts, others.astype(np.int32), scores[rows, others])
    best = scores.copy()
    for _ in range(3):  # one join more each time
        best = np.array(
            [[max(best[a, c] * scores[c, b] for c in range(count)) for b in range(count)]
             for a in range(count)]
        )  # fmt: skip
    tables = np.array([4, 0, 7])
    np.testing.assert_allclose(joined.paths(tables), best[np.ix_(tables, tables)], rtol=1e-5)


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


def _branch(file: Path, *, tables: Sequence[str], offset: int) -> Path:
    """A branch with customers and their orders, under keys of its own."""
    customers, orders = tables
    with sqlite3.connect(file) as connection:
        connection.executescript(
            f"CREATE TABLE {customers} (customer_no TEXT PRIMARY KEY, customer_name TEXT);"
            f"CREATE TABLE {orders} (order_no TEXT PRIMARY KEY, customer_no TEXT, state TEXT);"
        )
        rows = [(f"K{offset + n}", f"Customer {offset + n}") for n in range(40)]
        connection.executemany(f"INSERT INTO {customers} VALUES (?, ?)", rows)
        made = [
            (f"B{offset + n}", f"K{offset + n % 40}", ("open", "paid", "late")[n % 3])
            for n in range(200)
        ]
        connection.executemany(f"INSERT INTO {orders} VALUES (?, ?, ?)", made)
    return file


@pytest.mark.parametrize(
    "tables", [("customers", "orders"), ("kunden", "auftraege"), ("patients", "visits")]
)
def test_of_what_branches_call_alike_one_branch_is_meant(
    tmp_path: Path, tables: tuple[str, str]
) -> None:
    branches = {"north": 1000, "south": 5000, "west": 9000}
    files = {
        name: _branch(tmp_path / f"{name}.sqlite", tables=tables, offset=offset)
        for name, offset in branches.items()
    }
    sources = [f"{name}={file}" for name, file in files.items()]
    settings = dovetail.Settings(embedder="none")
    catalog = dovetail.build(*sources, into=tmp_path / "catalog", settings=settings)
    parents, children = tables
    found = catalog.ask(f"How many {children} are there for each of the {parents}?")
    assert sorted(table.name for table in found.tables) == sorted(tables)
    assert len({table.source for table in found.tables}) == 1
    assert len(found.joins) == 1
    # The other branches are other readings, each whole.
    others = [sorted(map(str, other.tables)) for other in found.alternatives]
    systems = {names[0].split("::")[0] for names in others}
    assert all([name.split("::")[1] for name in names] == sorted(tables) for names in others)
    assert systems | {found.tables[0].source} == branches.keys()
