"""A segment: value hashes, row counts, phrases and records of some tables, never changed.

Its arrays are checked by blocks: only the blocks that are read are compared with their checksums.
To compare a whole file before its first value is given out takes a third of a second for 500 MB,
and most who open a catalog read a small part of it.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, suppress
from functools import cached_property, partial
from pathlib import Path
from types import TracebackType

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.lib import format as npy

from dovetail.arrays import Counts
from dovetail.catalog.generation import remedy
from dovetail.catalog.records import Records
from dovetail.errors import DamagedError
from dovetail.hashing import Hashes
from dovetail.ports import Json

# The lengths of the arrays of a segment that is being written.
Mark = tuple[int, ...]
Bytes = npt.NDArray[np.uint8]
Checksums = npt.NDArray[np.uint32]

TABLES_FILE, COLUMNS_FILE = "tables.parquet", "columns.parquet"
HASHES_FILE, COUNTS_FILE, PHRASES_FILE = "hashes.npy", "counts.npy", "phrases.npy"
# The checksums of the blocks of these three, one file after the other.
CHECKSUMS_FILE = "checksums.npy"
_ABOUT = "segment.json"
# Values that are kept of a large column, those with the smallest hashes: a bottom-k sketch.
SKETCH = 1 << 18
# What is wrong with records whose places are none in the files.
LEADS_OUT = "it leads out of the segment"
# The arrays of a segment with the types of their values.
_ARRAYS = {HASHES_FILE: "<u8", COUNTS_FILE: "<u4", PHRASES_FILE: "<u8"}
# The length of an .npy header, which leaves room for any number of values.
HEADER = 128
# Bytes of a block: about those of the distinct values of one column.
BLOCK = 1 << 14


class ArrayFile:
    """A one-dimensional .npy file written piece by piece, its length filled in at the end."""

    def __init__(self, path: Path, dtype: npt.DTypeLike) -> None:
        self._path, self._dtype = path, np.dtype(dtype)
        self._stream = path.open("wb", buffering=1 << 20)
        self._stream.write(b"\0" * HEADER)
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
        if len(values):
            self._stream.write(np.ascontiguousarray(values, dtype=self._dtype).data)
            self.length += len(values)

    def rewind(self, length: int) -> None:
        """Forget what was appended since the array had this length."""
        self.length = length
        self._stream.seek(HEADER + length * self._dtype.itemsize)
        self._stream.truncate()

    def describe(self) -> Json:
        """The size that a reader checks the file by."""
        return {"bytes": HEADER + self.length * self._dtype.itemsize}

    def checksums(self) -> Checksums:
        """The CRC-32 of each block of the array, the header left out; the last may be short."""
        self._stream.flush()
        with self._path.open("rb") as stream:
            stream.seek(HEADER)
            sums = [zlib.crc32(block) for block in iter(partial(stream.read, BLOCK), b"")]
        return np.array(sums, dtype="<u4")


def npy_header(dtype: np.dtype[np.generic], length: int) -> bytes:
    """The first bytes of a file of so many values."""
    kind = npy.dtype_to_descr(dtype)
    text = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': ({length},), }}"
    head = npy.magic(1, 0) + (HEADER - 10).to_bytes(2, "little")
    return head + text.ljust(HEADER - 11).encode("latin1") + b"\n"


def blocks_of(size: int) -> int:
    """How many blocks so many bytes have; the last may be short."""
    return -(-size // BLOCK)


class CheckedBlocks:
    """Bytes whose blocks are compared with their checksums, each once, before they are used."""

    def __init__(self, raw: Bytes, checksums: Checksums) -> None:
        if len(checksums) != blocks_of(len(raw)):
            raise ValueError(f"{len(checksums)} checksums for {len(raw)} bytes")
        self._raw, self._checksums = raw, checksums
        self._checked = bytearray(len(checksums))

    def intact(self, start: int, end: int) -> bool:
        """Whether the bytes from a start to an end are as they were written."""
        first, last = start // BLOCK, blocks_of(end) if end > start else 0
        at = self._checked.find(0, first, last)
        while at >= 0:
            block = self._raw[at * BLOCK : (at + 1) * BLOCK]
            if zlib.crc32(block.data) != self._checksums[at]:
                return False
            self._checked[at] = 1
            at = self._checked.find(0, at + 1, last)
        return True


class SegmentWriter(ExitStack):
    """Writes a segment into a folder. Without `finish` the folder is no segment."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder
        self._files = [
            self.enter_context(ArrayFile(folder / name, dtype)) for name, dtype in _ARRAYS.items()
        ]
        self._hashes, self._counts, self._phrases = self._files

    def add_value_hashes(
        self,
        runs: Iterable[tuple[Hashes, Counts]],
        exact: Callable[[int], bool] = lambda _: True,
    ) -> tuple[int, int, int, int | None]:
        """Write a column's value hashes and counts, given in ascending order.

        Returns how many there are, how many of them are kept, and where both begin. `exact` says
        of so many distinct values whether all are kept; otherwise a sketch is, of the same values
        in whatever order the rows came.
        """
        mark, first = self.mark(), _Smallest()
        stored = self._add_runs(first.passing(runs))
        distinct = stored[0]
        if distinct <= SKETCH or exact(distinct):
            return distinct, *stored
        self.rewind(mark)
        return distinct, *self._add_runs(first.runs)

    def _add_runs(self, runs: Iterable[tuple[Hashes, Counts]]) -> tuple[int, int, int | None]:
        hashes_at, counts_at = self._hashes.length, self._counts.length
        ones = 0  # as long as every count is one, they are not worth writing
        for hashes, counts in runs:
            self._hashes.append(hashes)
            if self._counts.length == counts_at and int(counts.max(initial=1)) == 1:
                ones += len(counts)
            else:
                self._counts.append(np.ones(ones, dtype=np.uint32))
                self._counts.append(counts)
                ones = 0
        repeated = self._counts.length > counts_at
        if repeated:
            self._counts.append(np.ones(ones, dtype=np.uint32))
        return self._hashes.length - hashes_at, hashes_at, counts_at if repeated else None

    def add_phrases(self, runs: Iterable[Hashes]) -> tuple[int, int]:
        """Write what a column is searched by; returns where it begins, and how many they are."""
        at = self._phrases.length
        for hashes in runs:
            self._phrases.append(hashes)
        return at, self._phrases.length - at

    def mark(self) -> Mark:
        """A place to come back to, when a table turns out to be unreadable halfway."""
        return tuple(file.length for file in self._files)

    def rewind(self, mark: Mark) -> None:
        """Forget what was added since the mark."""
        for file, length in zip(self._files, mark, strict=True):
            file.rewind(length)

    def finish(self, records: Records, profile: Json) -> str:
        """Write records beside the arrays, and return the segment's name."""
        tables = write_parquet(self._folder / TABLES_FILE, records.tables)
        columns = write_parquet(self._folder / COLUMNS_FILE, records.columns)
        files = {
            **{name: file.describe() for name, file in zip(_ARRAYS, self._files, strict=True)},
            CHECKSUMS_FILE: self._write_checksums(),
        }
        name = _name(profile, tables, columns)
        (self._folder / _ABOUT).write_bytes(_about(name, profile, files))
        return name

    def _write_checksums(self) -> Json:
        checksums = np.concatenate([file.checksums() for file in self._files])
        with ArrayFile(self._folder / CHECKSUMS_FILE, "<u4") as file:
            file.append(checksums)
            return {**file.describe(), "crc32": zlib.crc32(checksums.data)}


class _Smallest:
    """The first values of ascending runs that go by: as many as a sketch has."""

    def __init__(self) -> None:
        self.runs: list[tuple[Hashes, Counts]] = []
        self._room = SKETCH

    def passing(self, runs: Iterable[tuple[Hashes, Counts]]) -> Iterator[tuple[Hashes, Counts]]:
        """The runs as they come."""
        for hashes, counts in runs:
            if self._room:
                self.runs.append((hashes[: self._room], counts[: self._room]))
                self._room -= len(self.runs[-1][0])
            yield hashes, counts


def write_parquet(path: Path, table: pa.Table) -> bytes:
    """Write a table, the same bytes for the same rows; returns them."""
    sink = pa.BufferOutputStream()
    # Without dictionaries it is both smaller and quicker, both ways.
    pq.write_table(table, sink, compression="zstd", use_dictionary=False, write_statistics=False)
    content = sink.getvalue().to_pybytes()
    path.write_bytes(content)
    return bytes(content)


def read_parquet(content: bytes) -> pa.Table:
    """The rows in a Parquet file of ours."""
    return pq.ParquetFile(pa.BufferReader(content)).read(use_threads=False)


class Segment:
    """A finished segment. Its files stay readable after they were unlinked by an update."""

    def __init__(self, folder: Path, files: Json | None = None) -> None:
        self._folder = folder
        self._files = files if files is not None else self.about["files"]
        self._arrays = {name: self._map(name, dtype) for name, dtype in _ARRAYS.items()}
        # Mapped from the start, like the arrays, since the files may be gone when they are needed.
        self._checksums = self._map(CHECKSUMS_FILE, "<u4").view(np.uint32)

    @cached_property
    def about(self) -> Json:
        """What the segment says of itself."""
        try:
            about = json.loads((self._folder / _ABOUT).read_text(encoding="utf-8"))
            return dict(about)
        except (ValueError, TypeError, RecursionError) as error:
            raise DamagedError(_damage(self._folder / _ABOUT, str(error))) from None

    @property
    def files(self) -> Json:
        """Sizes and checksums of the array files."""
        return dict(self._files)

    @property
    def lengths(self) -> tuple[int, int, int]:
        """How many hashes, counts and phrases there are."""
        hashes, counts, phrases = map(len, self._arrays.values())
        return hashes, counts, phrases

    def records(self) -> Records:
        """The records of the tables that the segment was written for."""
        name = self.about["name"]
        tables = read_parquet((self._folder / TABLES_FILE).read_bytes())
        records = Records(tables, read_parquet((self._folder / COLUMNS_FILE).read_bytes()))
        return records.with_column("segment", [name] * len(records))

    def verify(self) -> None:
        """Raise an error unless every file is as it was written."""
        about = (self._folder / _ABOUT).read_bytes()
        profile = self.about.get("profile")
        if about != _about(self._folder.name, profile, self._files):
            raise DamagedError(_damage(self._folder / _ABOUT, "it is not as it was written"))
        content = [(self._folder / name).read_bytes() for name in (TABLES_FILE, COLUMNS_FILE)]
        if self._folder.name != _name(profile, *content):
            # The digest is of all three: how the segment was made is said in the first alone.
            one_of = self._folder / f"{_ABOUT}, {TABLES_FILE} or {COLUMNS_FILE}"
            raise DamagedError(_damage(one_of, "it is not as it was written"))
        if not self.records().lie_in({self._folder.name: self.lengths}):
            raise DamagedError(_damage(self._folder / COLUMNS_FILE, LEADS_OUT))
        for name, array in {**self._arrays, CHECKSUMS_FILE: self._checksums}.items():
            with (self._folder / name).open("rb") as stream:
                if stream.read(HEADER) != npy_header(array.dtype, len(array)):
                    raise DamagedError(_damage(self._folder / name, "its header is another"))
        for name, array in self._arrays.items():
            self._part(name, 0, len(array))

    def hashes(self, at: int, length: int) -> Hashes:
        """A column's sorted hashes."""
        array: Hashes = self._part(HASHES_FILE, at, length).view(np.uint64)
        return array

    def counts(self, at: int, length: int) -> Counts:
        """The row counts of a column's hashes."""
        array: Counts = self._part(COUNTS_FILE, at, length).view(np.uint32)
        return array

    def placed(self, record: Json) -> tuple[Hashes, Counts]:
        """The hashes and counts of a column, or of a normal form of it, by its record."""
        at, length = record["counts_at"], record["kept"]
        # Ones, if every value stands in one row.
        counts = np.ones(length, dtype=np.uint32) if at is None else self.counts(at, length)
        return self.hashes(record["hashes_at"], length), counts

    def phrases(self, at: int, length: int) -> Hashes:
        """The sorted hashes of what a column is searched by."""
        array: Hashes = self._part(PHRASES_FILE, at, length).view(np.uint64)
        return array

    def searched(self, at: int, length: int, *, phrases: bool) -> Hashes:
        """Phrases or value hashes to look a few up among: they are read in small part, so they are
        not compared with their checksums."""
        array = self._arrays[PHRASES_FILE if phrases else HASHES_FILE][at : at + length]
        return array.view(np.uint64)

    def _map(self, name: str, dtype: str) -> npt.NDArray[np.generic]:
        path, expected = self._folder / name, self._files[name]["bytes"]
        with path.open("rb") as stream:
            size = os.fstat(stream.fileno()).st_size
            if size != expected or size < HEADER:
                raise DamagedError(_damage(path, f"it has {size} bytes, not {expected}"))
            mapped = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
        return np.frombuffer(mapped, dtype, offset=HEADER)

    def _part(self, name: str, at: int, length: int) -> npt.NDArray[np.generic]:
        """A part of an array, whose blocks are compared with their checksums, each once."""
        array, end = self._arrays[name], at + length
        size = array.itemsize
        if not self._blocks[name].intact(at * size, end * size):
            raise DamagedError(_damage(self._folder / name, "its checksum does not match"))
        return array[at:end]

    @cached_property
    def _blocks(self) -> dict[str, CheckedBlocks]:
        """The blocks of each array with their checksums."""
        raw = {name: array.view(np.uint8) for name, array in self._arrays.items()}
        path, expected = self._folder / CHECKSUMS_FILE, self._files[CHECKSUMS_FILE]["crc32"]
        ends = np.cumsum([blocks_of(len(values)) for values in raw.values()])
        if zlib.crc32(self._checksums.data) != expected or ends[-1] != len(self._checksums):
            raise DamagedError(_damage(path, "its checksum does not match"))
        parts = np.split(self._checksums, ends[:-1])
        return {
            name: CheckedBlocks(values, part)
            for (name, values), part in zip(raw.items(), parts, strict=True)
        }


def _name(profile: object, tables: bytes, columns: bytes) -> str:
    """A segment is named by its contents: the records hold the digests of the values."""
    digest = hashlib.sha256(json.dumps(profile, sort_keys=True).encode())
    digest.update(tables)
    digest.update(columns)
    return digest.hexdigest()[:20]


def _about(name: str, profile: object, files: Json) -> bytes:
    """What a segment says of itself."""
    about = {"name": name, "profile": profile, "files": files}
    return (json.dumps(about, indent=1) + "\n").encode()


def _damage(path: Path, what: str) -> str:
    return f"{path} is damaged: {what}; {remedy(path.parents[2])}"
