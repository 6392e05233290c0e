"""What systems of one company do to keys, each case a small pile: which table is the master, and by
which names and values columns find it."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import dovetail

Rows = Sequence[Sequence[Any]]
NUMBERS = [104_000 + 37 * number for number in range(150)]
CODES = [f"{'QXZ'[n % 3]}{'LMN'[n % 5 % 3]}-{(n * 7919) % 90_000 + 10_000}" for n in range(200)]
WARDS = [f"{front} {back}" for front in ("North", "South", "Upper") for back in "abcdefgh"]


def database(file: Path, tables: Mapping[str, Rows]) -> None:
    """Write tables, each as its header and rows."""
    with closing(sqlite3.connect(file)) as connection, connection:
        for name, (header, *rows) in tables.items():
            connection.execute(f"CREATE TABLE {name} ({', '.join(header)})")
            marks = ", ".join("?" * len(header))
            connection.executemany(f"INSERT INTO {name} VALUES ({marks})", rows)


@pytest.fixture(scope="module")
def joins(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The joins of a hospital's systems and of the files that are exported from them."""
    folder = tmp_path_factory.mktemp("hospital")
    database(
        folder / "sap.sqlite",
        {
            "MAKT": [("MATNR", "SPRAS", "MAKTX"), *((n, "N", chr(n % 26 + 97)) for n in NUMBERS)],
            "MARA": [("MATNR", "MTART", "MEINS"), *((n, f"t{n % 3}", "ST") for n in NUMBERS)],
            "EKPO": [("EBELN", "MATNR"), *((n // 2, NUMBERS[n * 7 % 150]) for n in range(400))],
            "BKPF": [("BUKRS", "BELNR", "GJAHR", "XBLNR"), *(
                (f"Z{n % 2}", n // 3 + 1, 2021 + n % 3, f"x{n % 9}") for n in range(240)
            )],
            "BSEG": [("BUKRS", "BELNR", "GJAHR", "WRBTR"), *(
                (f"Z{n % 2}", n // 3 + 1, 2021 + n % 3, n / 7) for n in [*range(240)] * 2
            )],
        },
    )  # fmt: skip
    database(
        folder / "his.sqlite",
        {
            "ALLTAB": [("ALLCLS", "OMS"), *((n + 1, f"allergen {n}") for n in range(12))],
            "ALLERGI": [("VOLGNR", "ALLCLS"), *((n + 1, n * 5 % 12 + 1) for n in range(200))],
            "WARDS": [("NR", "CALLED"), *((7 * n, ward) for n, ward in enumerate(WARDS))],
            "TECHNICIAN": [("TECH_ID", "SINCE"), *((n + 1, n % 9) for n in range(45))],
            "RESULT": [("RES", "VALIDATED_BY"), *((n * 3, n * 7 % 45 + 1) for n in range(300))],
        },
    )
    database(
        folder / "shop.sqlite",
        {
            "article": [("ref", "shelf"), *((code.lower(), "abc"[n % 3])
                                            for n, code in enumerate(CODES[:140]))],
            "branch": [("branch_code", "town"), *(
                (f"B{n + 1:03d}", f"t{n % 7}") for n in range(120)
            )],
        },
    )  # fmt: skip
    database(
        folder / "stock.sqlite",
        {
            "INV_ITEMS": [("ROW_NO", "SEGMENT1"), *((3 * n + 1, code)
                                                    for n, code in enumerate(CODES))],
            "TRANSFERS": [("T_NO", "BRANCH"), *((5 * n + 2, n * 7 % 30 + 1) for n in range(300))],
        },
    )  # fmt: skip
    exports = folder / "drops"
    exports.mkdir()
    lines = [f"{n};{WARDS[n * 5 % 24].upper()}" for n in range(200)]
    (exports / "complaints.csv").write_text("\n".join(["nr;place", *lines]))
    lines = [f"{number};{n}" for n, number in enumerate(NUMBERS)]
    (exports / "prices.csv").write_text("\n".join(["material;price", *lines]))
    settings = dovetail.Settings(embedder="none")
    catalog = dovetail.build(folder, into=folder / "catalog", settings=settings)
    return {
        " and ".join(f"{e.left.name}.{a} = {e.right.name}.{b}" for a, b in e.columns)
        for e in catalog.joins()
    }


@pytest.mark.parametrize(
    "join",
    [
        # A table of texts by language has all keys, and is not where they are made.
        "EKPO.MATNR = MARA.MATNR",
        "MAKT.MATNR = MARA.MATNR",
        # Nor is a file among files.
        "drops/prices.material = MARA.MATNR",
        # A column that is called as the first column of another table is no measure.
        "ALLERGI.ALLCLS = ALLTAB.ALLCLS",
        # The columns before the last part of a key are parts of it.
        "BSEG.BUKRS = BKPF.BUKRS and BSEG.BELNR = BKPF.BELNR and BSEG.GJAHR = BKPF.GJAHR",
        # Files that people are sent have names instead of numbers.
        "drops/complaints.place = WARDS.CALLED",
        # Technicians are people, whom what they do refers to.
        "RESULT.VALIDATED_BY = TECHNICIAN.TECH_ID",
        # A system's own key refers to the longer list of another, where codes prove it.
        "article.ref = INV_ITEMS.SEGMENT1",
        # Letters before a key's numbers are the beginning of what a column of numbers is called.
        "TRANSFERS.BRANCH = branch.branch_code",
    ],
)
def test_systems_join_by_their_masters(joins: set[str], join: str) -> None:
    assert join in joins


def test_satellites_and_files_are_no_masters(joins: set[str]) -> None:
    assert not [join for join in joins if "= MAKT." in join or "= drops/" in join]
