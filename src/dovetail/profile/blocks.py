"""Hashes and measures the columns of a batch, those of one type together.

A table of many short columns spends its time on the overhead of calls, not on its values: so the
columns of a batch that share a type are laid end to end and go through every step at once. Of a
text column that repeats itself only the distinct texts do.
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

from dovetail.arrays import Counts, Flags
from dovetail.hashing import (
    Hashes,
    drop_missing,
    hash_values,
    is_binary,
    is_text,
    readable_text,
    text_buffers,
)
from dovetail.phrases import phrase_mask, phrases
from dovetail.profile.distinct import HashCounts, count_distinct

Range = tuple[Any, Any]

# Values in a block: beyond this, laying columns end to end costs more than it saves.
_MOST_VALUES = 1 << 18
# From so many texts on, it may save work to find the distinct ones before all else. How many these
# are is told by the first texts, one in so many.
_MANY, _ONE_IN, _MOST_TRIED = 1 << 8, 16, 1 << 11
# Values of the first rows that a column is judged by.
_FIRST = 32


@dataclass(frozen=True, slots=True)
class HashedColumn:
    """A column of a batch: its values that are not missing, their hashes and their measures.

    Where many rows have the same text, it is among these once: `times` says then how many rows have
    each, and is None where each has one. `first` are the values of the first rows. `rows` holds a
    hash per row of the batch, 0 where the value is missing, and `distinct` the distinct hashes with
    their row counts. `ends` are the smallest and the greatest value (times as the numbers they are
    counted by), `lengths` those of text, `phrases` what the cells of text are searched by.
    """

    values: pa.Array
    hashes: Hashes
    first: pa.Array
    rows: Hashes
    distinct: HashCounts
    ends: Range | None
    lengths: Range | None
    phrases: HashCounts | None
    times: Counts | None

    @property
    def filled(self) -> int:
        """How many rows have a value."""
        return len(self.values) if self.times is None else int(self.times.sum())


def hash_columns(arrays: Sequence[pa.Array]) -> list[HashedColumn]:
    """Hash the columns of a batch, those of one type together."""
    groups: dict[pa.DataType, list[int]] = {}
    for column, array in enumerate(arrays):
        groups.setdefault(array.type, []).append(column)
    parts: dict[int, HashedColumn] = {}
    for columns in groups.values():
        width = max(1, _MOST_VALUES // max(len(arrays[0]), 1))
        for start in range(0, len(columns), width):
            chosen = columns[start : start + width]
            block = _block([arrays[column] for column in chosen])
            parts.update(zip(chosen, block, strict=True))
    return [parts[column] for column in range(len(arrays))]


def _block(arrays: list[pa.Array]) -> Iterator[HashedColumn]:
    encoded = [_encoded(array) for array in arrays]
    taken = [each.texts if each else arrays[at] for at, each in enumerate(encoded)]
    together = taken[0] if len(taken) == 1 else pa.concat_arrays(taken)
    values, present = drop_missing(readable_text(together))
    hashes = hash_values(values)
    if present is None:
        present, spread = np.ones(len(hashes), dtype=np.bool_), hashes
    else:
        spread = np.zeros(len(present), dtype=np.uint64)
        spread[present] = hashes
    edges = np.cumsum([0, *map(len, taken)])
    bounds = edges if spread is hashes else np.append(0, np.cumsum(present))[edges]
    pieces = [values.slice(start, end - start) for start, end in pairwise(bounds.tolist())]
    hashes_of: list[Hashes] = np.split(hashes, bounds[1:-1])
    of_rows: list[Hashes] = np.split(spread, edges[1:-1])
    there: list[Flags] = np.split(present, edges[1:-1])
    times = [
        each.times(flags) if each else None for each, flags in zip(encoded, there, strict=True)
    ]
    ends, lengths = _ends(values, bounds), _lengths(values, bounds)
    searched = _phrases(pieces) if is_text(values.type) else [None] * len(pieces)
    for column, each in enumerate(encoded):
        piece, rows = pieces[column], of_rows[column]
        yield HashedColumn(
            values=piece,
            hashes=hashes_of[column],
            first=each.first(piece, there[column]) if each else piece[:_FIRST],
            rows=each.spread(rows) if each else rows,
            distinct=count_distinct(hashes_of[column], times[column]),
            ends=ends[column],
            lengths=lengths[column],
            phrases=searched[column],
            times=times[column],
        )


@dataclass(frozen=True, slots=True)
class _Encoded:
    """A column as its distinct texts, and the place of each row's among them; -1 for none."""

    texts: pa.Array
    codes: npt.NDArray[np.int32]

    def times(self, there: Flags) -> Counts:
        """How many rows have each of the texts that are there."""
        counts = np.bincount(self.codes + 1, minlength=len(self.texts) + 1)[1:]
        return counts[there].astype(np.uint32)

    def first(self, values: pa.Array, there: Flags) -> pa.Array:
        """The values of the first rows that have one, given the texts that are there."""
        index = np.where(np.append(there, False), np.append(np.cumsum(there), 0) - 1, -1)
        indices = index[self.codes]
        return values.take(pa.array(indices[indices >= 0][:_FIRST]))

    def spread(self, hashes: Hashes) -> Hashes:
        """The hash of each row's text, 0 for none."""
        rows: Hashes = np.append(hashes, np.uint64(0))[self.codes]
        return rows


def _encoded(array: pa.Array) -> _Encoded | None:
    """A text column by its distinct texts, if no more than half of its texts are likely to be.

    Of so many drawn from so many distinct texts, about half the square of the one divided by the
    other are repetitions.
    """
    if len(array) < _MANY or not _is_plain_text(array.type):
        return None
    size = min(len(array) // _ONE_IN, _MOST_TRIED)
    repetitions = size - len(array[:size].unique())
    if repetitions * len(array) < size * size:
        return None
    encoded = array.dictionary_encode()
    return _Encoded(encoded.dictionary, encoded.indices.fill_null(-1).to_numpy())


def _is_plain_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _ends(values: pa.Array, bounds: npt.NDArray[np.int64]) -> list[Range | None]:
    kind = values.type
    if pa.types.is_date(kind):
        values = values.cast(pa.date32()).view(pa.int32())
    elif pa.types.is_timestamp(kind):
        values = values.view(pa.int64())
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        ends_of = (pc.min_max(values.slice(a, b - a)) for a, b in pairwise(bounds.tolist()))
        return [(ends["min"].as_py(), ends["max"].as_py()) for ends in ends_of]
    return _ranges(values.to_numpy(zero_copy_only=False), bounds)


def _lengths(values: pa.Array, bounds: npt.NDArray[np.int64]) -> list[Range | None]:
    if not (is_text(values.type) or is_binary(values.type)) or not len(values):
        return [None] * (len(bounds) - 1)
    starts, lengths, data = text_buffers(values)
    if is_text(values.type) and data[starts[0] : starts[-1] + lengths[-1]].max(initial=0) >= 0x80:
        lengths = pc.utf8_length(values).to_numpy()
    return _ranges(lengths, bounds)


def _phrases(pieces: Sequence[pa.Array]) -> Sequence[HashCounts | None]:
    """The distinct phrases of each column of a block; the value hash of what is none."""
    together = pa.concat_arrays(pieces) if len(pieces) > 1 else pieces[0]
    ends = np.cumsum([0, *(len(piece) for piece in pieces)])
    worth = phrase_mask(together)
    if worth.all():
        return [_counted(each) for each in phrases(together, ends)]
    worded = phrases(together.filter(pa.array(worth)), np.append(0, np.cumsum(worth))[ends])
    as_written = hash_values(together.filter(pa.array(~worth)))
    others = np.split(as_written, np.append(0, np.cumsum(~worth))[ends][1:-1])
    return [_counted(np.concatenate(both)) for both in zip(worded, others, strict=True)]


def _counted(hashes: Hashes) -> HashCounts | None:
    return count_distinct(hashes) if len(hashes) else None


def _ranges(numbers: npt.NDArray[Any], bounds: npt.NDArray[np.int64]) -> list[Range | None]:
    """The least and the greatest between each two bounds; None where there is nothing."""
    filled = np.flatnonzero(bounds[1:] > bounds[:-1])
    ranges: list[Range | None] = [None] * (len(bounds) - 1)
    if len(filled):
        starts = bounds[filled]
        low = np.minimum.reduceat(numbers, starts).tolist()
        high = np.maximum.reduceat(numbers, starts).tolist()
        for column, ends in zip(filled.tolist(), zip(low, high, strict=True), strict=True):
            ranges[column] = ends
    return ranges
