"""Makes an index segment of some tables' columns: sorts all of their values, a part at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dovetail.arrays import Counts, Ints
from dovetail.catalog.files import ArrayFile, mapped_array, one_of_each_mapping, release_pages
from dovetail.hashing import Hashes
from dovetail.joins.value_index.index_part import IndexPart, index_part
from dovetail.joins.value_index.index_segment import Columns, IndexSegment
from dovetail.joins.value_index.row_sample import RowSample, sample_columns
from dovetail.joins.value_index.signatures import Bitmaps, make_signatures, smallest_hashes

# Values that are sorted together, which bounds the memory that takes.
_PART = 1 << 23
# Prefixes of hashes that are looked up together.
_PREFIXES = 1 << 20


def make_segment(
    tables: Sequence[str],
    table: Ints,
    value_hashes: Sequence[Hashes],
    counts: Sequence[Counts],
    folder: Path | None = None,
) -> IndexSegment:
    """Index the columns of some tables, given by their sorted value hashes and counts of rows.

    Columns come in the order of their tables. Given a folder, what grows with the values is in
    files there, mapped: memory need not hold it.
    """
    sample = sample_columns(value_hashes, counts)
    parts = (
        index_part(values, columns, table, sample[0]) for values, columns in in_order(value_hashes)
    )
    distinct = np.array([len(each) for each in value_hashes], dtype=np.int64)
    held = gathered(parts, len(value_hashes), folder)
    return assembled(tables, table, distinct, sample, held, smallest_hashes(value_hashes))


@dataclass(frozen=True, slots=True)
class GatheredParts:
    """The parts of a segment one after the other, with the fields of `IndexSegment`.

    `held_by` is how many tables hold each sampled value.
    """

    hashes: Hashes
    offsets: Ints
    columns: Columns
    frequent: Hashes
    bitmaps: Bitmaps
    rare_count: Ints
    held_by: Ints
    prefixes: Ints


class _Growing:
    """An array that others are put behind, in memory or in a file."""

    def __init__(self, kind: npt.DTypeLike, path: Path | None) -> None:
        self._kind, self._path = kind, path
        self._held: list[npt.NDArray[Any]] = []
        self._file = ArrayFile(path, kind) if path else None

    def append(self, array: npt.NDArray[Any]) -> None:
        if self._file is None:
            self._held.append(array)
            return
        self._file.append(array)
        release_pages(array)

    def finished(self) -> npt.NDArray[Any]:
        """All of them one after the other; mapped, if in a file."""
        if self._file is None or self._path is None:
            return np.concatenate([np.empty(0, dtype=self._kind), *self._held])
        self._file.close()
        return mapped_array(self._path) if self._file.length else np.empty(0, dtype=self._kind)


def gathered(parts: Iterable[IndexPart], width: int, folder: Path | None = None) -> GatheredParts:
    """Parts of a segment over `width` columns one after the other, in the order of their values.

    Given a folder, they are put together in files there.
    """

    def growing(name: str, kind: npt.DTypeLike) -> _Growing:
        return _Growing(kind, folder / f"{name}.npy" if folder else None)

    hashes, offsets = growing("hashes", np.uint64), growing("offsets", np.int64)
    columns, frequent = growing("columns", np.int32), growing("frequent", np.uint64)
    bitmaps, prefixes = growing("bitmaps", np.uint8), growing("prefixes", np.int64)
    rare_count, before = np.zeros(width, dtype=np.int64), 0
    held_by = [np.empty(0, dtype=np.int64)]
    offsets.append(np.zeros(1, dtype=np.int64))
    for part in parts:
        rare_count += np.bincount(part.columns, minlength=width)
        held_by.append(np.array(part.held_by))
        ends = before + np.cumsum(part.times, dtype=np.int64)
        before = int(ends[-1]) if len(ends) else before
        release_pages(part.times)
        hashes.append(part.hashes)
        offsets.append(ends)
        columns.append(part.columns)
        frequent.append(part.frequent)
        bitmaps.append(part.bitmaps.reshape(-1))
    flat, in_order_of_value = bitmaps.finished(), hashes.finished()
    for places in _prefixes(in_order_of_value):
        prefixes.append(places)
    return GatheredParts(
        hashes=in_order_of_value,
        offsets=offsets.finished(),
        columns=columns.finished(),
        frequent=frequent.finished(),
        bitmaps=flat.reshape(-1, (width + 7) // 8) if width else flat.reshape(0, 0),
        rare_count=rare_count,
        held_by=np.concatenate(held_by),
        prefixes=prefixes.finished(),
    )


def assembled(
    tables: Sequence[str],
    table: Ints,
    distinct: Ints,
    sample: tuple[Hashes, Ints, Ints],
    parts: GatheredParts,
    smallest: Hashes,
) -> IndexSegment:
    """The segment of some tables' columns from its parts; `sample` is as of `sample_columns`."""
    hashes, column, rows = sample
    return IndexSegment(
        tables=tuple(tables),
        table=table,
        distinct=distinct,
        rare_count=parts.rare_count,
        hashes=parts.hashes,
        offsets=parts.offsets,
        columns=parts.columns,
        prefixes=parts.prefixes,
        frequent=parts.frequent,
        bitmaps=parts.bitmaps,
        sample=RowSample(hashes, column.astype(np.int32), rows, parts.held_by),
        signatures=make_signatures(smallest, distinct == 0, parts.bitmaps),
    )


def _prefixes(hashes: Hashes) -> Iterator[Ints]:
    """Where the hashes begin whose first bits are 0, 1, 2 and so on; and where the last end."""
    bits = max(len(hashes).bit_length() - 3, 1)
    shift = np.uint64(64 - bits)
    for at in range(0, 1 << bits, _PREFIXES):
        prefixes = np.arange(at, min(at + _PREFIXES, 1 << bits), dtype=np.uint64)
        yield hashes.searchsorted(prefixes << shift)
        release_pages(hashes)
    yield np.array([len(hashes)], dtype=np.int64)


def in_order(value_hashes: Sequence[Hashes]) -> Iterator[tuple[Hashes, Columns]]:
    """All values in order, each with its column, a bounded part of them at a time."""
    parts = 1 + sum(len(hashes) for hashes in value_hashes) // _PART
    # Values are hashes: equal ranges of them hold about equally many.
    cuts = np.array([part * 2**64 // parts for part in range(1, parts)], dtype=np.uint64)
    bounds = np.array(
        [[0, *np.searchsorted(h, cuts), len(h)] for h in value_hashes], dtype=np.int64
    )
    mapped = one_of_each_mapping(value_hashes) if parts > 1 else []
    for part in range(parts if len(value_hashes) else 0):
        starts, ends = bounds[:, part], bounds[:, part + 1]
        slices = [h[a:b] for h, a, b in zip(value_hashes, starts, ends, strict=True)]
        if (starts < ends).any():
            yield merged(slices, ends - starts)
        release_pages(*mapped)


def merged(slices: Sequence[Hashes], lengths: Ints) -> tuple[Hashes, Columns]:
    """The values of some columns in order, with their columns.

    Sorting values is several times quicker than sorting places by value. So the columns are sorted
    in place of the values' last bits, beside the values; what differs in its last bits alone is
    too little to matter, but is put right.
    """
    values = np.concatenate(slices)
    bits = np.uint64(max(len(slices) - 1, 1).bit_length())
    packed = values >> bits << bits
    packed |= np.repeat(np.arange(len(slices), dtype=np.uint64), lengths)
    values.sort()
    packed.sort()
    columns = (packed & np.uint64((1 << int(bits)) - 1)).astype(np.int32)
    same = values[1:] >> bits == values[:-1] >> bits
    for at in np.flatnonzero(same & (values[1:] != values[:-1])).tolist():
        prefix = values[at] >> bits
        first, last = np.searchsorted(values, [prefix << bits, (prefix + np.uint64(1)) << bits])
        last = last if last > first else len(values)
        pairs = [
            (value, column)
            for value in np.unique(values[first:last])
            for column in np.unique(columns[first:last])
            if value in slices[column]
        ]
        columns[first:last] = [column for _, column in pairs]
    return values, columns
