"""PostgreSQL and MariaDB as warehouses: real servers to try the path of warehouses on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import patch

import pyarrow as pa

from dovetail import plugins
from dovetail.answer.execute import Executor
from dovetail.answer.pool import Pool
from dovetail.answer.results import Limits
from dovetail.answer.worker import run_in_warehouse
from dovetail.ports import Json
from dovetail.sources import mysql as mysql_source
from dovetail.sources import postgres as postgres_source
from dovetail.sources import warehouse_driver
from dovetail.sources.declarations import LONGEST_COMMENT
from dovetail.sources.server import Address
from dovetail.sources.warehouse_dialects import (
    DIALECTS,
    Dialect,
    Selected,
    standard_columns,
    standard_tables,
)
from tests.support.servers import MysqlDatabase, PostgresDatabase, mysql, postgres

AnyDatabase = PostgresDatabase | MysqlDatabase


def _log_in_to_postgres(at: Address, driver: Any, seconds: float | None) -> Any:
    fields = {
        "host": at.host, "port": str(at.port or 5432), "dbname": at.database, "user": at.user,
        "password": at.password, "connect_timeout": "10", "application_name": "dovetail",
        "options": "-c default_transaction_read_only=on"
        + (f" -c statement_timeout={max(1, round(seconds * 1000))}" if seconds else ""),
    }  # fmt: skip
    quoted = {key: text.replace("\\", "\\\\").replace("'", "\\'") for key, text in fields.items()}
    uri = " ".join(f"{key}='{text}'" for key, text in quoted.items() if text)
    return driver.connect(uri, autocommit=True)


def _log_in_to_mysql(at: Address, driver: Any, seconds: float | None) -> Any:
    return driver.connect(
        host=at.host, port=at.port or 3306, database=at.database, charset="utf8mb4",
        connect_timeout=10, user=at.user, password=at.password,
        init_command="SET SESSION TRANSACTION READ ONLY", read_timeout=seconds,
    )  # fmt: skip


LOGINS = {
    "adbc_postgresql": ("adbc_driver_postgresql.dbapi", _log_in_to_postgres),
    "pymysql": ("pymysql", _log_in_to_mysql),
}
SERVERS = {
    "adbc+postgresql": Dialect(
        "postgres",
        "adbc_postgresql",
        "adbc",
        standard_tables(
            bytes="(SELECT pg_total_relation_size(c.oid) FROM pg_class c JOIN pg_namespace n "
            "ON n.oid = c.relnamespace WHERE n.nspname = table_schema AND c.relname = table_name)",
            which="AND NOT EXISTS (SELECT FROM pg_class c JOIN pg_namespace n "
            "ON n.oid = c.relnamespace WHERE n.nspname = table_schema AND c.relname = table_name "
            "AND c.relispartition)",
        ),
        standard_columns(),
        {"user": "PGUSER", "password": "PGPASSWORD"},
        distinct="COUNT(DISTINCT {})",
        declared=(
            Selected(
                postgres_source.DECLARED.format(
                    kinds="'r', 'p', 'm', 'v', 'f'", limit=4 * LONGEST_COMMENT
                ),
                keys=True,
                comments=True,
            ),
        ),
    ),
    "dbapi+mysql": Dialect(
        "mysql",
        "pymysql",
        "dbapi-mysql",
        standard_tables(bytes="data_length", which="AND table_schema = DATABASE()"),
        standard_columns(which="AND table_schema = DATABASE()"),
        {"user": "MYSQL_USER", "password": "MYSQL_PWD"},
        quote="`",
        text="CAST({} AS CHAR)",
        distinct="COUNT(DISTINCT {})",
        sample="{table} WHERE RAND(42) < {percent} / 100.0",
        concat="CONCAT({}, {})",
        default_schema="",
        declared=(
            Selected(mysql_source.DECLARED.format(schema="DATABASE(), "), keys=True, comments=True),
        ),
    ),
}


@contextmanager
def as_warehouse(kind: str) -> Iterator[tuple[AnyDatabase, str]]:
    """A database of a server, and its URL for the path of warehouses, of this kind."""
    source = "dovetail.sources.warehouse:WarehouseSource"
    with (
        patch.dict(plugins._BUILT_IN[plugins.SOURCES], dict.fromkeys(SERVERS, source)),
        patch.dict(DIALECTS, SERVERS),
        patch.dict(warehouse_driver._DRIVERS, LOGINS),
        postgres() if kind == "adbc+postgresql" else mysql() as database,
    ):
        yield database, kind + database.url[database.url.index("://") :]


def run_here(executor: Executor) -> None:
    """Have an executor run queries in this process, which alone knows these servers."""
    ask = executor._pool.ask

    def asked(request: Json, **how: Any) -> Any:
        if request["task"] != "run":
            return ask(request, **how)
        ran = run_in_warehouse(request["sql"], request["relations"], Limits(**request["limits"]))
        rows = pa.BufferOutputStream()
        with pa.ipc.new_stream(rows, ran.rows.schema) as writer:
            writer.write_table(ran.rows)
        header = {"truncated": ran.truncated, "seconds": ran.seconds, "warnings": ran.warnings}
        return header, bytes(rows.getvalue())

    executor._pool = cast(Pool, SimpleNamespace(ask=asked, close=executor._pool.close))
