"""What only large catalogs do, held against what small ones do: mapped records, ids on demand."""

from __future__ import annotations

from pathlib import Path

import pytest

import dovetail
from dovetail.catalog import mapped_records
from dovetail.catalog import records as catalog_records
from dovetail.catalog.mapped_records import read_records
from dovetail.catalog.reader import CatalogReader
from dovetail.catalog.table_ids import SortedPlaces, TableIds
from dovetail.domain import TableId
from dovetail.errors import DamagedError
from tests.support.searchers import not_yet_searchable


@pytest.fixture
def copied(sample: dovetail.Catalog, tmp_path: Path) -> CatalogReader:
    return not_yet_searchable(sample, tmp_path / "catalog")


def test_mapped_records_are_those_that_are_read(copied: CatalogReader) -> None:
    for name, expected in copied.manifest.files.items():
        path = copied.folder / name
        read = read_records(path, expected)
        assert not path.with_suffix(".arrow").exists()
        for _ in ("made", "found"):
            mapped = read_records(path, expected, least_mapped=0)
            assert mapped.equals(read, check_metadata=True)
        assert path.with_suffix(".arrow").exists()


def test_a_whole_catalog_with_mapped_records_is_the_same(
    copied: CatalogReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mapped_records.read_records, "__defaults__", (0,))
    mapped = CatalogReader.open(copied.folder)
    assert list(mapped) == list(copied)
    assert mapped.contents == copied.contents
    assert len(list(copied.folder.glob("generations/*/*.arrow"))) == 2


@pytest.mark.parametrize("damage", ["cut off", "another", "overwritten", "folder"])
def test_what_is_damaged_beside_the_records_is_passed_over(
    copied: CatalogReader, damage: str
) -> None:
    (name, expected) = next(iter(copied.manifest.files.items()))
    path, mapped = copied.folder / name, (copied.folder / name).with_suffix(".arrow")
    right = read_records(path, expected)
    read_records(path, expected, least_mapped=0)
    content = mapped.read_bytes()
    mapped.unlink()
    if damage == "cut off":
        mapped.write_bytes(content[: len(content) // 2])
    elif damage == "another":
        mapped.write_bytes(content.replace(expected["sha256"].encode(), b"0" * 64))
    elif damage == "overwritten":
        mapped.write_bytes(content[:200] + b"\xff" * (len(content) - 400) + content[-200:])
    else:
        mapped.mkdir()
    assert read_records(path, expected, least_mapped=0).equals(right)


def test_damaged_records_are_told_whatever_stands_beside_them(copied: CatalogReader) -> None:
    (name, expected) = next(iter(copied.manifest.files.items()))
    path = copied.folder / name
    path.write_bytes(b"nonsense")
    with pytest.raises(DamagedError, match="its checksum does not match"):
        read_records(path, expected, least_mapped=0)
    path.unlink()
    with pytest.raises(FileNotFoundError):
        read_records(path, expected, least_mapped=0)


def test_ids_on_demand_are_those_of_a_list(
    copied: CatalogReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = list(copied.ids)
    monkeypatch.setattr(catalog_records, "_MOST_LISTED", 0)
    again = CatalogReader.open(copied.folder)
    ids = again.ids
    assert isinstance(ids, TableIds)
    assert ids == listed
    assert ids != listed[:-1]
    assert (list(ids), len(ids), ids[3], ids[-1]) == (listed, 77, listed[3], listed[-1])
    assert (ids[2:5], ids[70:200], ids[::9], ids[5:2]) == (
        listed[2:5], listed[70:200], listed[::9], [],
    )  # fmt: skip
    with pytest.raises(IndexError):
        ids[77]
    assert again[listed[5]] == copied[listed[5]]
    assert again["suppliers"] == copied["suppliers"]
    assert listed[5] in again


def test_places_by_halving_are_those_of_a_dict(copied: CatalogReader) -> None:
    listed = list(copied.ids)
    places = SortedPlaces(copied.ids)
    assert dict(places) == {table: place for place, table in enumerate(listed)}
    assert TableId("no", "such") not in places
    with pytest.raises(KeyError):
        places[TableId("zzz", "zzz")]
