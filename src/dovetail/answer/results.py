"""What a query may use up and what it gave back, on both sides of the pipe to its process."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from dovetail.errors import LimitError, UsageError

if TYPE_CHECKING:
    from dovetail.settings import Settings


# A day: clocks and timers of the system do not take any number.
_MOST_SECONDS = 86_400


@dataclass(frozen=True, slots=True)
class Limits:
    """How long a query may run, and how much it may hold and return."""

    seconds: float = 60.0
    memory: int = 1 << 30
    rows: int = 100_000
    bytes: int = 64 << 20

    def __post_init__(self) -> None:
        if not 0 < self.seconds <= _MOST_SECONDS:  # which NaN is not, either
            raise UsageError(
                f"a query's time limit (query_seconds) must be more than 0 and at most "
                f"{_MOST_SECONDS:,} seconds, not {self.seconds:g}"
            )
        if min(self.memory, self.rows, self.bytes) < 0:
            raise UsageError("a query's limits of memory, rows and bytes cannot be negative")

    @classmethod
    def of(cls, settings: Settings) -> Limits:
        """The limits that the settings give."""
        return cls(
            seconds=settings.query_seconds,
            memory=settings.query_memory_mb << 20,
            rows=settings.query_rows,
        )


@dataclass(frozen=True, slots=True)
class Ran:
    """Rows, whether there were more of them, and the seconds of each stage."""

    rows: pa.Table
    truncated: bool
    seconds: Mapping[str, float] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


def out_of_memory() -> LimitError:
    """The error of a query that its memory is too small for."""
    return LimitError("the query needs more memory than it was given; ask for less at a time")


def python_values(column: pa.ChunkedArray) -> list[Any]:
    """The cells of a column as Python has them; as text where it has no such value.

    A date of the year 20000 is one that DuckDB knows and Python does not.

    >>> python_values(pa.chunked_array([pa.array([0, 6585442], pa.date32())]))
    ['1970-01-01', '20000-04-30']
    """
    try:
        return list(column.to_pylist())
    except (ArithmeticError, ValueError, pa.ArrowException):
        pass
    try:
        return list(column.cast(pa.string()).to_pylist())
    except pa.ArrowException:  # a list or a record of them
        each = (column.slice(at, 1).to_string() for at in range(len(column)))
        return [" ".join(text.split()) for text in each]


def python_rows(rows: pa.Table) -> list[tuple[Any, ...]]:
    """Rows as Python has them."""
    columns = [python_values(column) for column in rows.columns]
    return list(zip(*columns, strict=True)) if columns else []


def cell_text(cell: Any) -> str:
    """A cell as a line of text shows it: nothing for NULL, bytes by their digits.

    >>> [cell_text(cell) for cell in (None, True, b"\\x01", 1.5)]
    ['', 'true', '01', '1.5']
    """
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return str(cell).lower()
    return cell.hex() if isinstance(cell, bytes) else str(cell)


def collect(
    batches: Iterable[pa.RecordBatch], schema: pa.Schema, limits: Limits
) -> tuple[pa.Table, bool]:
    """Rows up to the limits, and whether there were more."""
    kept: list[pa.RecordBatch] = []
    rows = size = 0
    truncated = False
    for batch in batches:
        room = limits.rows - rows
        if batch.num_rows:
            fitting = (limits.bytes - size) * batch.num_rows // max(batch.nbytes, 1)
            room = min(room, fitting)
        if batch.num_rows > room:
            truncated = True
            batch = batch.slice(0, max(room, 0))
        kept.append(batch)
        rows += batch.num_rows
        size += batch.nbytes
        if truncated:
            break
    return pa.Table.from_batches(kept, schema), truncated
