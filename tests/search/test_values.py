"""The value index against a look through every column, across updates of a catalog."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

import dovetail
from dovetail.catalog.reader import CatalogReader
from dovetail.errors import DamagedError
from dovetail.hashing import hash_values, text_array
from dovetail.phrases import cell_phrases
from dovetail.search import values
from dovetail.search.values import ValueIndex
from tests.support.contents import phrases

TOWNS = ["Riverside", "New York", "São Paulo", "Lake Forest", "Oslo", "Bern", "York"]


def look(catalog: CatalogReader, value: int) -> list[int]:
    """The columns that hold a phrase, or a value that is none, slowly."""
    places = [(table.id, at) for table in catalog for at in range(len(table.columns))]
    return [
        number
        for number, place in enumerate(places)
        if value in phrases(catalog, *place) or value in catalog.hashes(*place).tolist()
    ]


def check(catalog: CatalogReader) -> None:
    numbers = hash_values(text_array(["3", "2024-05-01"]))
    asked = np.concatenate([cell_phrases([*TOWNS, "x3", "nowhere"]), numbers])
    places, columns = ValueIndex.of(catalog).columns_holding(asked)
    found = [columns[places == place].tolist() for place in range(len(asked))]
    assert found == [look(catalog, int(phrase)) for phrase in asked]
    assert any(found)


def write(folder: Path, name: str, drawn: random.Random) -> None:
    rows = [
        f"{n},{drawn.choice(TOWNS)},x{drawn.randrange(9)},2024-05-0{n % 9 + 1}" for n in range(40)
    ]
    (folder / f"{name}.csv").write_text("\n".join(["id,town,code,day", *rows]) + "\n", "utf-8")


def test_equal_to_a_look_through_every_column_across_updates(tmp_path: Path) -> None:
    drawn = random.Random(7)
    folder = tmp_path / "files"
    folder.mkdir()
    for step in range(6):
        for name in drawn.sample("abcdefgh", 3):
            write(folder, name, drawn)
        if step == 4:
            next(iter(folder.iterdir())).unlink()
        catalog = dovetail.build(str(folder), into=tmp_path / "catalog")
        check(catalog.reader)
        kept = {path.name for path in catalog.folder.glob("generations/*/values-*")}
        assert kept == {f"values-{name}" for name in catalog.reader.manifest.segments}


def test_many_pieces_give_what_one_gives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = random.Random(1)
    folder = tmp_path / "files"
    folder.mkdir()
    for name in "abcdef":
        write(folder, name, drawn)
    monkeypatch.setattr(values, "_MOST_SORTED", 7)
    check(dovetail.build(str(folder), into=tmp_path / "catalog").reader)


def test_damaged_postings_are_an_error_until_the_next_update(tmp_path: Path) -> None:
    write(tmp_path, "a", random.Random(2))
    catalog = dovetail.build(str(tmp_path / "a.csv"), into=tmp_path / "catalog")
    check(catalog.reader)
    for file in catalog.folder.glob("generations/*/values-*/*.npy"):
        file.write_bytes(file.read_bytes()[:100])
    with pytest.raises(DamagedError, match=r"mend it: dovetail repair -C "):
        ValueIndex.of(dovetail.open(catalog.folder).reader)
    check(dovetail.build(into=catalog.folder).reader)


def test_tables_without_text_hold_nothing(tmp_path: Path) -> None:
    (tmp_path / "n.csv").write_text("a,b\n1,2\n3,4\n")
    catalog = dovetail.build(str(tmp_path / "n.csv"), into=tmp_path / "catalog")
    places, columns = ValueIndex.of(catalog.reader).columns_holding(cell_phrases(["1", "x"]))
    assert (places.tolist(), columns.tolist()) == ([], [])
