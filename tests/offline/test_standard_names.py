"""Tables of standard software: described by their names, where nothing else says what they hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from dovetail.domain import DICTIONARY, Description
from dovetail.offline.standard_names import _known, described_as
from tests.offline.test_dictionary import build, fill


def test_saps_tables_are_found_by_what_they_hold(tmp_path: Path) -> None:
    path = tmp_path / "erp.sqlite"
    people = [(f"{n:010}", f"Firm {n}", "Gent") for n in range(5)]
    fill(path, "LFA1", "LIFNR, NAME1, ORT01", people)
    fill(path, "EKKO", "EBELN, LIFNR, BEDAT", [(n, f"{n:010}", "2024-01-02") for n in range(5)])
    fill(path, "ZBONUS", "LIFNR, KOSTL, STUFE", [(f"{n:010}", n, "a") for n in range(5)])
    fill(path, "T001", "id, label", [(n, f"l{n}") for n in range(5)])
    catalog, notices = build(path)
    assert notices == ()
    assert catalog.search("Which vendors are in Gent?", k=1)[0].name == "LFA1"
    assert catalog.search("purchase orders of 2024", k=1)[0].name == "EKKO"
    described = catalog.description("LFA1")
    assert described == Description(
        "suppliers, vendors, general master data",
        DICTIONARY,
        {"LIFNR": "supplier, vendor number", "NAME1": "name", "ORT01": "city, town"},
    )
    # Of a company's own table the columns are described; of one that is only called alike nothing.
    assert catalog["ZBONUS"].comment == ""
    assert catalog["ZBONUS"].column("KOSTL").comment == "cost centre number"
    assert not catalog.description("T001")


def test_what_the_pile_says_wins_over_the_standard(tmp_path: Path) -> None:
    path = tmp_path / "erp.sqlite"
    for name, key in (("LFA1", "LIFNR"), ("KNA1", "KUNNR"), ("MARA", "MATNR")):
        fill(path, name, f"{key}, NAME1", [(f"{name}{n}", f"N{n}") for n in range(5)])
    told = [("LFA1", "Our own suppliers"), ("KNA1", "Our own customers"), ("MARA", "Our parts")]
    fill(path, "DD02T", "TABNAME, DDTEXT", told)
    catalog, _ = build(path)
    assert catalog["KNA1"].comment == "Our own customers"
    assert catalog["KNA1"].column("KUNNR").comment == "customer number"


@pytest.mark.parametrize(
    ("name", "columns", "text"),
    [
        ("sap/VBAK", ["VBELN", "ERDAT", *(f"Z{n}" for n in range(90))], "sales order headers"),
        ("vbak", ["vbeln", "erdat"], "sales order headers"),
        ("VBAK", ["VBELN", "note"], ""),
        ("sales", ["VBELN", "note", "day"], ""),
    ],
)
def test_a_table_is_known_by_its_name_and_two_columns(
    name: str, columns: list[str], text: str
) -> None:
    assert described_as(name, columns).text == text


def test_each_name_is_written_as_the_system_writes_it_and_has_a_text() -> None:
    for names in _known():
        assert list(names) == sorted(name.upper() for name in names)
        assert all(text.strip() == text and text for text in names.values())
