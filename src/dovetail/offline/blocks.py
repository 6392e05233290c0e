"""Hashes and measures the columns of a batch, those of one type together.

A table of many short columns spends its time on the overhead of calls, not on its values: so the
columns of a batch that share a type are laid end to end and go through every step at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from dovetail.hashing import (
    Comparison,
    Hashes,
    drop_missing,
    hash_values,
    is_binary,
    is_text,
    readable_text,
    text_buffers,
)
from dovetail.offline.distinct import Counts, HashCounts, count_distinct, count_distinct_columns
from dovetail.phrases import phrase_mask, phrases

Range = tuple[Any, Any]

# Values in a block: beyond this, laying columns end to end costs more than it saves.
_MOST_VALUES = 1 << 18
# From so many values on, finding the distinct ones first saves more than it costs.
_MANY_VALUES = 1 << 8


@dataclass(frozen=True, slots=True)
class HashedColumn:
    """A column of a batch: its values that are not missing, their hashes and their measures.

    `rows` holds a hash per row of the batch, 0 where the value is missing, and `distinct` the
    distinct hashes with their row counts. `ends` are the least and the greatest value (times as the
    numbers they are counted by), `lengths` those of text, `phrases` what the cells of text are
    searched by. `once` are the values, each once where many of a text column repeat; `times` says
    then how many rows have each.
    """

    values: pa.Array
    hashes: Hashes
    rows: Hashes
    distinct: HashCounts
    ends: Range | None
    lengths: Range | None
    phrases: HashCounts | None
    once: pa.Array
    times: Counts | None


def hash_columns(
    arrays: Sequence[pa.Array], comparisons: Sequence[Comparison]
) -> list[HashedColumn]:
    """Hash the columns of a batch, those of one type together."""
    groups: dict[tuple[pa.DataType, Comparison], list[int]] = {}
    for place, key in enumerate(zip((a.type for a in arrays), comparisons, strict=True)):
        groups.setdefault(key, []).append(place)
    parts: dict[int, HashedColumn] = {}
    for (_, comparison), places in groups.items():
        width = max(1, _MOST_VALUES // max(len(arrays[0]), 1))
        for start in range(0, len(places), width):
            chosen = places[start : start + width]
            block = _block([arrays[place] for place in chosen], comparison)
            parts.update(zip(chosen, block, strict=True))
    return [parts[place] for place in range(len(arrays))]


def _block(arrays: list[pa.Array], comparison: Comparison) -> Iterator[HashedColumn]:
    columns, height = len(arrays), len(arrays[0])
    whole = arrays[0] if columns == 1 else pa.concat_arrays(arrays)
    values, present = drop_missing(readable_text(whole), comparison)
    hashes = hash_values(values, comparison)
    if present is None:
        counts = np.full(columns, height)
        rows = hashes.reshape(columns, height)
        distinct = count_distinct_columns(rows)
    else:
        counts = np.count_nonzero(present.reshape(columns, height), axis=1)
        spread = np.zeros(columns * height, dtype=np.uint64)
        spread[present] = hashes
        rows = spread.reshape(columns, height)
        cuts = np.cumsum(counts)[:-1]
        distinct = [count_distinct(piece) for piece in np.split(hashes, cuts)]
    bounds = np.concatenate([[0], np.cumsum(counts)])
    ends, lengths = _ends(values, bounds), _lengths(values, bounds)
    pieces = [values.slice(a, b - a) for a, b in pairwise(bounds.tolist())]
    text = is_text(values.type)
    once = list(map(_once, pieces, distinct)) if text else [(piece, None) for piece in pieces]
    found = _phrases([each for each, _ in once]) if text else [None] * columns
    for column, (each, times) in enumerate(once):
        start, stop = int(bounds[column]), int(bounds[column + 1])
        yield HashedColumn(
            values=pieces[column],
            hashes=hashes[start:stop],
            rows=rows[column],
            distinct=distinct[column],
            ends=ends[column],
            lengths=lengths[column],
            phrases=found[column],
            once=each,
            times=times,
        )


def _once(values: pa.Array, distinct: HashCounts) -> tuple[pa.Array, Counts | None]:
    """Values each once, and how many rows have each, where that saves work."""
    if len(values) < _MANY_VALUES or 2 * len(distinct[0]) > len(values):
        return values, None
    counted = values.value_counts()
    return counted.field(0), counted.field(1).to_numpy().astype(np.uint32)


def _ends(values: pa.Array, bounds: npt.NDArray[np.int64]) -> list[Range | None]:
    kind = values.type
    if pa.types.is_date(kind):
        values = values.cast(pa.date32()).view(pa.int32())
    elif pa.types.is_timestamp(kind):
        values = values.view(pa.int64())
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        found = (pc.min_max(values.slice(a, b - a)) for a, b in pairwise(bounds.tolist()))
        return [(ends["min"].as_py(), ends["max"].as_py()) for ends in found]
    return _ranges(values.to_numpy(zero_copy_only=False), bounds)


def _lengths(values: pa.Array, bounds: npt.NDArray[np.int64]) -> list[Range | None]:
    if not (is_text(values.type) or is_binary(values.type)) or not len(values):
        return [None] * (len(bounds) - 1)
    starts, lengths, data = text_buffers(values)
    if is_text(values.type) and data[starts[0] : starts[-1] + lengths[-1]].max(initial=0) >= 0x80:
        lengths = pc.utf8_length(values).to_numpy()
    return _ranges(lengths, bounds)


def _phrases(pieces: Sequence[pa.Array]) -> Sequence[HashCounts | None]:
    """The distinct phrases of each column of a block."""
    whole = pa.concat_arrays(pieces) if len(pieces) > 1 else pieces[0]
    ends = np.cumsum([0, *(len(piece) for piece in pieces)])
    worth = phrase_mask(whole)
    if not worth.all():
        whole = whole.filter(pa.array(worth))
        ends = np.append(0, np.cumsum(worth))[ends]
    return [count_distinct(found) if len(found) else None for found in phrases(whole, ends)]


def _ranges(numbers: npt.NDArray[Any], bounds: npt.NDArray[np.int64]) -> list[Range | None]:
    """The least and the greatest between each two bounds; None where there is nothing."""
    filled = np.flatnonzero(bounds[1:] > bounds[:-1])
    found: list[Range | None] = [None] * (len(bounds) - 1)
    if len(filled):
        starts = bounds[filled]
        low = np.minimum.reduceat(numbers, starts).tolist()
        high = np.maximum.reduceat(numbers, starts).tolist()
        for place, ends in zip(filled.tolist(), zip(low, high, strict=True), strict=True):
            found[place] = ends
    return found
