"""The table with the name of what others have the number of comes where the name is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

import dovetail
from dovetail.settings import Settings

RECEIPTS, LISTED = "goods_receipt", "vendors"
FIRST, LAST = ("Ada", "Ben", "Cleo", "Dora", "Emil"), ("Ash", "Birch", "Cedar", "Elm", "Fir", "Oak")
PLAIN = Settings(embedder="none")


def write(folder: Path, name: str, header: str, rows: Sequence[Sequence[object]]) -> None:
    lines = "".join(",".join(map(str, row)) + "\n" for row in rows)
    (folder / f"{name}.csv").write_text(f"{header}\n{lines}")


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> dovetail.Catalog:
    """Receipts with the numbers of suppliers, who are listed as vendors; loans with names."""
    folder = tmp_path_factory.mktemp("named")
    receipts = [(n, 7000 + n % 30, n % 7, f"D{n % 5}") for n in range(400)]
    write(folder, RECEIPTS, "receipt_no,supplier_no,pieces_damaged,dock", receipts)
    vendors = [(7000 + n, f"Harbour Metals {chr(65 + n)}", f"Town {n % 9}") for n in range(30)]
    write(folder, LISTED, "vendor_no,company,town", vendors)
    loans = [(n, f"Person {n % 40}", n * 10) for n in range(200)]
    write(folder, "loan", "loan_no,borrower_name,amount", loans)
    return dovetail.build(folder, into=folder / "catalog", settings=PLAIN)


@pytest.fixture(scope="module")
def plant(tmp_path_factory: pytest.TempPathFactory) -> dovetail.Catalog:
    """Faults with a list of types and the login of who closed them, whose name is that of an
    employee; repairs by employees on machines, which are of a class."""
    folder = tmp_path_factory.mktemp("labelled")
    types = [(f"T{n}", word) for n, word in enumerate(("Power cut", "Jam", "Overheat", "Strike"))]
    write(folder, "fault_type", "type_id,type_text", types)
    classes = [(f"K{n}", word) for n, word in enumerate(("Press", "Lathe", "Oven", "Saw", "Drill"))]
    write(folder, "machine_class", "class_code,class_text", classes)
    machines = [(f"M{n:03}", f"K{n % 5}", 1990 + n % 30) for n in range(60)]
    write(folder, "machine", "machine_no,class_code,built", machines)
    staff = [(5000 + n, FIRST[n % 5], LAST[n % 6], n % 4) for n in range(90)]
    write(folder, "employee", "employee_no,first_name,last_name,grade", staff)
    logins = [(f"u{n:04}", 5000 + n * 2, n % 3) for n in range(40)]
    write(folder, "logins", "login,employee_no,rights", logins)
    stops = [(n, f"T{n % 4}", f"u{n % 40:04}", n % 50) for n in range(300)]
    write(folder, "fault", "fault_no,type_id,closed_by,minutes", stops)
    repairs = [(n, f"M{n % 60:03}", 5000 + n % 80, n % 9) for n in range(500)]
    write(folder, "repair", "repair_no,machine_no,mechanic_no,hours", repairs)
    return dovetail.build(folder, into=folder / "catalog", settings=PLAIN)


@pytest.mark.parametrize(
    ("question", "comes"),
    [
        ("Damaged pieces of each goods receipt, by name of the supplier", True),
        ("Damaged pieces of goods receipts, with the supplier name", True),
        ("How many damaged pieces of goods receipts per supplier?", True),
        ("Which suppliers sent damaged pieces, by goods receipt?", True),
        ("Damaged pieces of goods receipts for each supplier sent back", True),
        ("How many damaged pieces had the goods receipts?", False),
        ("Damaged pieces of goods receipts by name of the dock", False),
        ("Amount of each loan by name of the borrower", False),
    ],
)
def test_names_come_from_where_they_stand(
    catalog: dovetail.Catalog, question: str, *, comes: bool
) -> None:
    found = catalog.ask(question)
    names = {table.name: table.reason for table in found.tables}
    assert any(LISTED in name for name in names) is comes, names
    assert any(RECEIPTS in name for name in names) or "loan" in question


@pytest.mark.parametrize(
    ("question", "tables"),
    [
        ("Minutes of fault", {"fault"}),
        ("Minutes of fault by kind of fault", {"fault", "fault_type"}),
        ("Minutes of each fault category", {"fault", "fault_type"}),
        ("Hours of repair", {"repair"}),
        ("Hours of repair per machine model", {"repair", "machine", "machine_class"}),
        ("Hours of repair by each mechanic, names please", {"repair", "employee"}),
        ("Who did the repair with most hours?", {"repair", "employee"}),
        ("Who closed the fault of most minutes?", {"fault", "logins", "employee"}),
        ("Minutes of faults for which controllers?", {"fault", "logins", "employee"}),
        ("Minutes of faults for which machines?", {"fault"}),
    ],
)
def test_labels_and_persons_come_from_where_they_stand(
    plant: dovetail.Catalog, question: str, tables: set[str]
) -> None:
    assert {table.name for table in plant.ask(question).tables} == tables


def test_the_reason_says_whose_names_they_are(
    catalog: dovetail.Catalog, plant: dovetail.Catalog
) -> None:
    found = catalog.ask("Damaged pieces of each goods receipt, by name of the supplier")
    reasons = [table.reason for table in found.tables if LISTED in table.name]
    assert reasons == [f"has the names of each supplier, to which {RECEIPTS} refers"]
    (join,) = found.joins
    assert join.columns == (("supplier_no", "vendor_no"),)
    reasons = [table.reason for table in plant.ask("Who closed the fault of most minutes?")]
    assert reasons[1:] == [
        "leads to employee, which has the names of each person",
        "has the names of each person, to which logins refers",
    ]
