"""Numbers of several systems: which keys are the same, which table a column of them refers to, and
which letters before them say that they are of something else."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import dovetail
from tests.joins.test_systems import Rows, database

DRAW = random.Random(3)
STOPS = range(10_001, 10_421)
LINES = sorted(DRAW.sample(range(1, 131), 65))
STAFF = range(201, 249)


def some(numbers: list[int] | range, rows: int) -> list[int]:
    """All numbers, and some of them again."""
    return [*numbers, *DRAW.choices(list(numbers), k=rows - len(numbers))]


OPS: dict[str, Rows] = {
    "stop": [("stop_id", "shelter"), *((n, n % 2) for n in STOPS)],
    "route": [("route_code", "colour"), *((f"L{n}", "rgb"[n % 3]) for n in LINES)],
    "purchase_order": [
        ("po_no", "total"),
        *((f"PO-{23 + n // 500}-{n % 500 + 2:05d}", n * 7 % 900 + 0.5) for n in range(1000)),
    ],
    "asn": [
        ("asn_no", "po_ref"),
        *((n, f"po{23 + n * 7 % 1000 // 500}{n * 7 % 500 + 2:05d}") for n in range(600)),
    ],
}
STOCK: dict[str, Rows] = {
    "stock_move": [
        ("move_id", "pieces"),
        *((y * 100_000 + n, n % 9) for y in (23, 24) for n in range(7000)),
    ],
}
TOWN: dict[str, Rows] = {
    "hpl": [("hpl_nr", "zon", "namn"), *((n, n % 4, f"Torg {n}") for n in STOPS)],
    "linje": [("linje_nr", "typ"), *((n, "xyz"[n % 3]) for n in LINES)],
    "mitarbeiter": [("pers_nr", "seit"), *((n, n % 9 + 2001) for n in STAFF)],
    "auftrag": [("auftrag_nr", "erfasser"), *enumerate(some(STAFF, 900), 5001)],
    "halt": [("skylt", "text"), *((n, f"Torg {s}") for n, s in enumerate(some(STOPS, 600), 1))],
}
FARES: dict[str, Rows] = {
    "validation": [("ticket", "line"), *((f"t{n}", x) for n, x in enumerate(some(LINES, 4000)))],
}


@pytest.fixture(scope="module")
def joins(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The joins of a town's traffic."""
    folder = tmp_path_factory.mktemp("town")
    for name, tables in (("ops", OPS), ("stock", STOCK), ("town", TOWN), ("fares", FARES)):
        database(folder / f"{name}.sqlite", tables)
    settings = dovetail.Settings(embedder="none")
    catalog = dovetail.build(folder, into=folder / "catalog", settings=settings)
    return {
        f"{e.left.name}.{e.columns[0][0]} = {e.right.name}.{e.columns[0][1]}"
        for e in catalog.joins(least=0.5)
    }


@pytest.mark.parametrize(
    ("join", "there"),
    [
        # Two keys hold the same numbers, with a base, from end to end: they are of one domain.
        ({"stop.stop_id = hpl.hpl_nr", "hpl.hpl_nr = stop.stop_id"}, True),
        # Numbers with gaps, all of which are missed, behind letters or not.
        ({"route.route_code = linje.linje_nr", "linje.linje_nr = route.route_code"}, True),
        ({"validation.line = linje.linje_nr"}, True),
        # From end to end of a key with a base, numbers are no measure.
        ({"auftrag.erfasser = mitarbeiter.pers_nr"}, True),
        # An order's number is one letters and all, whatever else is numbered so.
        ({"asn.po_ref = purchase_order.po_no"}, True),
        ({"asn.po_ref = stock_move.move_id"}, False),
        ({"purchase_order.po_no = stock_move.move_id"}, False),
        # What a stop is called is no key.
        ({"halt.text = hpl.namn"}, False),
    ],
)
def test_numbers_refer_to_the_key_that_they_are_of(
    joins: set[str], join: set[str], there: bool
) -> None:
    assert bool(join & joins) == there


@pytest.mark.parametrize(
    ("table", "key", "column"),
    [
        ("shopper", "id", "referred_by"),
        ("product", "product_id", "bundle_of"),
        ("category", "cat_id", "parent_cat"),
        ("customer", "customer_id", "parent_customer_id"),
        ("item", "item_no", "replaces_item_no"),
        ("anst", "anst_nr", "chef_nr"),
    ],
)
def test_a_role_names_another_row_of_the_same_table(
    tmp_path: Path, table: str, key: str, column: str
) -> None:
    rows = [(n, n * 7 % n + 1 if n % 3 else None, n / 7) for n in range(1, 301)]
    database(
        tmp_path / "one.sqlite",
        {
            table: [(key, column, "size"), *rows],
            # What a copy holds is of the table that it is made from.
            "mart_sums": [(key, "total"), *((n, n * 3) for n in range(1, 301))],
        },
    )
    settings = dovetail.Settings(embedder="none")
    catalog = dovetail.build(tmp_path / "one.sqlite", into=tmp_path / "catalog", settings=settings)
    parents = {(e.right.name, e.columns) for e in catalog.joins(table) if e.left.name == table}
    assert parents == {(table, ((column, key),))}


def test_parts_of_keys_may_be_called_otherwise(tmp_path: Path) -> None:
    """The day of a trip, the term of another system, and a course that another one requires."""
    days = [f"2024-03-{day:02d}" for day in range(1, 29)]
    trips = [(f"T{n:03d}", day) for n in range(60) for day in days if (n + int(day[-2:])) % 3]
    courses = [(f"S{a}X", 100 + b * 10) for a in range(9) for b in range(30) if (a * 7 + b) % 3]
    terms = [(f"{y}{t}0", 20_000 + n) for y in (2022, 2023) for t in (1, 3) for n in range(80)]
    database(
        tmp_path / "own.sqlite",
        {
            "run": [("trip_id", "operating_day", "km"), *((*t, n) for n, t in enumerate(trips))],
            "complaint": [
                ("no", "trip_id", "trip_day"),
                *((n, *DRAW.choice(trips)) for n in range(200)),
            ],
            "catalog": [("subj_code", "crse_numb", "title"), *((*c, "x") for c in courses)],
            "requires": [
                ("subj_code", "crse_numb", "subj_code_preq", "crse_numb_preq"),
                *((*DRAW.choice(courses), *DRAW.choice(courses)) for _ in range(150)),
            ],
            "section": [("term_code", "crn", "seats"), *((*t, 30) for t in terms)],
        },
    )
    database(
        tmp_path / "survey.sqlite",
        {"answer": [("sheet", "term", "crn"), *((n, *DRAW.choice(terms)) for n in range(400))]},
    )
    settings = dovetail.Settings(embedder="none")
    sources = [tmp_path / "own.sqlite", tmp_path / "survey.sqlite"]
    joins = dovetail.build(*sources, into=tmp_path / "catalog", settings=settings).joins(least=0.5)
    composite = {
        (e.left.name, e.right.name, tuple(sorted(e.columns))) for e in joins if e.columns[1:]
    }
    assert composite == {
        ("complaint", "run", (("trip_day", "operating_day"), ("trip_id", "trip_id"))),
        ("requires", "catalog", (("crse_numb", "crse_numb"), ("subj_code", "subj_code"))),
        ("requires", "catalog", (("crse_numb_preq", "crse_numb"), ("subj_code_preq", "subj_code"))),
        ("answer", "section", (("crn", "crn"), ("term", "term_code"))),
    }


@pytest.mark.parametrize(
    ("tables", "others"),
    [
        # One system and two: zones are no orders, and no order's zone is one.
        ({"picks": [("pick_id", "zone"), *((1000 + n, f"Z{n % 60 + 1}") for n in range(300))]}, {}),
        ({"picks": [("pick_id", "door"), *((1000 + n, f"D{n % 60 + 1}") for n in range(300))]}, {}),
        ({}, {"picks": [("pick_id", "zone"), *((1000 + n, f"Z{n % 60 + 1}") for n in range(300))]}),
        (
            {},
            {
                "picks": [
                    ("pick_id", "order_zone"),
                    *((1000 + n, f"Z{n % 60 + 1}") for n in range(300)),
                ]
            },
        ),
    ],
)
def test_a_few_numbers_after_letters_are_of_nothing_that_is_counted_alike(
    tmp_path: Path, tables: dict[str, Rows], others: dict[str, Rows]
) -> None:
    orders: Rows = [("order_no", "remark"), *((n, "abc"[n % 3]) for n in range(1, 61))]
    database(tmp_path / "shop.sqlite", {"orders": orders, **tables})
    if others:
        database(tmp_path / "depot.sqlite", others)
    catalog = dovetail.build(*sorted(tmp_path.glob("*.sqlite")), into=tmp_path / "catalog")
    assert not catalog.joins()


def test_a_few_numbers_after_the_letters_of_a_table_are_of_it(tmp_path: Path) -> None:
    database(
        tmp_path / "hr.sqlite",
        {"employees": [("employee_no", "wing"), *((n, "abc"[n % 3]) for n in range(1, 61))]},
    )
    picks: Rows = [("pick_id", "picker"), *((1000 + n, f"E{n % 60 + 1}") for n in range(300))]
    database(tmp_path / "depot.sqlite", {"picks": picks})
    catalog = dovetail.build(*sorted(tmp_path.glob("*.sqlite")), into=tmp_path / "catalog")
    (edge,) = catalog.joins()
    assert (edge.columns, edge.transform) == ((("picker", "employee_no"),), "prefix")
