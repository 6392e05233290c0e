"""Warehouses: Snowflake, BigQuery, Databricks, Trino, Flight SQL, SQL Server, Oracle.

A table is read whole if that scans no more than `max_scan_bytes` and no sample is asked for: its
profile is then exact, as anywhere. Otherwise the warehouse computes counts, distinct values and
ends of all columns in one statement, and some rows are read: within the limit those whose hash the
warehouse computes and finds to begin with zeros, which are the same rows every time; beyond the
limit the rows of some blocks, so that the rest is not scanned, and the counts are of these rows.
What comes of it is an estimate, and says so.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any

import pyarrow as pa

from dovetail.errors import PartlyDeclaredError, RescanError, SourceError
from dovetail.ports import (
    ColumnStatistics,
    Declaration,
    Fingerprint,
    Listing,
    Scan,
    ScannedColumn,
    SourceSpec,
    TableStatistics,
)
from dovetail.sources import duck
from dovetail.sources.declarations import COMMENT, Row, declarations, listings, qualified_name
from dovetail.sources.server import address
from dovetail.sources.warehouse_dialects import DIALECTS, MOST_SHOWN, Shown, Statement
from dovetail.sources.warehouse_driver import Warehouse

# Bytes of a cell, where a warehouse does not tell how large a table is.
_CELL_BYTES = 16
_SAMPLE_ROWS = 10_000
_MOST_SCANNED = 10 << 30
# Types whose values arrive as text and are numbers.
_NUMBERS = ("DEC", "NUM", "BIGNUM")
# What some warehouse neither writes as text nor compares; and what it puts in no order.
_OPAQUE = re.compile(
    r"JSON|VARIANT|OBJECT|ARRAY|STRUCT|MAP|ROW|RECORD|GEO|LOB|XML|IMAGE|BYTE|BINARY|RAW|VECTOR|\[\]"
)
_UNORDERED = re.compile(rf"{_OPAQUE.pattern}|BOOL|BIT|UUID|UNIQUEIDENTIFIER|USER-DEFINED")


@dataclass(frozen=True, slots=True)
class _Table:
    """What listing says of a table."""

    view: bool
    rows: int | None
    bytes: int | None
    changed: str
    comment: str


class WarehouseSource:
    """One database of a warehouse; tables outside its usual schema are named `schema.table`."""

    def __init__(self, spec: SourceSpec) -> None:
        self._dialect = DIALECTS[spec.kind]
        variables = {"user": "", "password": "", **self._dialect.login}
        at = address(spec.location, spec.credentials, variables)
        self._warehouse = Warehouse(spec.kind, at, spec.seconds)
        self._parts = dict(zip(("database", "schema"), at.database.split("/", 1), strict=False))
        self._parts.setdefault("schema", at.database)
        self._views = spec.views
        # A query reads whole tables, within limits of its own.
        self._in_query = spec.seconds is not None
        self._sample = int(spec.options.get("sample", 0))
        self._limit_bytes = int(spec.options.get("max_scan_bytes", _MOST_SCANNED))
        self._as_text: set[str] = set()

    def tables(self) -> Sequence[Listing]:
        chosen = [key for key, table in self._tables.items() if self._views or not table.view]
        default_schema = self._dialect.default_schema or next((schema for schema, _ in chosen), "")
        return listings([(key, self._tables[key].bytes or 0) for key in chosen], default_schema)

    def fingerprint(self, table: Listing, previous: str | None) -> Fingerprint:
        listed = self._tables.get(qualified_name(table))
        token = listed.changed if listed is not None else ""
        if token:
            shape = [column[:2] for column in self._columns.get(qualified_name(table), [])]
            token = f"{token} {self._sample} {self._limit_bytes} {duck.literal(str(shape))}"
        return Fingerprint(token, unchanged=bool(token) and token == previous)

    def scan(self, table: Listing) -> Scan:
        key = qualified_name(table)
        if not self._in_query and key not in self._tables:
            raise SourceError("is not there any more: it went while we looked; index again")
        columns = self._columns.get(key, [])
        read = ", ".join(self._quoted(name) for name, *_ in columns) or "*"
        wanted = self._sample or _SAMPLE_ROWS
        within = self._in_query or self._size(key) <= self._limit_bytes
        if not within:
            return self._sampled_blocks(table, columns, read, wanted)
        if self._in_query or not self._sample or self._count(key) <= wanted:
            return self._read(table, f"SELECT {read} FROM {self._name(key)}")
        stated = self._statistics(self._name(key), columns)
        source = self._by_hash(key, columns, wanted / max(stated.rows, 1))
        scan = self._read(table, self._limited(f"{read} FROM {source}", 2 * wanted))
        return replace(scan, statistics=stated)

    def _sampled_blocks(
        self,
        table: Listing,
        columns: Sequence[tuple[str, str, str]],
        read: str,
        wanted: int,
    ) -> Scan:
        """Some rows of some blocks; the first rows of a view, or if no block is drawn."""
        key = qualified_name(table)
        rows = self._count(key)
        sources = [f"({self._limited(f'* FROM {self._name(key)}', wanted)}) drawn"]
        if not self._tables[key].view:
            sources.insert(0, self._blocks(key, wanted / max(rows, 1)))
        for source in sources:
            stated = self._statistics(source, columns)
            if stated.rows:
                scan = self._read(table, self._limited(f"{read} FROM {source}", wanted))
                batches = (batch for batch in scan.batches if batch.num_rows)
                begun = next(batches, None)
                if begun is not None:
                    scan = replace(scan, batches=chain([begun], batches))
                    return replace(scan, statistics=replace(stated, rows=rows))
        return self._read(table, self._limited(f"{read} FROM {self._name(key)}", wanted))

    def query(
        self, sql: str, *, as_text: bool = False
    ) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
        """Run a query that was checked to only read."""
        return self._warehouse.stream(sql, as_text=as_text)

    def declarations(self, tables: Sequence[Listing]) -> Mapping[str, Declaration]:
        """Keys and comments; what the warehouse refuses to tell is an error that has the rest."""
        answered = [
            Row(key, COMMENT, text=table.comment)
            for key, table in self._tables.items()
            if table.comment
        ]
        answered += [
            Row(key, COMMENT, column=name, text=comment)
            for key, columns in self._columns.items()
            for name, _, comment in columns
            if comment
        ]
        refused: list[tuple[str, Statement]] = []
        for statement in self._dialect.declared:
            try:
                answered += self._asked(statement)
            except SourceError as error:
                refused.append((str(error), statement))
        declared = declarations(tables, answered)
        if refused:
            raise PartlyDeclaredError(
                refused[0][0],
                declared,
                keys=any(statement.keys for _, statement in refused),
                comments=any(statement.comments for _, statement in refused),
            )
        return declared

    def _asked(self, statement: Statement) -> list[Row]:
        sql = statement.sql.format(**self._parts)
        try:
            if isinstance(statement, Shown):
                rows = map(statement.row, self._shown(statement))
                return [row for row in rows if row is not None]
            return [Row.of(row) for row in self._warehouse.ask(sql)]
        except (LookupError, TypeError, ValueError) as error:
            raise SourceError(f"an answer without what is documented: {error}") from None

    def _shown(self, statement: Shown) -> list[dict[str, Any]]:
        """What a SHOW tells: schema by schema, if all at once it is cut off."""
        rows = self._warehouse.ask_named(statement.sql)
        if len(rows) < MOST_SHOWN:
            return rows
        answers: list[dict[str, Any]] = []
        for schema in dict.fromkeys(schema for schema, _ in self._tables):
            rows = self._warehouse.ask_named(statement.of_schema(self._quoted(schema)))
            if len(rows) >= MOST_SHOWN:
                raise SourceError(f"{schema} has more keys than {statement.sql} tells")
            answers += rows
        return answers

    def close(self) -> None:
        self._warehouse.close()

    @cached_property
    def _tables(self) -> dict[tuple[str, str], _Table]:
        rows = self._warehouse.ask(self._dialect.tables.format(**self._parts))
        return {
            (str(row[0]), str(row[1])): _Table(
                bool(row[2]),
                _optional_int(row[3]),
                _optional_int(row[4]),
                str(row[5] or ""),
                str(row[6] or ""),
            )
            for row in rows
        }

    @cached_property
    def _columns(self) -> dict[tuple[str, str], list[tuple[str, str, str]]]:
        columns: dict[tuple[str, str], list[tuple[str, str, str]]] = {}
        for row in self._warehouse.ask(self._dialect.columns.format(**self._parts)):
            schema, table, name, kind, comment = (str(cell or "") for cell in row)
            columns.setdefault((schema, table), []).append((name, kind, comment))
        return columns

    def _read(self, table: Listing, sql: str) -> Scan:
        as_text = table.name in self._as_text
        schema, batches = self._warehouse.stream(sql, as_text=as_text)
        scan = duck.scan_arrow(schema, self._same_types(table, batches), self._warehouse.explained)
        declared = self._columns.get(qualified_name(table), [])
        if len(declared) != len(scan.columns):
            declared = [(column.name, column.type, "") for column in scan.columns]
        columns = tuple(
            ScannedColumn(name, got.type, got.untyped or as_text or _is_written(got.type, kind))
            for (name, kind, _), got in zip(declared, scan.columns, strict=True)
        )
        return Scan(columns, scan.batches)

    def _same_types(self, table: Listing, batches: Any) -> Any:
        try:
            yield from batches
        except RescanError:
            self._as_text.add(table.name)
            raise

    def _statistics(self, source: str, columns: Sequence[tuple[str, str, str]]) -> TableStatistics:
        """Counts and ends of all columns, in one statement."""
        asked = ["COUNT(*)"]
        text = self._dialect.text.format
        for name, kind, _ in columns:
            column, ends = self._quoted(name), not _has(kind, _UNORDERED)
            asked += [
                f"COUNT({column})",
                "0" if _has(kind, _OPAQUE) else self._dialect.distinct.format(text(column)),
                text(f"MIN({column})") if ends else "NULL",
                text(f"MAX({column})") if ends else "NULL",
            ]
        row = self._warehouse.ask(f"SELECT {', '.join(asked)} FROM {source}")[0]
        rows = int(row[0])
        cells = [row[at : at + 4] for at in range(1, len(row), 4)]
        return TableStatistics(
            rows,
            tuple(
                ColumnStatistics(1 - int(filled) / rows if rows else 0.0, int(distinct), low, high)
                for filled, distinct, low, high in cells
            ),
        )

    def _by_hash(
        self, key: tuple[str, str], columns: Sequence[tuple[str, str, str]], share: float
    ) -> str:
        """About a share of a table's rows, chosen by a hash of all their cells."""
        digits = max(0, round(-math.log(min(max(share, 1e-12), 1.0), 16)))
        if not digits:
            return self._name(key)
        row = "''"
        for name in (name for name, kind, _ in columns if not _has(kind, _OPAQUE)):
            cell = self._dialect.text.format(self._quoted(name))
            row = self._dialect.concat.format(row, f"COALESCE({cell}, '')")
        digest = self._dialect.md5.format(row)
        return f"{self._name(key)} WHERE {digest} LIKE '{'0' * digits}%'"

    def _blocks(self, key: tuple[str, str], share: float) -> str:
        percent = min(max(100 * share, 0.000001), 100.0)
        return self._dialect.sample.format(table=self._name(key), percent=f"{percent:.6f}")

    def _limited(self, what: str, rows: int) -> str:
        return self._dialect.limit.format(what=what, rows=rows)

    def _count(self, key: tuple[str, str]) -> int:
        counted = self._tables[key].rows
        if counted is None:
            counted = int(self._warehouse.ask(f"SELECT COUNT(*) FROM {self._name(key)}")[0][0])
            self._tables[key] = replace(self._tables[key], rows=counted)
        return counted

    def _size(self, key: tuple[str, str]) -> int:
        """How many bytes reading a table would scan: as listed, or by its cells."""
        listed = self._tables[key].bytes
        if listed is not None:
            return listed
        return self._count(key) * _CELL_BYTES * max(len(self._columns.get(key, [])), 1)

    def _name(self, key: tuple[str, str]) -> str:
        return ".".join(self._quoted(part) for part in key)

    def _quoted(self, name: str) -> str:
        quote = self._dialect.quote
        return quote + name.replace(quote, quote * 2) + quote


def _optional_int(value: Any) -> int | None:
    return None if value is None else int(value)


def _has(declared: str, words: re.Pattern[str]) -> bool:
    return words.search(declared.upper()) is not None


def _is_written(arrived: str, declared: str) -> bool:
    """Whether a column of numbers arrived as text."""
    return arrived == "VARCHAR" and declared.upper().startswith(_NUMBERS)
