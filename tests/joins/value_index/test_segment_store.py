"""Index segments on disk: the same bytes however they are written, the same arrays when read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dovetail
from dovetail.hashing import mix
from dovetail.joins.value_index import make_segment as making
from dovetail.joins.value_index import segment_store
from dovetail.joins.value_index.index_segment import IndexSegment
from dovetail.joins.value_index.make_segment import make_segment
from dovetail.joins.value_index.segment_store import open_segment, save_segment


def segment() -> IndexSegment:
    random = np.random.default_rng(5)
    hashes = [
        np.unique(mix(random.integers(0, 3_000, size, dtype=np.uint64)))
        for size in (2_000, 500, 0, 40, 1_500)
    ]
    counts = [np.ones(len(held), dtype=np.uint32) for held in hashes]
    return make_segment(["a", "b"], np.array([0, 0, 0, 1, 1]), hashes, counts)


def test_a_segment_written_in_pieces_has_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = []
    for number, size in enumerate((1 << 24, 100)):
        monkeypatch.setattr(segment_store, "_AT_ONCE", size)
        monkeypatch.setattr(making, "_PREFIXES", size)
        folder = tmp_path / str(number)
        save_segment(folder, segment())
        (file,) = folder.iterdir()
        written.append(file.read_bytes())
    assert written[0] == written[1]
    read, made = open_segment(file), segment()
    for name in ("hashes", "offsets", "columns", "prefixes", "frequent", "bitmaps"):
        assert np.array_equal(getattr(read, name), getattr(made, name)), name


def test_a_large_segment_is_put_together_on_disk_with_the_same_bytes(
    sample: dovetail.Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = segment_store.table_keys(sample)
    in_memory = segment_store.make_of_tables(sample, keys, range(len(keys)))
    monkeypatch.setattr(segment_store, "_LARGE", 100)
    monkeypatch.setattr(making, "_PART", 1_000)
    folders: list[Path | None] = []

    def made(*given: Any) -> IndexSegment:
        folders.append(given[-1])
        return make_segment(*given)

    monkeypatch.setattr(segment_store, "make_segment", made)
    on_disk = segment_store.make_of_tables(sample, keys, range(len(keys)))
    (folder,) = folders
    assert folder is not None and not folder.exists()
    for name, made_so in (("memory", in_memory), ("disk", on_disk)):
        save_segment(tmp_path / name, made_so)
    written = [(tmp_path / name / folder.name[1:21]).read_bytes() for name in ("memory", "disk")]
    assert written[0] == written[1]


def test_prefixes_are_where_hashes_begin() -> None:
    made = segment()
    bits = (len(made.prefixes) - 1).bit_length() - 1
    first_bits = (made.hashes >> np.uint64(64 - bits)).tolist()
    below = [sum(each < prefix for each in first_bits) for prefix in range((1 << bits) + 1)]
    assert made.prefixes.tolist() == below
