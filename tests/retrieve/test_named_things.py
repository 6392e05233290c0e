"""The table with the name of what others have the number of comes where the name is asked for."""

from __future__ import annotations

import pytest

import dovetail
from dovetail.settings import Settings

RECEIPTS, LISTED = "goods_receipt", "vendors"


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> dovetail.Catalog:
    """Receipts with the numbers of suppliers, who are listed as vendors; loans with names."""
    folder = tmp_path_factory.mktemp("named")
    receipts = "".join(f"{n},{7000 + n % 30},{n % 7},D{n % 5}\n" for n in range(400))
    vendors = "".join(f"{7000 + n},Harbour Metals {chr(65 + n)},Town {n % 9}\n" for n in range(30))
    loans = "".join(f"{n},Person {n % 40},{n * 10}\n" for n in range(200))
    (folder / f"{RECEIPTS}.csv").write_text(
        f"receipt_no,supplier_no,pieces_damaged,dock\n{receipts}"
    )
    (folder / f"{LISTED}.csv").write_text(f"vendor_no,company,town\n{vendors}")
    (folder / "loan.csv").write_text(f"loan_no,borrower_name,amount\n{loans}")
    plain = Settings(embedder="none")
    return dovetail.build(folder, into=folder / "catalog", settings=plain)


@pytest.mark.parametrize(
    ("question", "comes"),
    [
        ("Damaged pieces of each goods receipt, by name of the supplier", True),
        ("Damaged pieces of goods receipts, with the supplier name", True),
        ("How many damaged pieces of goods receipts per supplier?", True),
        ("Which suppliers sent damaged pieces, by goods receipt?", True),
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


def test_the_reason_says_whose_names_they_are(catalog: dovetail.Catalog) -> None:
    found = catalog.ask("Damaged pieces of each goods receipt, by name of the supplier")
    reasons = [table.reason for table in found.tables if LISTED in table.name]
    assert reasons == [f"has the names of each supplier, to which {RECEIPTS} refers"]
    (join,) = found.joins
    assert join.columns == (("supplier_no", "vendor_no"),)
