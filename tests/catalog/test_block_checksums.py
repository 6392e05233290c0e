"""Checksums by blocks: the same as of each block by itself, and only blocks that are read."""

from __future__ import annotations

import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dovetail
from dovetail.catalog.checked_arrays import BLOCK, BlockChecksums, CheckedBlocks, blocks_of
from dovetail.catalog.segment import CHECKSUMS_FILE, Segment
from dovetail.errors import DamagedError
from tests.support.files import one, put, rewrite, update

PIECES = st.lists(st.binary(max_size=40), max_size=12)


def as_bytes(content: bytes) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    return np.frombuffer(content, np.uint8)


def of_each_block(content: bytes, block: int) -> list[int]:
    """The slow twin."""
    return [zlib.crc32(content[at : at + block]) for at in range(0, len(content), block)]


@given(PIECES, PIECES, PIECES, st.integers(1, 50))
def test_pieces_make_the_checksums_of_the_whole(
    pieces: list[bytes], forgotten: list[bytes], more: list[bytes], block: int
) -> None:
    sums = BlockChecksums(block)
    for piece in pieces:
        sums.add(as_bytes(piece))
    mark = sums.mark()
    for piece in forgotten:
        sums.add(as_bytes(piece))
    sums.rewind(mark)
    for piece in more:
        sums.add(as_bytes(piece))
    content = b"".join([*pieces, *more])
    assert sums.checksums().tolist() == of_each_block(content, block)
    assert len(sums.checksums()) == blocks_of(len(content), block)


@given(st.binary(min_size=1, max_size=200), st.integers(1, 50), st.data())
def test_a_changed_byte_is_found_by_those_who_read_its_block(
    content: bytes, block: int, data: st.DataObject
) -> None:
    sums = np.array(of_each_block(content, block), dtype=np.uint32)
    at = data.draw(st.integers(0, len(content) - 1))
    start = data.draw(st.integers(0, len(content)))
    end = data.draw(st.integers(start, len(content)))
    changed = bytearray(content)
    changed[at] ^= 1
    assert CheckedBlocks(as_bytes(content), sums, block).intact(start, end)
    blocks = CheckedBlocks(as_bytes(bytes(changed)), sums, block)
    reads = start < end and start // block <= at // block <= (end - 1) // block
    for _ in range(2):  # what is damaged stays damaged
        assert blocks.intact(start, end) is not reads
    blocks.trust()
    assert blocks.intact(start, end)


def test_as_many_checksums_as_blocks() -> None:
    with pytest.raises(ValueError, match="2 checksums for 9 bytes"):
        CheckedBlocks(as_bytes(b"123456789"), np.zeros(2, np.uint32), 3)


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
    trusting = Segment(folder)
    trusting.trust()
    assert len(trusting.hashes(0, 100)) == 100


def test_damaged_checksums_are_refused(tall: Path) -> None:
    rewrite(one(tall, CHECKSUMS_FILE), lambda b: b[:-1] + bytes([b[-1] ^ 1]))
    catalog = dovetail.open(tall)
    with pytest.raises(DamagedError, match=r"checksums.npy is damaged: its checksum"):
        catalog.reader.hashes(catalog.ids[0], 0)
