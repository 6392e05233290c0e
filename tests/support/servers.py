"""Real database servers for the tests: in each a database of one's own, gone afterwards."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlsplit
from uuid import uuid4

import psycopg
import pymysql
import pytest

import dovetail
from dovetail.offline.summary import Progress
from dovetail.settings import Settings
from dovetail.sources.server import Server

POSTGRES = os.environ.get("DOVETAIL_TEST_POSTGRES", "postgresql://root@127.0.0.1:5432/test")
MYSQL = os.environ.get("DOVETAIL_TEST_MYSQL", "mysql://root@127.0.0.1:3306/test")


@dataclass(frozen=True, slots=True)
class Database:
    """A database of a server. `name` is made up of letters no login or other name has in it."""

    server: str
    name: str

    @property
    def url(self) -> str:
        return urlsplit(self.server)._replace(path=f"/{self.name}").geturl()

    @property
    def label(self) -> str:
        """The URL as dovetail shows it."""
        return f"{urlsplit(self.server).scheme}://{self.host}:{self.port}/{self.name}"

    @property
    def host(self) -> str:
        return urlsplit(self.server).hostname or ""

    @property
    def port(self) -> int:
        return urlsplit(self.server).port or 0

    def url_for(self, user: str, password: str) -> str:
        """The URL with another login."""
        login = f"{quote(user, safe='')}:{quote(password, safe='')}"
        return self.label.replace("://", f"://{login}@", 1)


class PostgresDatabase(Database):
    """A PostgreSQL database."""

    __slots__ = ()

    def connect(self) -> psycopg.Connection[tuple[Any, ...]]:
        return psycopg.connect(self.url, autocommit=True)

    def run(self, *statements: str) -> None:
        """Run SQL in a session of its own, which is over when this returns."""
        with self.connect() as connection:
            for statement in statements:
                connection.execute(statement.encode())
        self.quieten()

    def ask(self, query: str) -> list[tuple[Any, ...]]:
        with self.connect() as connection:
            rows = connection.execute(query.encode()).fetchall()
        self.quieten()
        return rows

    def quieten(self) -> None:
        """Wait until our sessions are over: the server ends them a moment after we close them."""
        with psycopg.connect(self.server, autocommit=True) as connection:
            for _ in range(500):
                sessions = connection.execute(
                    "SELECT count(*) FROM pg_stat_activity WHERE datname = %s "
                    "AND backend_type = 'client backend' "
                    "AND left(application_name, 8) <> 'dovetail'",
                    [self.name],
                ).fetchone()
                if sessions == (0,):
                    return
                time.sleep(0.01)
        raise AssertionError(f"sessions in {self.name} do not end")


class MysqlDatabase(Database):
    """A MySQL or MariaDB database."""

    __slots__ = ()

    def connect(self) -> Any:
        return _mysql(self.server, self.name)

    def run(self, *statements: str) -> None:
        with closing(self.connect()) as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)

    def ask(self, query: str) -> Sequence[tuple[Any, ...]]:
        with closing(self.connect()) as connection, connection.cursor() as cursor:
            cursor.execute(query)
            rows: Sequence[tuple[Any, ...]] = cursor.fetchall()
            return rows


@contextmanager
def postgres(*, options: str = "") -> Iterator[PostgresDatabase]:
    """A new PostgreSQL database."""
    _require("PostgreSQL", "DOVETAIL_TEST_POSTGRES", POSTGRES, _postgres_trouble())
    database = PostgresDatabase(POSTGRES, f"zq_{uuid4().hex[:12]}")
    _on_postgres(f"CREATE DATABASE {database.name} {options}")
    try:
        yield database
    finally:
        _on_postgres(f"DROP DATABASE {database.name} WITH (FORCE)")


@contextmanager
def mysql() -> Iterator[MysqlDatabase]:
    """A new MySQL or MariaDB database."""
    _require("MariaDB or MySQL", "DOVETAIL_TEST_MYSQL", MYSQL, _mysql_trouble())
    database = MysqlDatabase(MYSQL, f"zq_{uuid4().hex[:12]}")
    _on_mysql(f"CREATE DATABASE {database.name} CHARACTER SET utf8mb4")
    try:
        yield database
    finally:
        _on_mysql(f"DROP DATABASE {database.name}")


@contextmanager
def postgres_role(database: PostgresDatabase, *, password: str) -> Iterator[str]:
    """A role that may log in, and nothing else."""
    role = f"Vy '{uuid4().hex[:6]}' vy"
    secret = password.replace("'", "''")
    database.run(f"""CREATE ROLE "{role}" LOGIN PASSWORD '{secret}'""")
    try:
        yield role
    finally:
        database.run(f'DROP OWNED BY "{role}"', f'DROP ROLE "{role}"')


@contextmanager
def mysql_user(database: MysqlDatabase, *, password: str) -> Iterator[str]:
    """A user that may log in, and nothing else."""
    user = f"vy_{uuid4().hex[:6]} vy"
    with closing(database.connect()) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE USER %s@'%%' IDENTIFIED BY %s", [user, password])
    try:
        yield user
    finally:
        database.run(f"DROP USER '{user}'@'%'")


@dataclass(frozen=True, slots=True)
class Run:
    """What an update did, how many tables it read, and the names of those that had rows."""

    report: dovetail.UpdateSummary[dovetail.Catalog]
    reads: int
    names: set[str]

    @property
    def catalog(self) -> dovetail.Catalog:
        return self.report.catalog

    @property
    def skipped(self) -> dict[str, str]:
        return {skip.table: skip.reason for skip in self.report.skipped}


def index(*sources: str, into: Path, **settings: Any) -> Run:
    """Update a catalog."""
    reading: list[Progress] = []

    def on_progress(progress: Progress) -> None:
        if progress.phase == "read":
            reading.append(progress)

    report = dovetail.update(
        sources,
        into=into,
        settings=Settings(**{"embedder": "none", **settings}),
        on_progress=on_progress,
    )
    details = (progress.detail.rpartition(", ")[0] for progress in reading)
    names = {detail.partition("::")[2] for detail in details if detail}
    return Run(report, max((progress.total for progress in reading), default=0), names)


def spy_on_queries(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The SQL that servers are asked from now on, but for the reading of tables."""
    asked: list[str] = []
    ask = Server.ask

    def spying(self: Server, sql: str) -> list[tuple[Any, ...]]:
        asked.append(sql)
        return ask(self, sql)

    monkeypatch.setattr(Server, "ask", spying)
    return asked


def _require(what: str, variable: str, url: str, trouble: str) -> None:
    if not trouble:
        return
    at = f"{urlsplit(url).hostname}:{urlsplit(url).port}"
    reason = f"no {what} at {at}: start one, or set {variable} ({trouble})"
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


@cache
def _postgres_trouble() -> str:
    try:
        psycopg.connect(POSTGRES, connect_timeout=3).close()
    except psycopg.Error as error:
        return " ".join(str(error).split())
    return ""


@cache
def _mysql_trouble() -> str:
    try:
        _mysql(MYSQL).close()
    except pymysql.Error as error:
        return str(error)
    return ""


def _on_postgres(statement: str) -> None:
    with psycopg.connect(POSTGRES, autocommit=True) as connection:
        connection.execute(statement.encode())


def _on_mysql(statement: str) -> None:
    with closing(_mysql(MYSQL)) as connection, connection.cursor() as cursor:
        cursor.execute(statement)


def _mysql(url: str, database: str | None = None) -> Any:
    parts = urlsplit(url)
    return pymysql.connect(
        host=parts.hostname,
        port=parts.port or 3306,
        user=unquote(parts.username or "") or None,
        password=unquote(parts.password or ""),
        database=database,
        charset="utf8mb4",
        autocommit=True,
        connect_timeout=3,
    )
