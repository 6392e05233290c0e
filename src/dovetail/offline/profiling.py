"""Profiles from full columns: one pass over the stream, every cell hashed once."""

from __future__ import annotations

import hashlib
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dovetail.domain import ColumnProfile, Kind
from dovetail.hashing import (
    Comparison,
    Hashes,
    drop_missing,
    hash_values,
    is_binary,
    is_text,
    mix,
    read_numbers,
    text_buffers,
)
from dovetail.offline.distinct import DistinctHashes, Run, distinct_run
from dovetail.offline.sampling import RowSample, render, write_out
from dovetail.ports import Json, Scan, ScannedColumn

Ends = tuple[Any, Any]

# Raised whenever a profile would come out differently than before: catalogs are then rebuilt.
PROFILE_VERSION = 1
EXAMPLES = 5
# Hashes of one table held in memory before they go to disk in sorted runs.
_SPILL_ENTRIES = 1 << 25

_DATE = re.compile(r"^\d{4}-\d{2}-\d{2}$")
_TIMESTAMP = re.compile(r"^\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}(:\d{2}(\.\d+)?)?$")
_SQL_TYPES = {
    Kind.INTEGER: "BIGINT",
    Kind.REAL: "DOUBLE",
    Kind.DATE: "DATE",
    Kind.TIMESTAMP: "TIMESTAMP",
    Kind.BINARY: "BLOB",
}


@dataclass(frozen=True, slots=True)
class ProfileOptions:
    """What a profile depends on besides the data."""

    comparison: Comparison = Comparison.COERCED
    sample_rows: int = 5
    seed: int = 42

    def to_json(self) -> Json:
        return {
            "comparison": str(self.comparison),
            "sample_rows": self.sample_rows,
            "seed": self.seed,
        }

    @classmethod
    def from_json(cls, data: Json) -> ProfileOptions:
        return cls(Comparison(data["comparison"]), data["sample_rows"], data["seed"])


class TableProfiler:
    """Takes in a scan; afterwards gives out the profile of the table and of each column."""

    def __init__(self, options: ProfileOptions) -> None:
        self._options = options
        self._spill: tempfile.TemporaryDirectory[str] | None = None
        self._digest = hashlib.sha256()
        self.rows = 0
        self.columns: list[ColumnProfiler] = []
        self._sample = RowSample(options.sample_rows, options.seed)
        self._row_sum = np.uint64(0)

    def read(self, scan: Scan) -> Iterator[int]:
        """Take the batches in one by one, giving out the number of rows so far."""
        self.columns = [ColumnProfiler(column, self._options) for column in scan.columns]
        for batch in scan.batches:
            if batch.num_rows:
                self._add(batch)
                yield self.rows

    def sample(self) -> tuple[tuple[str | None, ...], ...]:
        """The drawn rows."""
        return self._sample.rows()

    def runs(self, column: ColumnProfiler) -> Iterator[Run]:
        """A column's distinct hashes and counts, in ascending order; each goes into the digest."""
        self._digest.update(f"{column.name}\0{column.type}\0".encode("utf-8", "backslashreplace"))
        for hashes, counts in column.distinct.merged():
            self._digest.update(hashes.data)
            yield hashes, counts

    def digest(self) -> str:
        """A name for the contents: the columns, the values of each, and how rows pair them.

        The order of the rows does not count. Complete once `runs` gave out every column.
        """
        digest = self._digest.copy()
        digest.update(f"{self.rows} {int(self._row_sum)}".encode())
        return digest.hexdigest()[:32]

    def _add(self, batch: pa.RecordBatch) -> None:
        clean = [readable(array) for array in batch.columns]
        paired = np.zeros(batch.num_rows, dtype=np.uint64)
        for profiler, array in zip(self.columns, clean, strict=True):
            paired *= np.uint64(0x9E3779B97F4A7C15)
            paired += profiler.add(array)
        with np.errstate(over="ignore"):
            self._row_sum += mix(paired).sum(dtype=np.uint64)
        self._sample.add(clean, batch.num_rows)
        self.rows += batch.num_rows
        if sum(profiler.distinct.pending for profiler in self.columns) > _SPILL_ENTRIES:
            self._spill = self._spill or tempfile.TemporaryDirectory(prefix="dovetail-")
            for profiler in self.columns:
                profiler.distinct.spill(Path(self._spill.name))


class ColumnProfiler:
    """Takes in the arrays of one column."""

    def __init__(self, column: ScannedColumn, options: ProfileOptions) -> None:
        self.name = column.name
        self._type = column.type
        # Text without types has only one way to be compared with numbers: by what it reads as.
        typed = options.comparison is Comparison.TYPED
        self._comparison = Comparison.COERCED if column.untyped and typed else options.comparison
        self._guess = KindGuess() if column.untyped else None
        self._kind = Kind.EMPTY
        self._ends: Ends | None = None
        self._lengths: Ends | None = None
        self._examples: dict[int, str] = {}
        self.distinct = DistinctHashes()
        self.nulls = 0
        self.values = 0

    def add(self, array: pa.Array) -> Hashes:
        """Take in an array; returns a hash per row, 0 for the missing ones."""
        values = drop_missing(array, self._comparison)
        self.nulls += len(array) - len(values)
        if not len(values):
            return np.zeros(len(array), dtype=np.uint64)
        self.values += len(values)
        hashes = hash_values(values, self._comparison)
        run = distinct_run(hashes)
        self.distinct.add(run)
        self._note_examples(values, hashes, run)
        self._note_range(values)
        if len(values) == len(array):
            return hashes
        return self._spread(array, hashes)

    def profile(self, distinct: int) -> ColumnProfile:
        """What is known at the end, given the number of distinct values."""
        kind = self._guess.kind() if self._guess and self._kind is Kind.TEXT else self._kind
        low, high = self._rendered_ends()
        lengths = self._lengths
        if self._guess and kind in (Kind.INTEGER, Kind.REAL):
            low, high = self._guess.range(kind)
        return ColumnProfile(
            kind=kind,
            nulls=self.nulls,
            distinct=distinct,
            unique=0 < distinct == self.values,
            minimum=low,
            maximum=high,
            min_length=lengths[0] if lengths else None,
            max_length=lengths[1] if lengths else None,
            examples=tuple(self._examples[key] for key in sorted(self._examples)),
        )

    def _rendered_ends(self) -> tuple[str | None, str | None]:
        if self._ends is None:
            return None, None
        if self._kind is Kind.DATE:
            times = pa.array(np.array(self._ends, dtype=np.int32)).cast(pa.date32())
        elif self._kind is Kind.TIMESTAMP:
            times = pa.array(np.array(self._ends)).cast(pa.timestamp("us"))
        else:
            return write_out(self._ends[0]), write_out(self._ends[1])
        low, high = render(times, np.arange(2))
        return low, high

    @property
    def type(self) -> str:
        """The source's type, or for text without types the one its values fit."""
        if self._guess is None:
            return self._type
        kind = self._guess.kind() if self._kind is Kind.TEXT else self._kind
        return _SQL_TYPES.get(kind, "VARCHAR")

    def _spread(self, array: pa.Array, hashes: Hashes) -> Hashes:
        spread = np.zeros(len(array), dtype=np.uint64)
        present = pc.is_valid(array)
        if pa.types.is_floating(array.type):
            present = pc.and_(present, pc.invert(pc.fill_null(pc.is_nan(array), False)))
        elif self._comparison is Comparison.COERCED and is_text(array.type):
            filled = pc.utf8_length(pc.utf8_trim_whitespace(array))
            present = pc.fill_null(pc.greater(filled, 0), False)
        spread[present.to_numpy(zero_copy_only=False)] = hashes
        return spread

    def _note_examples(self, values: pa.Array, hashes: Hashes, run: Run) -> None:
        """Keep the values with the smallest hashes: an even sample of the distinct ones."""
        smallest = run[0][:EXAMPLES]
        if len(self._examples) == EXAMPLES and smallest[0] > max(self._examples):
            return
        rows = np.flatnonzero(hashes <= smallest[-1])
        keys, first = np.unique(hashes[rows], return_index=True)
        texts = render(values, rows[first])
        found = dict(zip(keys.tolist(), texts, strict=True)) | self._examples
        self._examples = {key: found[key] or "" for key in sorted(found)[:EXAMPLES]}

    def _note_range(self, values: pa.Array) -> None:
        self._kind = kind_of(values.type)
        self._ends = _wider(self._ends, _ends_of(values))
        if self._kind in (Kind.TEXT, Kind.BINARY):
            self._lengths = _wider(self._lengths, _lengths_of(values))
        if self._guess is not None and self._kind is Kind.TEXT:
            self._guess.add(values)


class KindGuess:
    """What kind of values a column of text holds, judged by every one of them."""

    def __init__(self) -> None:
        self._whole = True
        self._number = True
        self._pattern: re.Pattern[str] | None = None
        self._patterned = True
        self._numbers: list[tuple[float, float]] = []

    def add(self, values: pa.Array) -> None:
        """Take in texts, none of them empty where blanks are missing values."""
        if self._number:
            self._add_numbers(values)
        if self._patterned:
            self._add_dates(values)

    def kind(self) -> Kind:
        """The narrowest kind that fits."""
        if self._number:
            return Kind.INTEGER if self._whole else Kind.REAL
        if self._patterned:
            return Kind.DATE if self._pattern is _DATE else Kind.TIMESTAMP
        return Kind.TEXT

    def range(self, kind: Kind) -> tuple[str, str]:
        """The smallest and largest number, written out."""
        low, high = min(n[0] for n in self._numbers), max(n[1] for n in self._numbers)
        return (str(int(low)), str(int(high))) if kind is Kind.INTEGER else (str(low), str(high))

    def _add_numbers(self, values: pa.Array) -> None:
        whole, decimal = read_numbers(values)
        self._whole &= bool(whole.all())
        self._number = bool((whole | decimal).all())
        if self._number:
            numbers = values.cast(pa.int64() if self._whole else pa.float64()).to_numpy()
            self._numbers.append((numbers.min(), numbers.max()))

    def _add_dates(self, values: pa.Array) -> None:
        if self._pattern is None:
            first = values[0].as_py()
            self._pattern = next((p for p in (_DATE, _TIMESTAMP) if p.match(first)), None)
        self._patterned = self._pattern is not None and bool(
            pc.all(pc.match_substring_regex(values, self._pattern.pattern)).as_py()
        )


def kind_of(kind: pa.DataType) -> Kind:
    """The kind of an Arrow type."""
    if pa.types.is_integer(kind):
        return Kind.INTEGER
    if pa.types.is_floating(kind):
        return Kind.REAL
    if pa.types.is_boolean(kind):
        return Kind.BOOLEAN
    if pa.types.is_date(kind):
        return Kind.DATE
    if pa.types.is_timestamp(kind):
        return Kind.TIMESTAMP
    return Kind.BINARY if is_binary(kind) else Kind.TEXT


def readable(array: pa.Array) -> pa.Array:
    """Text that is not valid UTF-8, with its offending bytes written as escapes."""
    if not is_text(array.type):
        return array
    try:
        array.validate(full=True)
    except pa.ArrowInvalid:
        raw = array.cast(pa.large_binary()).to_pylist()
        texts = [None if cell is None else cell.decode("utf-8", "backslashreplace") for cell in raw]
        return pa.array(texts, pa.large_string())
    return array


def _wider(ends: Ends | None, found: Ends) -> Ends:
    return found if ends is None else (min(ends[0], found[0]), max(ends[1], found[1]))


def _ends_of(values: pa.Array) -> Ends:
    """The least and the greatest value; times as the numbers they are counted by."""
    kind = values.type
    if pa.types.is_date(kind):
        values = values.cast(pa.date32()).view(pa.int32())
    elif pa.types.is_timestamp(kind):
        values = values.view(pa.int64())
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        ends = pc.min_max(values)
        return ends["min"].as_py(), ends["max"].as_py()
    numbers = values.to_numpy()
    return numbers.min().item(), numbers.max().item()


def _lengths_of(values: pa.Array) -> Ends:
    starts, lengths, data = text_buffers(values)
    if is_text(values.type) and data[starts[0] : starts[-1] + lengths[-1]].max(initial=0) >= 0x80:
        lengths = pc.utf8_length(values).to_numpy()
    return lengths.min().item(), lengths.max().item()
