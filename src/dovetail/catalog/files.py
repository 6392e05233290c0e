"""Writes files that are either whole or not there: written beside, synced, renamed; maps arrays."""

from __future__ import annotations

import mmap
import os
import tokenize
import zipfile
import zlib
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from numpy.lib import format as npy

from dovetail.catalog.block_checksums import BlockChecksums, Checksums, Mark
from dovetail.catalog.layout import open_plain
from dovetail.ports import Json

# What reading a file of ours can raise where the file is damaged, cut off or tampered with. Things
# derived from a catalog that raise it are made again. NumPy takes the header of an array apart as
# Python text, so a header can be bad syntax.
DAMAGE = (
    OSError, ValueError, KeyError, TypeError, IndexError, AttributeError, OverflowError, EOFError,
    RecursionError, RuntimeError, MemoryError, SyntaxError, tokenize.TokenError,
    zipfile.BadZipFile, zlib.error, pa.ArrowException,
)  # fmt: skip
# The length of an .npy header, which leaves room for any number of values.
HEADER = 128


def mapped_array(path: Path) -> npt.NDArray[Any]:
    """The array of a file, mapped into memory.

    It is a plain array: every slice of a memmap costs more than the slice.
    """
    return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))


def release_pages(*arrays: npt.NDArray[Any]) -> None:
    """Have mapped arrays take up no memory until they are read again; others stay as they are."""
    for array in arrays:
        mapping = _mapping(array)
        if mapping is not None and hasattr(mmap, "MADV_DONTNEED"):
            mapping.madvise(mmap.MADV_DONTNEED)


def one_of_each_mapping(arrays: Iterable[npt.NDArray[Any]]) -> list[npt.NDArray[Any]]:
    """Of the arrays that are mapped from one file, one: to let go of its pages is to let go of the
    pages of all of them."""
    return list({id(mapping): array for array in arrays if (mapping := _mapping(array))}.values())


def _mapping(array: npt.NDArray[Any]) -> mmap.mmap | None:
    """What a mapped array is a part of."""
    base: Any = array
    while isinstance(base, np.ndarray | memoryview):
        base = base.base if isinstance(base, np.ndarray) else base.obj
    return base if isinstance(base, mmap.mmap) else None


def sync_folder(folder: Path) -> None:
    """Make the names in a folder survive a crash."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_tree(folder: Path) -> None:
    """Make a folder's files, and then their names, survive a crash."""
    for file in folder.iterdir():
        with file.open("rb") as stream:
            os.fsync(stream.fileno())
    sync_folder(folder)


def replace_file(path: Path, content: bytes) -> None:
    """Put new content in a file's place: readers see the old or the new, nothing else."""
    beside = path.with_name(f"{path.name}.new")
    with os.fdopen(open_plain(beside, os.O_WRONLY), "wb") as stream:
        stream.truncate()
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())
    beside.replace(path)
    sync_folder(path.parent)


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
            self._stream.write(_npy_header(self._dtype, self.length))

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


def _npy_header(dtype: np.dtype[np.generic], length: int) -> bytes:
    kind = npy.dtype_to_descr(dtype)
    text = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': ({length},), }}"
    head = npy.magic(1, 0) + (HEADER - 10).to_bytes(2, "little")
    return head + text.ljust(HEADER - 11).encode("latin1") + b"\n"
