"""Profiles tables from all of their rows, in one pass: every cell is hashed once."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from dovetail.domain import ColumnProfile, Kind
from dovetail.domain.tables import NUMBERS
from dovetail.hashing import HashCipher, is_binary, is_text, iso_text, mix, read_numbers
from dovetail.memory import within
from dovetail.ports import ColumnStatistics, Json, Scan, ScannedColumn, TableStatistics
from dovetail.profile.blocks import HashedColumn, Range, hash_columns
from dovetail.profile.distinct import DistinctHashes, HashCounts
from dovetail.profile.normal_forms import NormalForms
from dovetail.text import cut

# Raised whenever a profile would come out differently than before: catalogs are then rebuilt.
PROFILE_VERSION = 11
EXAMPLES = 5
# Cells are cut to so many characters wherever they are shown or stored as text.
CELL_WIDTH = 200
# Integers, and texts of so many characters, are a candidate key if this share of them is distinct:
# joins are found to columns that repeat no more than that.
_KEY_WIDTH, _KEY_SHARE = 64, 0.8
# Distinct values are counted approximately where a warehouse counts them: some percent off.
_NEARLY_ALL = 0.9
# Hashes of one table held in memory before they go to disk in sorted runs.
_SPILL_ENTRIES = 1 << 25

# Any odd number: it makes the place of a column count in the hash of a row.
_ODD = np.uint64(0x9E3779B97F4A7C15)

_DATE = r"^\d{4}-\d{2}-\d{2}$"
# A midnight among other times is written as its day.
_TIMESTAMP = r"^\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}(:\d{2}(\.\d+)?)?)?$"
# The SQL type that a kind fits; of others text.
_SQL_TYPES = {
    Kind.INTEGER: "BIGINT",
    Kind.REAL: "DOUBLE",
    Kind.DATE: "DATE",
    Kind.TIMESTAMP: "TIMESTAMP",
    Kind.BINARY: "BLOB",
}


@dataclass(frozen=True, slots=True)
class ProfileOptions:
    """What a profile depends on besides the data.

    `mask` says whether what detectors find is masked, `mask_columns` are patterns of the names of
    columns that are masked whole. With a `key_id` no value is kept, and hashes are keyed with the
    key of that id.
    """

    sample_rows: int = 5
    seed: int = 42
    mask: bool = True
    mask_columns: tuple[str, ...] = ()
    key_id: str = ""

    def to_json(self) -> Json:
        return asdict(self) | {"mask_columns": list(self.mask_columns)}

    @classmethod
    def from_json(cls, data: Json) -> ProfileOptions:
        return cls(**data | {"mask_columns": tuple(data["mask_columns"])})


class TableProfiler:
    """Takes in a scan; afterwards gives out the profile of the table and of each column.

    The folder `scratch` is made and used when a table grows large.
    """

    def __init__(
        self, options: ProfileOptions, scratch: Path, cipher: HashCipher | None = None
    ) -> None:
        self._scratch = scratch
        self._cipher = cipher
        # Keyed too: whoever has the hashes could try guesses at rows and statistics on it.
        self._digest = hashlib.sha256(b"" if cipher is None else cipher.key)
        self.rows = 0
        self.columns: list[ColumnProfiler] = []
        self.left_out: Mapping[str, str] = {}
        self.statistics: TableStatistics | None = None
        self._sample = RowSample(options.sample_rows, options.seed)
        self._row_sum = np.uint64(0)

    def read(self, scan: Scan) -> Iterator[int]:
        """Take the batches in one by one, giving out the number of rows so far."""
        self.columns = [ColumnProfiler(column, self._cipher) for column in scan.columns]
        self.left_out = scan.left_out
        self.statistics = scan.statistics
        for batch in scan.batches:
            if batch.num_rows:
                self._add(batch)
                yield self.rows

    def sample(self) -> tuple[tuple[str | None, ...], ...]:
        """The drawn rows."""
        return self._sample.rows()

    def runs(self, column: ColumnProfiler) -> Iterator[HashCounts]:
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
        if self.statistics is not None:
            digest.update(repr(self.statistics).encode("utf-8", "backslashreplace"))
        return digest.hexdigest()[:32]

    def _add(self, batch: pa.RecordBatch) -> None:
        hashed = hash_columns(batch.columns)
        paired = np.zeros(batch.num_rows, dtype=np.uint64)
        for profiler, column in zip(self.columns, hashed, strict=True):
            profiler.add(column, batch.num_rows)
            paired *= _ODD
            paired += column.rows
        with np.errstate(over="ignore"):
            self._row_sum += mix(paired).sum(dtype=np.uint64)
        self._sample.add(batch.columns, batch.num_rows)
        self.rows += batch.num_rows
        waiting = sum(
            c.distinct.pending + c.phrases.pending + c.forms.pending for c in self.columns
        )
        if waiting > within(_SPILL_ENTRIES):
            self._scratch.mkdir(exist_ok=True)
            for number, profiler in enumerate(self.columns):
                profiler.distinct.spill(self._scratch / str(number))
                profiler.phrases.spill(self._scratch / f"{number}-phrases")
                for form, part in enumerate(profiler.forms.parts):
                    part.spill(self._scratch / f"{number}-form{form}")


class ColumnProfiler:
    """Takes in the arrays of one column."""

    def __init__(self, column: ScannedColumn, cipher: HashCipher | None = None) -> None:
        self.name = column.name
        self._type = column.type
        self._guess = KindGuess(column.type) if column.untyped else None
        self._kind = Kind.EMPTY
        self._ends: Range | None = None
        self._lengths: Range | None = None
        self._examples: dict[int, str | None] = {}
        self.distinct = DistinctHashes(cipher)
        self.phrases = DistinctHashes(cipher)
        self.forms = NormalForms(cipher)
        self.nulls = 0
        self.values = 0

    def add(self, column: HashedColumn, rows: int) -> None:
        """Take in the column as it is in a batch of so many rows."""
        filled = column.filled
        self.nulls += rows - filled
        if not filled:
            return
        self.values += filled
        self._kind = kind_of(column.values.type)
        self._ends = _wider(self._ends, column.ends)
        self._lengths = _wider(self._lengths, column.lengths)
        self.distinct.add(column.distinct)
        if column.phrases is not None:
            self.phrases.add(column.phrases)
        self.forms.add(column)
        self._note_examples(column)
        if self._guess is not None and self._kind is Kind.TEXT:
            self._guess.add(column.values)

    def may_be_key(self, distinct: int) -> bool:
        """Whether a column of so many distinct values may be what others refer to."""
        short = self.kind is Kind.INTEGER or (
            self.kind is Kind.TEXT and self._lengths is not None and self._lengths[1] <= _KEY_WIDTH
        )
        return short and distinct >= _KEY_SHARE * self.values

    def profile(self, distinct: int, kept: int) -> ColumnProfile:
        """What is known at the end, given how many distinct values there are and are kept."""
        kind = self.kind
        if self._guess and kind in NUMBERS:
            low, high = self._guess.ends()
        else:
            low, high = self._rendered_ends()
        lengths = self._lengths if kind in (Kind.TEXT, Kind.BINARY) else None
        return ColumnProfile(
            kind=kind,
            nulls=self.nulls,
            distinct=distinct,
            unique=0 < distinct == self.values,
            minimum=low,
            maximum=high,
            min_length=lengths[0] if lengths else None,
            max_length=lengths[1] if lengths else None,
            examples=tuple(text or "" for text in self._examples.values()),
            kept=kept,
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
    def kind(self) -> Kind:
        """What the values are; for text without types, what all of them read as."""
        return self._guess.kind() if self._guess and self._kind is Kind.TEXT else self._kind

    @property
    def type(self) -> str:
        """The source's type, or for text without types the one its values fit."""
        if self._guess is None or self._guess.declared:
            return self._type
        return _SQL_TYPES.get(self.kind, "VARCHAR")

    def _note_examples(self, column: HashedColumn) -> None:
        """Keep the values with the smallest hashes: an even sample of the distinct ones."""
        smallest = column.distinct[0][:EXAMPLES]
        if len(self._examples) == EXAMPLES and int(smallest[0]) > max(self._examples):
            return
        rows = np.flatnonzero(column.hashes <= smallest[-1])
        if len(rows) > len(smallest):  # some of them stand in several rows
            rows = rows[np.unique(column.hashes[rows], return_index=True)[1]]
        examples = dict(zip(column.hashes[rows].tolist(), render(column.values, rows), strict=True))
        examples |= self._examples
        self._examples = {key: examples[key] for key in sorted(examples)[:EXAMPLES]}


def with_statistics(profile: ColumnProfile, stated: ColumnStatistics, rows: int) -> ColumnProfile:
    """The profile of a sample, with what is known of all rows: its ends, and whether it repeats."""
    filled = rows * (1 - stated.null_share)
    ends = (stated.minimum, stated.maximum) if profile.minimum is not None else (None, None)
    low, high = (None if end is None else write_out(end) for end in ends)
    return replace(
        profile,
        unique=profile.unique and stated.distinct >= _NEARLY_ALL * filled,
        minimum=low,
        maximum=high,
    )


def _wider(ends: Range | None, added: Range | None) -> Range | None:
    if ends is None or added is None:
        return ends or added
    return min(ends[0], added[0]), max(ends[1], added[1])


class RowSample:
    """Keeps the rows with the smallest of seeded random numbers: every row is as likely."""

    def __init__(self, size: int, seed: int) -> None:
        self._size = size
        self._random = np.random.Generator(np.random.PCG64(seed))
        self._drawn: list[tuple[float, int, tuple[str | None, ...]]] = []
        self._seen = 0

    def add(self, columns: Sequence[pa.Array], rows: int) -> None:
        """Let the rows of a batch take part."""
        draws = self._random.random(rows)
        worst = self._drawn[-1][0] if self._drawn and len(self._drawn) == self._size else 1.0
        chosen = np.flatnonzero(draws < worst)
        chosen = chosen[np.argsort(draws[chosen], kind="stable")[: self._size]]
        if len(chosen):
            cells = [render(column, chosen) for column in columns]
            new = [
                (float(draws[row]), self._seen + int(row), cell)
                for row, cell in zip(chosen, zip(*cells, strict=True), strict=True)
            ]
            self._drawn = sorted(self._drawn + new)[: self._size]
        self._seen += rows

    def rows(self) -> tuple[tuple[str | None, ...], ...]:
        """The sample, in the order the rows stand in."""
        return tuple(cells for _, _, cells in sorted(self._drawn, key=lambda drawn: drawn[1]))


def render(values: pa.Array, rows: npt.NDArray[np.intp]) -> list[str | None]:
    r"""Write some of the values out as text, cut to `CELL_WIDTH`; nulls stay None.

    >>> render(pa.array([b"\x01\xff", None]), np.array([1, 0]))
    [None, '0x01ff']
    """
    if pa.types.is_date(values.type) or pa.types.is_timestamp(values.type):
        cells = iso_text(values.take(pa.array(rows)), shorten=False).to_pylist()
    elif is_text(values.type):  # by its bytes, which need not be valid UTF-8
        buffers = [values[row].as_buffer() for row in rows.tolist()]
        cells = [
            None if raw is None else raw.to_pybytes().decode("utf-8", "backslashreplace")
            for raw in buffers
        ]
    else:  # a handful of cells one by one is quicker than a kernel
        cells = [values[row].as_py() for row in rows.tolist()]
    return [None if cell is None else write_out(cell) for cell in cells]


def write_out(value: object) -> str:
    """Write one value out as text, cut to `CELL_WIDTH` characters, the last one an ellipsis."""
    if isinstance(value, bytes):
        text = "0x" + value[:CELL_WIDTH].hex()
    elif isinstance(value, bool):
        text = str(value).lower()
    else:
        text = str(value)
    return cut(text, CELL_WIDTH)


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


class KindGuess:
    """What kind of values a column of text holds, judged by every one of them.

    A column declared as anything but text (a decimal of many digits) holds numbers for certain.
    """

    def __init__(self, type_name: str) -> None:
        self.declared = type_name != "VARCHAR"
        self._integral = True
        self._number = True
        self._days = self._times = not self.declared
        self._low: tuple[float, str] | None = None
        self._high: tuple[float, str] | None = None

    def add(self, values: pa.Array) -> None:
        """Take in texts, at least one."""
        if self._number:
            self._add_numbers(values)
        self._days = self._days and _all_match(values, _DATE)
        self._times = self._days or (self._times and _all_match(values, _TIMESTAMP))

    def kind(self) -> Kind:
        """The narrowest kind that fits."""
        if self._number:
            return Kind.INTEGER if self._integral else Kind.REAL
        if self._times:
            return Kind.DATE if self._days else Kind.TIMESTAMP
        return Kind.TEXT

    def ends(self) -> tuple[str | None, str | None]:
        """The smallest and the largest number, as they are written."""
        return self._low and self._low[1], self._high and self._high[1]

    def _add_numbers(self, values: pa.Array) -> None:
        if self.declared:
            self._integral &= not pc.any(pc.match_substring(values, ".")).as_py()
        else:
            integral, decimal = read_numbers(values)
            self._integral &= bool(integral.all())
            self._number = bool((integral | decimal).all())
        if self._number:
            numbers: npt.NDArray[np.float64] = values.cast(pa.float64()).to_numpy()
            lowest, highest = int(numbers.argmin()), int(numbers.argmax())
            low = (float(numbers[lowest]), str(values[lowest].as_py()))
            high = (float(numbers[highest]), str(values[highest].as_py()))
            self._low = min(self._low or low, low)
            self._high = max(self._high or high, high)


def _all_match(values: pa.Array, pattern: str) -> bool:
    first = re.match(pattern, values[0].as_py())
    return first is not None and bool(pc.all(pc.match_substring_regex(values, pattern)).as_py())
