"""Records of a large catalog, decoded once and then mapped into memory.

Parquet is what is stored and checked. Beside a large file of it stands the same table as an Arrow
file, made by whoever opens the catalog first; it says by a checksum what it was made from. Then
nothing is read at opening but what is looked at, and the system may drop it from memory.
"""

from __future__ import annotations

import mmap
import os
from contextlib import suppress
from pathlib import Path

import pyarrow as pa

from dovetail.catalog.files import DAMAGE
from dovetail.catalog.manifest import describe
from dovetail.catalog.segment import read_parquet
from dovetail.errors import DamagedError
from dovetail.ports import Json

# Bytes of a Parquet file from which its table is mapped; decoding them takes a quarter of a second.
_LEAST_MAPPED = 4 << 20
_MADE_FROM = b"made from"


def read_records(path: Path, expected: Json, least_mapped: int = _LEAST_MAPPED) -> pa.Table:
    """The table in a Parquet file of ours, if it is as the manifest expects it."""
    if expected["bytes"] < least_mapped:
        return _read(path, expected)
    mapped = path.with_suffix(".arrow")
    path.stat()  # a file that is missing is an error, whatever stands beside it
    with suppress(*DAMAGE):
        return _map(mapped, expected)
    table = _read(path, expected)
    with suppress(OSError):  # a catalog that cannot be written to is read all the same
        _write(mapped, table, expected)
        with suppress(*DAMAGE):
            table = _map(mapped, expected)
    return table


def _read(path: Path, expected: Json) -> pa.Table:
    content = path.read_bytes()
    if describe(content) != expected:
        raise DamagedError(
            f"{path} is damaged: its checksum does not match; "
            f"remove {path.parent.parent.parent} and index again"
        )
    return read_parquet(content)


def _map(path: Path, expected: Json) -> pa.Table:
    """The table of an Arrow file, every offset in it checked; ValueError if made from another."""
    with path.open("rb") as stream:
        mapped = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
    table = pa.ipc.open_file(pa.BufferReader(pa.py_buffer(mapped))).read_all()
    if (table.schema.metadata or {}).get(_MADE_FROM) != str(expected["sha256"]).encode():
        raise ValueError(path)
    table.validate(full=True)
    if hasattr(mapped, "madvise"):  # what was checked need not stay in memory
        mapped.madvise(mmap.MADV_DONTNEED)
    return table.replace_schema_metadata(None)


def _write(path: Path, table: pa.Table, expected: Json) -> None:
    beside = path.with_name(f"{path.name}.{os.getpid()}")
    marked = table.combine_chunks().replace_schema_metadata({_MADE_FROM: expected["sha256"]})
    try:
        with pa.OSFile(str(beside), "wb") as sink, pa.ipc.new_file(sink, marked.schema) as writer:
            writer.write_table(marked, max_chunksize=max(len(marked), 1))
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
