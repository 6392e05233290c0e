"""Many tables of a server in one statement: the same as one by one, in a few round trips."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from dovetail.plugins import open_source
from dovetail.ports import Listing, ScannedColumn, Source, SourceSpec
from dovetail.profile import batch
from dovetail.sources import server_source
from dovetail.sources.mysql import MysqlSource
from dovetail.sources.postgres import PostgresSource
from dovetail.sources.resolve import root
from dovetail.sources.server_source import announce
from tests.sources import test_mysql, test_postgres, test_postgres_types
from tests.support.round_trips import relay
from tests.support.servers import (
    MysqlDatabase,
    PostgresDatabase,
    index,
    mysql,
    mysql_user,
    postgres,
    postgres_role,
    spy_on_queries,
)

pytestmark = pytest.mark.service
AnyDatabase = PostgresDatabase | MysqlDatabase


@pytest.fixture(scope="module", params=["postgresql", "mysql"])
def database(request: pytest.FixtureRequest) -> Iterator[AnyDatabase]:
    """Every kind of table; every type in a table of its own, with rows and without; wide tables."""
    with postgres() if request.param == "postgresql" else mysql() as database:
        types: list[tuple[str, tuple[str, ...]]]
        if isinstance(database, PostgresDatabase):
            statements = [*test_postgres.KINDS, *test_postgres_types.OWN_TYPES]
            types = [(kind.declared, kind.values) for kind in test_postgres_types.TYPES]
        else:
            statements = [*test_mysql.KINDS, "SET sql_mode = 'ALLOW_INVALID_DATES'"]
            types = [(kind.declared, kind.values) for kind in test_mysql.TYPES]
        for number, (declared, values) in enumerate(types):
            statements += [
                f"CREATE TABLE typed_{number:02} (c {declared})",
                f"INSERT INTO typed_{number:02} VALUES {', '.join(f'({v})' for v in values)}",
                f"CREATE TABLE untyped_{number:02} (c {declared})",
            ]
        columns = ", ".join(f"c{number} int" for number in range(900))
        for name in ("wide_a", "wide_b"):
            statements += [
                f"CREATE TABLE {name} ({columns})",
                f"INSERT INTO {name} (c0, c899) VALUES (1, 2)",
            ]
        database.run(*statements)
        yield database


def _all_of(source: Source, table: Listing) -> tuple[str, list[ScannedColumn], list[pa.Array]]:
    """The token of a table, its columns, and their values."""
    token = source.fingerprint(table, None).token
    scan = source.scan(table)
    batches = [batch for batch in scan.batches if batch.num_rows]
    arrays = [
        pa.concat_arrays(column) for column in zip(*(b.columns for b in batches), strict=True)
    ]
    return token, list(scan.columns), list(map(_comparable, arrays))


def _comparable(array: pa.Array) -> pa.Array:
    """An array in which a NaN is equal to itself, and a number whatever its width."""
    if pa.types.is_integer(array.type):
        return array.cast(pa.int64() if pa.types.is_signed_integer(array.type) else pa.uint64())
    return array.view(pa.int64()) if pa.types.is_float64(array.type) else array


def test_read_together_as_one_by_one(database: AnyDatabase, tmp_path: Path) -> None:
    spec = replace(root(database.url, tmp_path), views=True)
    with closing(open_source(spec)) as source:
        tables = source.tables()
        alone = [_all_of(source, table) for table in tables]
        announce(source, tables, {}, rows=True)
        together = [_all_of(source, table) for table in tables]
    different = [
        (table.name, one[1:], other[1:])
        for table, one, other in zip(tables, alone, together, strict=True)
        if one != other
    ]
    assert different == []
    assert sum(bool(values) for *_, values in together) > 30


def _scan(source: Source, table: Listing) -> list[pa.RecordBatch]:
    source.fingerprint(table, None)
    return list(source.scan(table).batches)


def test_a_table_of_more_rows_than_expected_is_read_alone(
    database: AnyDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_source, "MOST_ROWS", 1)
    with closing(open_source(root(database.url, tmp_path))) as source:
        tables = [table for table in source.tables() if table.name in ("ordinary", "refers")]
        announce(source, tables, {}, rows=True)
        rows = {
            table.name: sum(batch.num_rows for batch in _scan(source, table)) for table in tables
        }
    assert rows == {"ordinary": 2, "refers": 1}


@pytest.mark.parametrize("kind", ["postgresql", "mysql"])
def test_round_trips_do_not_grow_with_tables(kind: str, tmp_path: Path) -> None:
    """A hundred cost as many as ten, with rows and without."""
    trips: dict[tuple[str, int], int] = {}
    with postgres() if kind == "postgresql" else mysql() as database:
        how = "" if kind == "postgresql" else "ENGINE = MyISAM"
        names = [f"{first}{at:03}" for first in "ef" for at in range(100)]
        database.run(
            *(f"CREATE TABLE {name} (id int, name varchar(20)) {how}" for name in names),
            *(f"INSERT INTO {name} VALUES (1, 'x')" for name in names if name[0] == "f"),
        )
        for first, number in (("e", 10), ("e", 100), ("f", 10), ("f", 100)):
            with relay(database.host, database.port) as between:
                url = database.url.replace(f":{database.port}/", f":{between.port}/")
                with closing(open_source(root(url, tmp_path))) as source:
                    tables = [one for one in source.tables() if one.name[0] == first][:number]
                    announce(source, tables, {}, rows=True)
                    rows = [sum(b.num_rows for b in _scan(source, one)) for one in tables]
                assert rows == [first == "f"] * number
                trips[first, number] = between.trips
    # Any one query more would be eight; how a connection ends is not always told in as many turns.
    assert trips["e", 100] < trips["e", 10] + 8
    assert trips["f", 100] < trips["f", 10] + 8


@contextmanager
def _hundreds(kind: str) -> Iterator[tuple[AnyDatabase, str]]:
    """200 tables of which every third has a row, and a login that may not read all of them.

    Every 40th table it may only write to; both are in many of the 25 jobs that read the tables.
    """
    names = [f"t{at:03}" for at in range(200)]
    with ExitStack() as stack:
        database: AnyDatabase
        if kind == "postgresql":
            database = stack.enter_context(postgres())
            login = stack.enter_context(postgres_role(database, password="pw"))
            how, to, place = "", f'TO "{login}"', "public"
        else:
            database = stack.enter_context(mysql())
            login = stack.enter_context(mysql_user(database, password="pw"))
            how, to, place = "ENGINE = MyISAM", f"TO '{login}'@'%'", database.name
        database.run(
            *(f"CREATE TABLE {name} (id int, name varchar(20), at date) {how}" for name in names),
            *(f"INSERT INTO {name} VALUES (1, 'x', '2024-01-01')" for name in names[::3]),
            *(
                f"GRANT {'INSERT' if at % 40 == 0 else 'SELECT'} ON {place}.{name} {to}"
                for at, name in enumerate(names)
            ),
        )
        yield database, database.url_for(login, "pw")


@pytest.mark.parametrize("kind", ["postgresql", "mysql"])
def test_hundreds_of_tables_some_forbidden_and_some_dropped_midway(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dropped = {"t001", "t007", "t009", "t110", "t111", "t199"}
    with _hundreds(kind) as (database, url):
        source = MysqlSource if isinstance(database, MysqlDatabase) else PostgresSource
        load = server_source.ServerSource._load
        gone: set[str] = set()

        def drop_some(self: server_source.ServerSource, tables: Sequence[Listing]) -> Any:
            """After the versions of the tables are known, before any is read."""
            if not gone:
                database.run(*(f"DROP TABLE {name}" for name in sorted(dropped)))
                gone.update(dropped)
            return load(self, tables)

        monkeypatch.setattr(server_source.ServerSource, "_load", drop_some)
        asked = spy_on_queries(monkeypatch)
        opened: list[SourceSpec] = []
        start = source.__init__

        def noting(self: Any, spec: SourceSpec) -> None:
            opened.append(spec)
            start(self, spec)

        monkeypatch.setattr(source, "__init__", noting)
        run = index(url, into=tmp_path / "c", workers=1)
    forbidden = {f"t{at:03}" for at in range(0, 200, 40)}
    assert set(run.skipped) == forbidden | dropped
    refused = "permission denied" if kind == "postgresql" else "command denied"
    assert all(refused in run.skipped[name] for name in forbidden)
    assert all("exist; it went while we looked" in run.skipped[name] for name in dropped)
    rest = [at for at in range(200) if f"t{at:03}" not in forbidden | dropped]
    found = {table.name: table for table in run.catalog}
    assert {name: table.rows for name, table in found.items()} == {
        f"t{at:03}": int(at % 3 == 0) for at in rest
    }
    assert {tuple(column.type for column in table.columns) for table in found.values()} == {
        ("INTEGER", "VARCHAR", "DATE")
    }
    # Once to plan and once to read, however many jobs met a table that they could not read.
    assert len(opened) == 2
    catalog_queries = [sql for sql in asked if "information_schema" in sql or "pg_class" in sql]
    assert max(Counter(catalog_queries).values()) <= 2


_END_SESSIONS = {
    "postgresql": "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
    "WHERE datname = current_database() AND application_name LIKE 'dovetail%'",
    "mysql": "SELECT id FROM information_schema.processlist "
    "WHERE db = DATABASE() AND id <> CONNECTION_ID()",
}


@pytest.mark.parametrize("kind", ["postgresql", "mysql"])
def test_a_connection_that_breaks_costs_one_job_at_most(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with postgres() if kind == "postgresql" else mysql() as database:
        how = "" if kind == "postgresql" else "ENGINE = MyISAM"
        names = [f"t{at:02}" for at in range(40)]
        database.run(
            *(f"CREATE TABLE {name} (id int) {how}" for name in names),
            *(f"INSERT INTO {name} VALUES (1)" for name in names),
        )
        jobs: list[set[str]] = []

        def breaking(source: Source, tables: list[Listing], *args: Any, **options: Any) -> None:
            announce(source, tables, *args, **options)
            jobs.append({table.name for table in tables})
            if len(jobs) == 3:
                found = database.ask(_END_SESSIONS[kind])
                if kind == "mysql":
                    database.run(*(f"KILL {number}" for (number,) in found))

        monkeypatch.setattr(batch, "announce", breaking)
        run = index(database.url, into=tmp_path / "c", workers=1)
    assert len(jobs) == 5
    assert set(run.skipped) <= jobs[2]
    assert {table.name for table in run.catalog} == set(names) - set(run.skipped)
    assert {table.rows for table in run.catalog} == {1}
