"""Tables as the search for families sees them."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import dovetail
from dovetail.settings import Settings


def build(file: Path) -> dovetail.Catalog:
    """A table of receipts and, beside it, those of a year that were moved away."""
    with closing(sqlite3.connect(file)) as db, db:
        for name, year in (("receipts", 2024), ("receipts_arch_2022", 2022)):
            db.execute(f"CREATE TABLE {name} (receipt_no INTEGER, bought_on TEXT, amount REAL)")
            db.executemany(
                f"INSERT INTO {name} VALUES (?, ?, ?)",
                [
                    (year * 1_000 + n, f"{year}-{n % 12 + 1:02}-{n % 28 + 1:02}", year + n / 7)
                    for n in range(200)
                ],
            )
    return dovetail.build(
        str(file), into=file.parent / "catalog", settings=Settings(embedder="none")
    )


@pytest.mark.parametrize("folder", ["shop", "tmp/backup/old"])
def test_where_a_file_lies_says_nothing_of_its_tables(tmp_path: Path, folder: str) -> None:
    place = tmp_path / folder
    place.mkdir(parents=True)
    (family,) = build(place / "pos.sqlite").families()
    assert family.canonical.name == "receipts"
    assert [(one.id.name, one.role.value, one.label) for one in family.members] == [
        ("receipts", "table", ""),
        ("receipts_arch_2022", "partition", "2022"),
    ]
