"""Checksums by blocks: the same as of each block by itself, and only blocks that are read."""

from __future__ import annotations

import zlib
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dovetail
from dovetail.catalog import segment
from dovetail.catalog.segment import (
    BLOCK,
    CHECKSUMS_FILE,
    ArrayFile,
    CheckedBlocks,
    Segment,
    blocks_of,
)
from dovetail.errors import DamagedError
from tests.support.files import one, put, rewrite, update

BLOCKS = st.integers(1, 50)


def as_bytes(content: bytes) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    return np.frombuffer(content, np.uint8)


def of_each_block(content: bytes, block: int) -> list[int]:
    """The slow twin."""
    return [zlib.crc32(content[at : at + block]) for at in range(0, len(content), block)]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.binary(max_size=40), max_size=12), st.data(), BLOCKS)
def test_pieces_make_the_checksums_of_the_whole(
    tmp_path: Path, pieces: list[bytes], data: st.DataObject, block: int
) -> None:
    kept = data.draw(st.integers(0, len(pieces)))
    content = b"".join([*pieces[:kept], *pieces])
    with (
        patch.object(segment, "BLOCK", block),
        ArrayFile(tmp_path / "pieces.npy", np.uint8) as file,
    ):
        for piece in pieces[:kept]:
            file.append(as_bytes(piece))
        length = file.length
        for piece in pieces:
            file.append(as_bytes(piece))
        assert file.checksums().tolist() == of_each_block(content, block)
        file.rewind(length)
        for piece in pieces:
            file.append(as_bytes(piece))
        assert file.checksums().tolist() == of_each_block(content, block)
        assert len(file.checksums()) == blocks_of(len(content))
    assert np.load(tmp_path / "pieces.npy").tobytes() == content


@given(st.binary(min_size=1, max_size=200), BLOCKS, st.data())
def test_a_changed_byte_is_found_by_those_who_read_its_block(
    content: bytes, block: int, data: st.DataObject
) -> None:
    sums = np.array(of_each_block(content, block), dtype=np.uint32)
    at = data.draw(st.integers(0, len(content) - 1))
    start = data.draw(st.integers(0, len(content)))
    end = data.draw(st.integers(start, len(content)))
    changed = bytearray(content)
    changed[at] ^= 1
    reads = start < end and start // block <= at // block <= (end - 1) // block
    with patch.object(segment, "BLOCK", block):
        assert CheckedBlocks(as_bytes(content), sums).intact(start, end)
        blocks = CheckedBlocks(as_bytes(bytes(changed)), sums)
        for _ in range(2):  # what is damaged stays damaged
            assert blocks.intact(start, end) is not reads


def test_as_many_checksums_as_blocks() -> None:
    with pytest.raises(ValueError, match="2 checksums for 9 bytes"):
        CheckedBlocks(as_bytes(b"123456789"), np.zeros(2, np.uint32))


@pytest.fixture
def tall(tmp_path: Path) -> Path:
    """A catalog whose value hashes take several blocks."""
    rows = "\n".join(f"{number},{number % 7}" for number in range(3 * BLOCK // 8))
    put(tmp_path / "lake" / "tall.csv", f"id,part\n{rows}\n")
    put(tmp_path / "lake" / "tiny.csv", "code\na\nb\n")
    return update(f"lake={tmp_path / 'lake'}", into=tmp_path / "catalog").catalog.folder


def test_damage_is_found_where_it_is_read(tall: Path) -> None:
    before = dovetail.open(tall)
    whole = [before.reader.hashes(table, 0).tolist() for table in before.ids]
    rewrite(one(tall, "hashes.npy"), lambda b: b[:200] + bytes([b[200] ^ 1]) + b[201:])
    catalog = dovetail.open(tall)
    by_name = {table.name: table for table in catalog.ids}
    with pytest.raises(DamagedError, match=r"hashes.npy is damaged: its checksum .* repair"):
        catalog.reader.hashes(by_name["tall"], 0)
    assert catalog.reader.hashes(by_name["tiny"], 0).tolist() in whole
    (folder,) = (tall / "segments").iterdir()
    with pytest.raises(DamagedError):
        Segment(folder).verify()


def test_damaged_checksums_are_refused(tall: Path) -> None:
    rewrite(one(tall, CHECKSUMS_FILE), lambda b: b[:-1] + bytes([b[-1] ^ 1]))
    catalog = dovetail.open(tall)
    with pytest.raises(DamagedError, match=r"checksums.npy is damaged: its checksum"):
        catalog.reader.hashes(catalog.ids[0], 0)
