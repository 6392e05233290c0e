"""What a query may use up and what it gave back, on both sides of the pipe to its process."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from dovetail.ports import Json
    from dovetail.settings import Settings


@dataclass(frozen=True, slots=True)
class Limits:
    """How long a query may run, and how much it may hold and return."""

    seconds: float = 60.0
    memory: int = 1 << 30
    rows: int = 100_000
    bytes: int = 64 << 20

    @classmethod
    def of(cls, settings: Settings) -> Limits:
        """Those that are set."""
        return cls(
            seconds=settings.query_seconds,
            memory=settings.query_memory_mb << 20,
            rows=settings.query_rows,
        )

    def to_json(self) -> Json:
        return {
            "seconds": self.seconds,
            "memory": self.memory,
            "rows": self.rows,
            "bytes": self.bytes,
        }


@dataclass(frozen=True, slots=True)
class Ran:
    """Rows, whether there were more of them, and the seconds of each stage."""

    rows: pa.Table
    truncated: bool
    seconds: Mapping[str, float] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


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
