"""Kept numbers of columns against those that are found by the tables' names."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import dovetail
from dovetail.catalog.reader import CatalogReader
from dovetail.joins.value_index import numbered_segments, segment_store
from dovetail.joins.value_index.postings import Postings
from dovetail.joins.value_index.segment_store import FOLDER, open_segment, remove_segments
from tests.support.searchers import not_yet_searchable


@pytest.fixture
def catalog(
    sample: dovetail.Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> CatalogReader:
    monkeypatch.setattr(numbered_segments.keep_numbers, "__defaults__", (1,))
    return not_yet_searchable(sample, tmp_path / "catalog")


def holders(catalog: CatalogReader) -> list[tuple[int, int]]:
    asked = np.concatenate([catalog.hashes(table, 0)[:3] for table in catalog.ids])
    place, column = Postings.of(catalog).columns_holding(asked)
    return list(zip(place.tolist(), column.tolist(), strict=True))


def test_kept_numbers_give_what_names_give(
    catalog: CatalogReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = catalog.folder / FOLDER / "numbers"
    right = holders(catalog)
    assert right
    assert sorted(path.suffix for path in kept.iterdir()) == [".json", ".npy"]
    monkeypatch.setattr(segment_store, "table_keys", None)  # whoever calls it fails
    assert holders(catalog) == right


@pytest.mark.parametrize("damage", ["numbers", "list", "segments", "shorter", "too large"])
def test_what_is_damaged_is_found_anew(catalog: CatalogReader, damage: str) -> None:
    right = holders(catalog)
    kept = catalog.folder / FOLDER / "numbers"
    (numbers,), (listed,) = kept.glob("*.npy"), kept.glob("*.json")
    if damage == "numbers":
        numbers.write_bytes(b"nonsense")
    elif damage == "list":
        listed.write_text('["../../lock"]', "utf-8")
    elif damage == "segments":
        remove_segments(catalog.folder)
    elif damage == "shorter":
        np.save(numbers, np.load(numbers)[:-1])
    else:
        np.save(numbers, np.load(numbers) + 10_000)
    assert holders(catalog) == right
    assert holders(catalog) == right
    assert numbered_segments.numbered_segments(catalog.folder / FOLDER, catalog, open_segment)


def test_numbers_of_other_contents_are_removed(catalog: CatalogReader) -> None:
    kept = catalog.folder / FOLDER / "numbers"
    kept.mkdir(parents=True)
    (kept / f"{'0' * 16}.json").write_text("[]", "utf-8")
    (kept / "notes.txt").write_text("mine", "utf-8")
    holders(catalog)
    assert not (kept / f"{'0' * 16}.json").exists()
    assert (kept / "notes.txt").exists()
