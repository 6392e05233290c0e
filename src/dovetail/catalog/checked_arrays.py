"""Arrays in files, written piece by piece and checked by blocks: only the blocks that are read are
compared with their checksums.

To compare a whole file before its first value is given out takes a third of a second for 500 MB,
and most who open a catalog read a small part of it.
"""

from __future__ import annotations

import zlib
from array import array
from contextlib import suppress
from pathlib import Path
from types import TracebackType

import numpy as np
import numpy.typing as npt
from numpy.lib import format as npy

from dovetail.ports import Json

# The length of an .npy header, which leaves room for any number of values.
HEADER = 128
# Bytes of a block: about those of the distinct values of one column.
BLOCK = 1 << 14

Bytes = npt.NDArray[np.uint8]
Checksums = npt.NDArray[np.uint32]
Mark = tuple[int, int, int]


def blocks_of(size: int, block: int = BLOCK) -> int:
    """How many blocks so many bytes have; the last may be short."""
    return -(-size // block)


class BlockChecksums:
    """The checksums of bytes that come piece by piece."""

    def __init__(self, block: int = BLOCK) -> None:
        self._block = block
        self._complete = array("I")
        self._crc, self._filled = 0, 0

    def add(self, raw: Bytes) -> None:
        """Take in more bytes."""
        at = 0
        while at < len(raw):
            part = raw[at : at + self._block - self._filled]
            self._crc = zlib.crc32(part.data, self._crc)
            self._filled += len(part)
            at += len(part)
            if self._filled == self._block:
                self._complete.append(self._crc)
                self._crc, self._filled = 0, 0

    def mark(self) -> Mark:
        """A place to come back to."""
        return len(self._complete), self._crc, self._filled

    def rewind(self, mark: Mark) -> None:
        """Forget the bytes since the mark."""
        complete, self._crc, self._filled = mark
        del self._complete[complete:]

    def checksums(self) -> Checksums:
        """The CRC-32 of each block so far."""
        last = [self._crc] if self._filled else []
        return np.array([*self._complete, *last], dtype="<u4")


class CheckedBlocks:
    """Bytes whose blocks are compared with their checksums, each once, before they are used."""

    def __init__(self, raw: Bytes, checksums: Checksums, block: int = BLOCK) -> None:
        if len(checksums) != blocks_of(len(raw), block):
            raise ValueError(f"{len(checksums)} checksums for {len(raw)} bytes")
        self._raw, self._checksums, self._block = raw, checksums, block
        self._checked = bytearray(len(checksums))

    def intact(self, start: int, end: int) -> bool:
        """Whether the bytes from a start to an end are as they were written."""
        first, last = start // self._block, blocks_of(end, self._block) if end > start else 0
        at = self._checked.find(0, first, last)
        while at >= 0:
            part = self._raw[at * self._block : (at + 1) * self._block]
            if zlib.crc32(part.data) != self._checksums[at]:
                return False
            self._checked[at] = 1
            at = self._checked.find(0, at + 1, last)
        return True

    def trust(self) -> None:
        """Take all blocks for compared: somebody else has."""
        self._checked[:] = b"\1" * len(self._checked)


class ArrayFile:
    """A one-dimensional .npy file written piece by piece, its length filled in at the end."""

    def __init__(self, path: Path, dtype: npt.DTypeLike) -> None:
        self._dtype = np.dtype(dtype)
        self._stream = path.open("wb", buffering=1 << 20)
        self._stream.write(b"\0" * HEADER)
        self._blocks = BlockChecksums()
        self.length = 0

    def __enter__(self) -> ArrayFile:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            self.close()
            return
        with suppress(OSError):  # what is not written yet is given up with the file
            self._stream.close()

    def close(self) -> None:
        """Fill the length in; the file is whole then."""
        with self._stream:
            self._stream.seek(0)
            self._stream.write(npy_header(self._dtype, self.length))

    def append(self, values: npt.NDArray[np.generic]) -> None:
        """Add values at the end."""
        if not len(values):
            return
        raw = np.ascontiguousarray(values, dtype=self._dtype).view(np.uint8)
        self._stream.write(raw.data)
        self._blocks.add(raw)
        self.length += len(values)

    def mark(self) -> tuple[int, Mark]:
        """A place to come back to."""
        return self.length, self._blocks.mark()

    def rewind(self, mark: tuple[int, Mark]) -> None:
        """Forget what was appended since the mark."""
        self.length, blocks = mark
        self._blocks.rewind(blocks)
        self._stream.seek(HEADER + self.length * self._dtype.itemsize)
        self._stream.truncate()

    def describe(self) -> Json:
        """The size that a reader checks the file by; its blocks have `checksums`."""
        return {"bytes": HEADER + self.length * self._dtype.itemsize}

    def checksums(self) -> Checksums:
        """The checksums of the array, by blocks, the header left out."""
        return self._blocks.checksums()


def npy_header(dtype: np.dtype[np.generic], length: int) -> bytes:
    """The first bytes of a file of so many values."""
    kind = npy.dtype_to_descr(dtype)
    text = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': ({length},), }}"
    head = npy.magic(1, 0) + (HEADER - 10).to_bytes(2, "little")
    return head + text.ljust(HEADER - 11).encode("latin1") + b"\n"
