"""Servers among other sources: equal values hash alike, and one server's trouble is its own."""

from __future__ import annotations

import re
import socket
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dovetail.answer.execute import Executor
from dovetail.answer.results import Limits
from dovetail.domain import TableId
from dovetail.errors import LimitError, SourceError, UsageError
from dovetail.sources import duck, server
from dovetail.sources.mysql import MysqlSource
from dovetail.sources.postgres import PostgresSource
from dovetail.sources.resolve import root
from tests.support.servers import Database, MysqlDatabase, PostgresDatabase, index, mysql, postgres

pytestmark = pytest.mark.service


@pytest.fixture
def pg() -> Iterator[PostgresDatabase]:
    with postgres() as database:
        yield database


@pytest.fixture
def my() -> Iterator[MysqlDatabase]:
    with mysql() as database:
        yield database


# Columns that every kind of source holds in its own way, and what must hash alike.
NAMES = [
    "id", "huge", "most", "name", "code", "price", "ratio", "single", "day", "moment", "instant",
]  # fmt: skip
ROWS = [
    (1, "123456789012345678901234567890", "18446744073709551615", "héllo 😀", "ab", "1.50",
     0.1, 0.1, "2024-02-29", "2024-02-29 12:34:56.789", "2024-02-29 10:00:00"),
    (-2, "7", "0", "007", "abc", "100.00", 2.5, 2.5, "1969-07-20", "2024-01-01 08:00:00",
     "2024-01-01 08:00:00"),
    (2147483647, "-123456789012345678901234567890", "9007199254740993", "  Ann ", "x y", "-0.01",
     -7.25, -7.25, "2024-01-01", "1969-07-20 20:17:40", "1969-07-21 02:56:15"),
    (4, "7", "42", "12", "12", "12.00", 3.0, 3.0, "2024-01-01", "2024-01-01 08:00:00",
     "2024-01-01 08:00:00"),
    (None,) * 11,
]  # fmt: skip
LITERALS = [
    "(" + ", ".join("NULL" if cell is None else f"'{cell}'" for cell in row) + ")" for row in ROWS
]


def _in_sqlite(path: Path) -> None:
    columns = (
        "id INTEGER, huge TEXT, most TEXT, name TEXT, code CHAR(8), price DECIMAL(10,2), "
        "ratio DOUBLE, single FLOAT, day DATE, moment TIMESTAMP, instant TIMESTAMP"
    )
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"CREATE TABLE things ({columns})")
        marks = ", ".join("?" * len(NAMES))
        connection.executemany(f"INSERT INTO things VALUES ({marks})", ROWS)
        connection.commit()


def _in_duckdb(path: Path) -> None:
    columns = (
        "id INTEGER, huge HUGEINT, most UBIGINT, name VARCHAR, code VARCHAR, price DECIMAL(10,2), "
        "ratio DOUBLE, single FLOAT, day DATE, moment TIMESTAMP, instant TIMESTAMPTZ"
    )
    with closing(duckdb.connect(str(path))) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute(f"CREATE TABLE things ({columns})")
        connection.execute(f"INSERT INTO things VALUES {', '.join(LITERALS)}")


def _in_csv(path: Path) -> None:
    lines = [",".join(NAMES)]
    for row in ROWS:
        cells = list(row)
        cells[4] = f"{cells[4]:8}" if cells[4] else None  # as PostgreSQL exports a char(8)
        lines.append(",".join("" if cell is None else str(cell) for cell in cells))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _in_parquet(path: Path) -> None:
    kinds: list[tuple[pa.DataType, Callable[[str], object]]] = [
        (pa.int32(), int), (pa.decimal128(30, 0), Decimal), (pa.uint64(), int),
        (pa.string(), str), (pa.string(), str), (pa.decimal128(10, 2), Decimal),
        (pa.float64(), float), (pa.float32(), float), (pa.date32(), date.fromisoformat),
        (pa.timestamp("us"), datetime.fromisoformat),
        (pa.timestamp("us", "UTC"), lambda text: datetime.fromisoformat(text).replace(tzinfo=UTC)),
    ]  # fmt: skip
    arrays = [
        pa.array([None if row[at] is None else read(str(row[at])) for row in ROWS], kind)
        for at, (kind, read) in enumerate(kinds)
    ]
    pq.write_table(pa.table(arrays, names=NAMES), path)


def test_equal_values_hash_alike_wherever_they_are(
    pg: PostgresDatabase, my: MysqlDatabase, tmp_path: Path
) -> None:
    pg.run(
        "SET TimeZone = 'UTC'",
        "CREATE TABLE things (id int, huge numeric(30,0), most numeric, name text, code char(8), "
        "price numeric(10,2), ratio double precision, single real, day date, moment timestamp, "
        "instant timestamptz)",
        f"INSERT INTO things VALUES {', '.join(LITERALS)}",
    )
    my.run(
        "SET time_zone = '+00:00'",
        "CREATE TABLE things (id int, huge decimal(30,0), most bigint unsigned, name text, "
        "code char(8), price decimal(10,2), ratio double, single float, day date, "
        "moment datetime(6), instant datetime)",
        f"INSERT INTO things VALUES {', '.join(LITERALS)}",
    )
    _in_sqlite(tmp_path / "lite.sqlite")
    _in_duckdb(tmp_path / "duck.duckdb")
    _in_csv(tmp_path / "things.csv")
    _in_parquet(tmp_path / "things.parquet")
    sources = {
        "pg": (pg.url, "things"),
        "my": (my.url, "things"),
        "lite": (str(tmp_path / "lite.sqlite"), "things"),
        "duck": (str(tmp_path / "duck.duckdb"), "things"),
        "csv": (str(tmp_path / "things.csv"), "things"),
        "parquet": (str(tmp_path / "things.parquet"), "things"),
    }
    named = [f"{name}={place}" for name, (place, _) in sources.items()]
    run = index(*named, into=tmp_path / "c")
    assert run.report.skipped == ()
    assert len(run.catalog) == len(sources)
    distinct = [4, 3, 4, 4, 4, 4, 4, 4, 3, 3, 3]
    for at, column in enumerate(NAMES):
        expected = run.catalog.reader.hashes(TableId("pg", "things"), at).tolist()
        assert len(expected) == distinct[at], column
        for name, (_, table) in sources.items():
            found = run.catalog.reader.hashes(TableId(name, table), at).tolist()
            assert found == expected, (name, column)
    # Numbers that are written as text elsewhere are the same numbers.
    assert set(run.catalog.reader.hashes(TableId("pg", "things"), 3)) & set(
        run.catalog.reader.hashes(TableId("my", "things"), 5)
    )


def test_several_sources_in_one_catalog(
    pg: PostgresDatabase, my: MysqlDatabase, tmp_path: Path
) -> None:
    pg.run(
        "CREATE TABLE orders AS SELECT 1 AS id",
        "CREATE TABLE tmp_orders AS SELECT 1 AS id",
        "CREATE SCHEMA sales",
        "CREATE TABLE sales.orders AS SELECT 2 AS id",
        "CREATE TABLE sales.tmp_orders AS SELECT 2 AS id",
    )
    my.run(
        "CREATE TABLE orders AS SELECT 3 AS id",
        "CREATE TABLE tmp_orders AS SELECT 3 AS id",
        "CREATE TABLE people AS SELECT 'Ann' AS name",
    )
    files = tmp_path / "files"
    files.mkdir()
    (files / "orders.csv").write_text("id\n4\n", encoding="utf-8")
    sources = (f"pg={pg.url}", f"my={my.url}", f"files={files}")
    everything = index(*sources, into=tmp_path / "all")
    assert [str(table) for table in everything.catalog.ids] == [
        "files::orders",
        "my::orders", "my::people", "my::tmp_orders",
        "pg::orders", "pg::sales.orders", "pg::sales.tmp_orders", "pg::tmp_orders",
    ]  # fmt: skip
    assert {str(table.id): table.sample[0][0] for table in everything.catalog} == {
        "files::orders": "4",
        "my::orders": "3", "my::people": "Ann", "my::tmp_orders": "3",
        "pg::orders": "1", "pg::sales.orders": "2", "pg::sales.tmp_orders": "2",
        "pg::tmp_orders": "1",
    }  # fmt: skip

    chosen = index(
        *sources,
        into=tmp_path / "some",
        include=("*orders", "pg::*"),
        exclude=("tmp_*", "*.tmp_*", "my::orders"),
    )
    assert [str(table) for table in chosen.catalog.ids] == [
        "files::orders",
        "pg::orders",
        "pg::sales.orders",
    ]

    # Several workers come to the same.
    crew = index(*sources, into=tmp_path / "crew", workers=2)
    assert list(crew.catalog) == list(everything.catalog)


def test_one_server_s_trouble_is_its_own(
    pg: PostgresDatabase, my: MysqlDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pg.run("CREATE TABLE orders AS SELECT 1 AS id")
    my.run("CREATE TABLE orders AS SELECT 3 AS id")
    (tmp_path / "people.csv").write_text("name\nAnn\n", encoding="utf-8")
    monkeypatch.setenv("NOT_HERE", "root")
    files = f"people={tmp_path / 'people.csv'}"
    catalog = tmp_path / "c"
    index(f"pg={pg.url}", f"my={_with_user(my, '${NOT_HERE}')}", files, into=catalog)

    monkeypatch.delenv("NOT_HERE")
    pg.run("INSERT INTO orders VALUES (2)")
    run = index(into=catalog)
    assert run.report.changed == (TableId("pg", "orders"),)
    assert run.report.retained == (TableId("my", "orders"),)
    assert run.report.unchanged == 1
    assert [str(skip) for skip in run.report.skipped] == [
        "my: the environment has no NOT_HERE, which the URL asks for; set it, or give the URL again"
    ]
    assert run.catalog["my::orders"].sample == (("3",),)

    monkeypatch.setenv("NOT_HERE", "root")
    my.run("INSERT INTO orders VALUES (4)")
    run = index(into=catalog)
    assert run.report.skipped == ()
    assert run.report.changed == (TableId("my", "orders"),)


def _with_user(database: Database, user: str) -> str:
    return database.label.replace("://", f"://{user}@", 1)


@pytest.mark.parametrize("kind", ["postgresql", "mysql"])
def test_a_host_that_never_answers(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert server.PATIENCE <= 15
    monkeypatch.setattr(server, "PATIENCE", 1)
    (tmp_path / "people.csv").write_text("name\nAnn\n", encoding="utf-8")
    with closing(socket.create_server(("127.0.0.1", 0))) as silent:
        port = silent.getsockname()[1]
        run = index(
            f"mute={kind}://vy:pw@127.0.0.1:{port}/zq",
            f"people={tmp_path / 'people.csv'}",
            into=tmp_path / "c",
        )
    assert [table.name for table in run.catalog] == ["people"]
    (skip,) = run.report.skipped
    assert str(skip).startswith("mute: no answer within 1 seconds; check host, port, ")


def test_schemes_have_one_spelling() -> None:
    for given in ("postgres://Db/erp", "postgresql://db/erp", "POSTGRESQL://db/erp"):
        assert root(given, Path("/")).location == "postgresql://db/erp"
    assert root("mariadb://db:1/erp", Path("/")).kind == "mysql"
    assert root("mariadb://[::1]:1/erp", Path("/")).location == "mysql://[::1]:1/erp"


@pytest.mark.parametrize("url", ["postgresql://db", "mysql://db/", "postgresql:///erp"])
def test_a_url_without_host_or_database(url: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=f"^{url}: a server's URL is scheme://"):
        index(url, into=tmp_path / "c")


_ONLY_READS = r"(?i)read.only tran|may do more than read"


# Views that begin to write, or to take their time, only once they are indexed.
HARMLESS = "CREATE OR REPLACE VIEW {} AS SELECT 1 AS a"
CHANGES = {
    "postgresql": (
        "CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'INSERT INTO t VALUES (2) RETURNING 1'",
        "CREATE OR REPLACE VIEW sly AS SELECT f() AS a",
        "CREATE OR REPLACE VIEW slow AS SELECT 1 AS a FROM pg_sleep(60)",
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
        "AND state = 'active' AND pid <> pg_backend_pid()",
    ),
    "mysql": (
        "CREATE FUNCTION f() RETURNS int MODIFIES SQL DATA BEGIN "
        "INSERT INTO t VALUES (2); RETURN 1; END",
        "CREATE OR REPLACE VIEW sly AS SELECT f() AS a",
        "CREATE OR REPLACE VIEW slow AS SELECT BENCHMARK(200000000, MD5('x')) AS a",
        "SELECT count(*) FROM information_schema.processlist WHERE db = DATABASE() "
        "AND command <> 'Sleep' AND id <> CONNECTION_ID()",
    ),
}


@pytest.mark.parametrize("kind", ["postgresql", "mysql"])
def test_a_server_only_reads_for_us_and_not_for_ever(
    kind: str, pg: PostgresDatabase, my: MysqlDatabase, tmp_path: Path
) -> None:
    database: PostgresDatabase | MysqlDatabase = pg if kind == "postgresql" else my
    database.run("CREATE TABLE t (a int)", *(HARMLESS.format(view) for view in ("sly", "slow")))
    catalog = index(f"s={database.url}", into=tmp_path / "c", views=True).catalog
    function, sly, slow, busy = CHANGES[kind]
    database.run(function, sly, slow)
    with Executor(catalog.reader, workers=1) as executor:
        with pytest.raises(SourceError, match=_ONLY_READS):
            executor.run("SELECT a FROM sly", [catalog["sly"]])
        with pytest.raises(LimitError, match="ran longer than 2 seconds"):
            executor.run("SELECT a FROM slow", [catalog["slow"]], limits=Limits(seconds=2))
        # The process is gone and cannot tell the server: it stops by itself.
        while tuple(database.ask(busy)[0]) != (0,):
            time.sleep(0.05)
    assert list(database.ask("SELECT * FROM t")) == []
    database.run(HARMLESS.format("slow"))
    again = index(into=tmp_path / "c", views=True)
    assert re.search(_ONLY_READS, again.skipped["sly"])
    assert list(database.ask("SELECT * FROM t")) == []


@pytest.fixture(params=["postgresql", "mysql"])
def database(request: pytest.FixtureRequest) -> Iterator[PostgresDatabase | MysqlDatabase]:
    with postgres() if request.param == "postgresql" else mysql() as database:
        yield database


Either = PostgresDatabase | MysqlDatabase


def test_truncated_dropped_and_new_tables(database: Either, tmp_path: Path) -> None:
    for name in ("kept", "emptied", "going"):
        database.run(f"CREATE TABLE {name} AS SELECT 1 AS id")
    catalog = tmp_path / "c"
    index(database.url, into=catalog)
    database.run("TRUNCATE emptied")
    run = index(into=catalog)
    assert (run.reads, run.report.changed) == (1, (TableId(database.label, "emptied"),))
    assert run.catalog["emptied"].rows == 0
    database.run("DROP TABLE going")
    run = index(into=catalog)
    assert (run.reads, run.report.dropped) == (0, (TableId(database.label, "going"),))
    database.run("CREATE TABLE newcomer AS SELECT 2 AS id")
    run = index(into=catalog)
    assert (run.names, run.report.added) == ({"newcomer"}, (TableId(database.label, "newcomer"),))
    if isinstance(database, PostgresDatabase):
        # The same name and contents, but another table: it has to be read to be known.
        database.run("DROP TABLE kept", "CREATE TABLE kept AS SELECT 1 AS id")
        run = index(into=catalog)
        assert (run.names, run.report.changed, run.report.unchanged) == ({"kept"}, (), 3)


def test_an_open_transaction_is_seen_once_it_commits(database: Either, tmp_path: Path) -> None:
    database.run("CREATE TABLE t (id int)", "INSERT INTO t VALUES (1)")
    catalog = tmp_path / "c"
    with closing(database.connect()) as writer, writer.cursor() as cursor:
        cursor.execute("BEGIN")
        cursor.execute("INSERT INTO t VALUES (2)")
        assert index(database.url, into=catalog).catalog["t"].rows == 1
        assert index(into=catalog).reads == 0
        cursor.execute("COMMIT")
        run = index(into=catalog)
        assert (run.names, run.catalog["t"].rows) == ({"t"}, 2)


def test_nothing_is_written(database: Either, tmp_path: Path) -> None:
    database.run("CREATE TABLE t (id int)", "INSERT INTO t VALUES (1)")
    source: PostgresSource | MysqlSource
    if isinstance(database, PostgresDatabase):
        source, kind, schema = PostgresSource(root(database.url, tmp_path)), "postgres", "public"
    else:
        source, kind, schema = MysqlSource(root(database.url, tmp_path)), "mysql", database.name
    alias = source._server._alias
    attempts = [
        f"CREATE TABLE {alias}.{schema}.u (a int)",
        f"INSERT INTO {alias}.{schema}.t VALUES (2)",
        f"DROP TABLE {alias}.{schema}.t",
        f"SELECT * FROM {kind}_execute('{alias}', 'DELETE FROM t')",
        f"SELECT * FROM {kind}_query('{alias}', 'DELETE FROM t RETURNING id')",
    ]
    for attempt in attempts:
        with pytest.raises(duckdb.Error):
            duck.fetch(attempt)
    source.close()
    assert list(database.ask("SELECT * FROM t")) == [(1,)]
    listed = "SELECT count(*) FROM information_schema.tables WHERE table_name = 'u'"
    assert list(database.ask(listed)) == [(0,)]
