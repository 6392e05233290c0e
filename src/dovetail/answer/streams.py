"""Tables of any source as streams that a DuckDB of its own reads, which can reach nothing else.

The DuckDB that opens files and servers (`sources/duck.py`) never sees the query; the one that runs
the query has no extension, no attached database and no file system, only these streams.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import pyarrow as pa

from dovetail.errors import DovetailError, SourceError
from dovetail.ports import Json, Listing, Scan, Source
from dovetail.sources import duck

_DECIMAL = re.compile(r"DECIMAL\((\d+),\d+\)")
# Types that a source hands over as text or numbers, and that a query should find as they were.
_RESTORED = {
    "BIGINT", "INTEGER", "SMALLINT", "TINYINT", "HUGEINT", "UHUGEINT", "UBIGINT", "DOUBLE", "FLOAT",
    "DATE", "TIMESTAMP", "TIME", "INTERVAL", "UUID", "BOOLEAN",
}  # fmt: skip
# Some sources read in a way that is set for the whole process while they begin.
_beginning = threading.Lock()


class TableStream:
    """A table that can be read again and again; it is opened when the first row is asked for.

    `trouble` keeps what went wrong, which DuckDB passes on only as a text.
    """

    def __init__(self, source: Source, listing: Listing) -> None:
        self._source = source
        self._listing = listing
        self._begun: tuple[Scan, pa.RecordBatch | None] | None = self._begin()
        self.trouble: Exception | None = None
        scan, first = self._begun
        self.columns = scan.columns
        self.left_out = scan.left_out
        fields = [(f"c{at}", pa.string()) for at in range(len(scan.columns))]
        self.schema = pa.schema(fields) if first is None else first.schema

    def __arrow_c_stream__(self, requested: object = None) -> Any:
        reader = pa.RecordBatchReader.from_batches(self.schema, self._batches())
        return reader.__arrow_c_stream__(requested)

    def projection(self, types: list[str]) -> str:
        """The columns by name, in the types that the catalog knows them by."""
        taken: set[str] = set()
        wanted = []
        for at, (column, type_name) in enumerate(zip(self.columns, types, strict=True)):
            name = column.name
            while name.casefold() in taken:
                name += "_"
            taken.add(name.casefold())
            wanted.append(f"{self._restored(at, type_name)} AS {duck.identifier(name)}")
        return ", ".join(wanted)

    def _restored(self, at: int, type_name: str) -> str:
        kind = self.schema.field(at).type
        decimal = _DECIMAL.fullmatch(type_name)
        text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
        restorable = (type_name in _RESTORED and text) or (
            decimal and int(decimal[1]) <= 38 and (text or pa.types.is_floating(kind))
        )
        return f"TRY_CAST(c{at} AS {type_name})" if restorable else f"c{at}"

    def _begin(self) -> tuple[Scan, pa.RecordBatch | None]:
        with _beginning:
            scan = self._source.scan(self._listing)
        first = next(scan.batches, None)
        return scan, None if first is None else _numbered(first)

    def _batches(self) -> Iterator[pa.RecordBatch]:
        try:
            begun, self._begun = self._begun, None
            scan, first = begun or self._begin()
            if first is not None:
                yield first
            for batch in scan.batches:
                yield _numbered(batch)
        except (DovetailError, OSError) as error:
            self.trouble = error
            raise


class ListedSource:
    """An open source, whose tables are listed once however many of them a query reads."""

    def __init__(self, source: Source) -> None:
        self._source = source

    @cached_property
    def _listings(self) -> dict[str, Listing]:
        return {listing.name: listing for listing in self._source.tables()}

    def stream(self, name: str) -> TableStream:
        """The stream of the table that the source holds under a name."""
        if name not in self._listings:
            raise SourceError(f"{name} is no longer there; index again")
        return TableStream(self._source, self._listings[name])

    def close(self) -> None:
        self._source.close()


def type_for(column: Json) -> str:
    """The type to give a column: whole numbers that no BIGINT holds are wider or stay text."""
    type_name = str(column["type"])
    ends = [text for text in (column["minimum"], column["maximum"]) if text]
    if type_name == "BIGINT" and ends:
        try:
            most = max(abs(int(text)) for text in ends)
        except ValueError:
            return "VARCHAR"
        if most >= 1 << 63:
            return "HUGEINT" if most < 1 << 127 else "VARCHAR"
    return type_name


def _numbered(batch: pa.RecordBatch) -> pa.RecordBatch:
    """A batch with columns named by place: names may repeat but for case."""
    names = [f"c{at}" for at in range(batch.num_columns)]
    return pa.RecordBatch.from_arrays(batch.columns, names=names)
