"""Stand-ins for warehouses: recorded catalogs in front of DuckDB, and a small Flight SQL server.

A stand-in answers the two questions about its tables from a file, and Snowflake's about keys; every
other statement is read by sqlglot in the warehouse's dialect, and run by DuckDB, where the views
about keys and comments are tables.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.flight as flight
import pytest
import sqlglot

from dovetail.sources import warehouse_driver
from dovetail.sources.resolve import root
from dovetail.sources.warehouse import WarehouseSource
from dovetail.sources.warehouse_dialects import DIALECTS
from tests.support.warehouse_views import create_views, shown

RECORDED = Path(__file__).parent.parent / "fixtures" / "warehouses"

URLS = {
    "snowflake": "snowflake://acme-shop/SHOP",
    "bigquery": "bigquery://acme/shop",
    "databricks": "databricks://dbc.example.com/shop",
    "trino": "trino://127.0.0.1/shop",
    "mssql": "mssql://127.0.0.1/shop",
    "oracle": "oracle://127.0.0.1/shop",
}
# What the columns hold, by row.
VALUES = {
    "id": "i",
    "name": "'customer ' || i",
    "customer_id": "i % 40",
    "placed": "CASE WHEN i % 4 > 0 THEN DATE '2024-01-01' + i::INTEGER END",
}

# What sqlglot does not put into DuckDB's words as it is meant.
UNKNOWN = {
    "NVARCHAR(MAX)": "NVARCHAR",
    "CONVERT(VARCHAR(32), HASHBYTES('MD5', ": "rawtohex(MD5(",
    "), 2))": ")))",
    " SAMPLE BLOCK (": " TABLESAMPLE SYSTEM (",
    "`shop`.INFORMATION_SCHEMA.": "described.",
    "information_schema.": "described.",
    "SAFE.PARSE_JSON(": "safe_parse_json(",
}


class Recorded:
    """A DB-API driver, connection and cursor of a kind of warehouse."""

    def __init__(self, kind: str, parts: dict[str, str]) -> None:
        dialect = DIALECTS[kind]
        found = json.loads((RECORDED / f"{kind}.json").read_text("utf-8"))
        self._answers = {
            dialect.tables.format(**parts): found["tables"],
            dialect.columns.format(**parts): found["columns"],
        }
        self._dialect = dialect.name
        self._duckdb = duckdb.connect()
        for macro in (
            "rawtohex(x) AS x",
            "standard_hash(x, method) AS md5(x)",
            "safe_parse_json(x) AS TRY_CAST(x AS JSON)",
            "sys_context(a, b) AS 'SHOP'",
        ):
            self._duckdb.execute(f"CREATE MACRO {macro}")
        create_views(kind, self._duckdb)
        self.asked: list[str] = []
        self.description: list[tuple[str, str]] = []
        self._rows: list[tuple[Any, ...]] = []
        columns: dict[tuple[str, str], list[str]] = {}
        for schema, table, name, *_ in found["columns"]:
            columns.setdefault((schema, table), []).append(f'{VALUES[name.lower()]} AS "{name}"')
        for (schema, table), chosen in columns.items():
            rows = 2000 if table.lower() == "orders" else 40
            self._duckdb.execute(f'CREATE SCHEMA IF NOT EXISTS "{schema}"')
            self._duckdb.execute(
                f'CREATE TABLE "{schema}"."{table}" AS '
                f"SELECT {', '.join(chosen)} FROM range({rows}) r (i)"
            )

    def cursor(self) -> Recorded:
        return self

    def execute(self, sql: str) -> None:
        self.asked.append(sql)
        if sql in self._answers:
            self._rows = [tuple(row) for row in self._answers[sql]]
            return
        if sql.startswith("SHOW "):
            names, rows = shown(sql.split()[1])
            self.description = [(name, "") for name in names]
            self._rows = [tuple(row) for row in rows]
            return
        for ours, its in UNKNOWN.items():
            sql = sql.replace(ours, its)
        (text,) = sqlglot.transpile(sql, read=self._dialect, write="duckdb")
        done = self._duckdb.execute(text)
        self.description = [(column[0], str(column[1])) for column in done.description or []]
        self._rows = done.fetchall()

    def fetchall(self) -> list[tuple[Any, ...]]:
        return self._rows

    def fetchmany(self, size: int) -> list[tuple[Any, ...]]:
        rows, self._rows = self._rows[:size], self._rows[size:]
        return rows

    def close(self) -> None:
        pass


def recorded(
    kind: str, monkeypatch: pytest.MonkeyPatch, **options: int
) -> tuple[WarehouseSource, Recorded]:
    """The source of a kind over a recorded catalog, and the stand-in that it asks."""
    parts = URLS[kind].split("/")
    known = Recorded(kind, {"database": parts[-1], "schema": parts[-1]})
    drivers = dict(warehouse_driver._DRIVERS)
    drivers[kind] = ("json", lambda *_: known)
    monkeypatch.setattr(warehouse_driver, "_DRIVERS", drivers)
    spec = replace(root(URLS[kind], Path.cwd()), options=options)
    return WarehouseSource(spec), known


class FlightSql(flight.FlightServerBase):  # type: ignore[misc]
    """Statements of Flight SQL, run by DuckDB, as many as `allowed`: then the token is no more."""

    def __init__(self, database: duckdb.DuckDBPyConnection) -> None:
        super().__init__("grpc://127.0.0.1:0")
        self._database = database
        self.allowed: float = math.inf

    @property
    def url(self) -> str:
        return f"flightsql://127.0.0.1:{self.port}/main"

    def run(self, statement: str) -> None:
        self._database.cursor().execute(statement)

    def get_flight_info(self, _: Any, descriptor: Any) -> Any:
        self.allowed -= 1
        if self.allowed < 0:
            raise flight.FlightUnauthenticatedError("the token has expired")
        query = _field(_field(descriptor.command, 2), 1)
        schema = self._database.cursor().execute(query.decode()).to_arrow_table().schema
        place = flight.Location.for_grpc_tcp("127.0.0.1", self.port)
        end = flight.FlightEndpoint(flight.Ticket(query), [place])
        return flight.FlightInfo(schema, descriptor, [end], -1, -1)

    def do_get(self, _: Any, ticket: Any) -> Any:
        rows = self._database.cursor().execute(ticket.ticket.decode()).to_arrow_table()
        return flight.RecordBatchStream(rows)


def _field(message: bytes, wanted: int) -> bytes:
    """A field of bytes in a protobuf message."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        size, at = _varint(message, at)
        if key >> 3 == wanted:
            return message[at : at + size]
        at += size
    raise ValueError(f"no field {wanted}")


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        (byte,) = struct.unpack_from("B", message, at)
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


@contextmanager
def flight_server(*statements: str) -> Iterator[FlightSql]:
    """A Flight SQL server with tables of its own."""
    database = duckdb.connect()
    for statement in statements:
        database.execute(statement)
    server = FlightSql(database)
    try:
        yield server
    finally:
        server.shutdown()
        database.close()
