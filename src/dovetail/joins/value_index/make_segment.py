"""Makes an index segment of some tables' columns: sorts all of their values, a part at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dovetail.catalog.files import release_pages
from dovetail.hashing import Hashes
from dovetail.joins.column_arrays import Counts, Ints
from dovetail.joins.value_index.index_part import IndexPart, index_part
from dovetail.joins.value_index.index_segment import Columns, IndexSegment
from dovetail.joins.value_index.row_sample import RowSample, sample_columns
from dovetail.joins.value_index.signatures import Bitmaps, make_signatures, smallest_hashes

# Values that are sorted together, which bounds the memory that takes.
_PART = 1 << 23
# Prefixes of hashes that are looked up together.
_PREFIXES = 1 << 20


def make_segment(
    tables: Sequence[str], table: Ints, value_hashes: Sequence[Hashes], counts: Sequence[Counts]
) -> IndexSegment:
    """Index the columns of some tables, given by their sorted value hashes and counts of rows.

    Columns come in the order of their tables.
    """
    sample = sample_columns(value_hashes, counts)
    parts = [
        index_part(values, columns, table, sample[0]) for values, columns in in_order(value_hashes)
    ]
    distinct = np.array([len(each) for each in value_hashes], dtype=np.int64)
    held = gathered(parts, len(value_hashes), in_memory)
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


# Puts arrays of a kind one after the other.
Concatenate = Callable[[str, npt.DTypeLike, Iterable[npt.NDArray[Any]]], npt.NDArray[Any]]


def in_memory(
    name: str, kind: npt.DTypeLike, arrays: Iterable[npt.NDArray[Any]]
) -> npt.NDArray[Any]:
    """Arrays one after the other, in memory."""
    del name
    return np.concatenate([np.empty(0, dtype=kind), *arrays])


def gathered(parts: Sequence[IndexPart], width: int, concatenate: Concatenate) -> GatheredParts:
    """Parts of a segment over `width` columns one after the other, in the order of their values."""
    rare_count = np.zeros(width, dtype=np.int64)
    for part in parts:
        rare_count += np.bincount(part.columns, minlength=width)
        release_pages(part.columns)
    flat = concatenate("bitmaps", np.uint8, (part.bitmaps.reshape(-1) for part in parts))
    hashes = concatenate("hashes", np.uint64, (part.hashes for part in parts))
    return GatheredParts(
        hashes=hashes,
        offsets=concatenate("offsets", np.int64, _offsets(parts)),
        columns=concatenate("columns", np.int32, (part.columns for part in parts)),
        frequent=concatenate("frequent", np.uint64, (part.frequent for part in parts)),
        bitmaps=flat.reshape(-1, (width + 7) // 8) if width else flat.reshape(0, 0),
        rare_count=rare_count,
        held_by=np.concatenate([np.empty(0, np.int64), *(part.held_by for part in parts)]),
        prefixes=concatenate("prefixes", np.int64, _prefixes(hashes)),
    )


def _offsets(parts: Iterable[IndexPart]) -> Iterator[Ints]:
    yield np.zeros(1, dtype=np.int64)
    before = 0
    for part in parts:
        ends = before + np.cumsum(part.times, dtype=np.int64)
        release_pages(part.times)
        before = int(ends[-1]) if len(ends) else before
        yield ends


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
    for part in range(parts if len(value_hashes) else 0):
        starts, ends = bounds[:, part], bounds[:, part + 1]
        slices = [h[a:b] for h, a, b in zip(value_hashes, starts, ends, strict=True)]
        if (starts < ends).any():
            yield merged(slices, ends - starts)


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
