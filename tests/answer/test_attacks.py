"""What has once got past the guard or through an engine, each with the variants it came with."""

from __future__ import annotations

import json
import math
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import dovetail
from dovetail.answer import in_duckdb, in_sqlite
from dovetail.answer.execute import Executor
from dovetail.answer.generate import extract_sql
from dovetail.answer.guard import guard
from dovetail.answer.relations import relations
from dovetail.answer.results import Limits
from dovetail.answer.tree import parse
from dovetail.cli import app
from dovetail.cli.output import print_json
from dovetail.cli.rows import Form, give
from dovetail.errors import DovetailError, GuardError, LimitError, QueryError, UsageError
from tests.answer.test_guard import SET

CANARY = "canary-in-the-table"


@pytest.fixture(scope="module")
def aviary(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dovetail.Catalog]:
    """A SQLite file with a table of the set, a secret one, and a view over the secret one."""
    folder = tmp_path_factory.mktemp("aviary")
    with closing(sqlite3.connect(folder / "aviary.db")) as connection, connection:
        connection.execute("CREATE TABLE pub (a INTEGER)")
        connection.execute("CREATE TABLE secret (a TEXT, b TEXT)")
        connection.execute("INSERT INTO pub VALUES (1)")
        connection.executemany("INSERT INTO secret VALUES (?, 'x')", [[CANARY]] * 7)
        connection.execute("CREATE TABLE vault AS SELECT * FROM secret")
        connection.execute("CREATE VIEW seen AS SELECT b FROM secret")
        connection.execute("CREATE VIEW outer_view AS SELECT count(*) AS n FROM seen")
    settings = dovetail.Settings(views=True)
    into = folder / "catalog"
    with dovetail.build(str(folder / "aviary.db"), into=into, settings=settings) as catalog:
        yield catalog


@pytest.fixture(scope="module")
def running(aviary: dovetail.Catalog) -> Iterator[Executor]:
    with Executor(aviary.reader, workers=1) as executor:
        yield executor


# Letters that fold to ASCII ones by Unicode's rules, though no engine folds them so.
LOOK_ALIKES = [
    "\u017fecret",
    "\u017fECRET",
    "SECRET\u0307",
    "\u1e9eecret",
    "se\u212aret",
    "\uff53ecret",
]


@pytest.mark.parametrize("name", LOOK_ALIKES)
@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
@pytest.mark.parametrize("inside", [["pub"], ["pub", "seen"], ["pub", "outer_view"]])
def test_no_name_is_read_as_another_that_looks_alike(
    running: Executor, aviary: dovetail.Catalog, name: str, engine: str, inside: list[str]
) -> None:
    tables = [aviary[each] for each in inside]
    for sql in (
        f"WITH {name} AS (SELECT 1), x AS (SELECT * FROM secret) SELECT x.* FROM x, pub",
        f"WITH {name} AS (SELECT 1) SELECT count(*) FROM secret, pub",
        f'WITH "{name}" AS (SELECT 1) SELECT * FROM "SECRET", pub',
        f"WITH secret AS (SELECT * FROM {name}) SELECT * FROM secret, pub",
        f"WITH RECURSIVE {name} AS (SELECT 1 UNION SELECT a FROM secret) SELECT * FROM {name}",
        f"SELECT (WITH {name} AS (SELECT 1) SELECT max(a) FROM (SELECT * FROM secret)) FROM pub",
    ):
        with pytest.raises(GuardError) as refused:
            running.run(sql, tables, engine=engine)
        assert CANARY not in str(refused.value)
        assert "7" not in str(refused.value)


def test_a_with_clause_has_the_name_that_was_written(
    running: Executor, aviary: dovetail.Catalog
) -> None:
    """A clause may be called as any table is, and is the one that is read then."""
    long_s = LOOK_ALIKES[0]
    for engine in ("sqlite", "duckdb"):
        for sql in (
            "WITH secret AS (SELECT 5 AS a) SELECT secret.a FROM Secret, pub",
            f'WITH "{long_s}" AS (SELECT 5 AS a) SELECT "{long_s}".a FROM "{long_s}", pub',
            "WITH pub AS (SELECT a + 4 AS a FROM pub) SELECT PUB.a FROM PUB",
            "WITH x(a) AS (SELECT 5) SELECT (SELECT y.a FROM x y) FROM pub",
        ):
            found = running.run(sql, [aviary["pub"]], engine=engine)
            assert found.tuples() == [(5,)], (engine, sql)


def test_the_authorizer_alone_keeps_other_tables_shut(
    running: Executor, aviary: dovetail.Catalog
) -> None:
    """As if the guard had let through what it refuses."""
    tables = [aviary["pub"], aviary["seen"], aviary["outer_view"]]
    placed = running._located(relations(tables), "sqlite")
    described = [running._described(relation) for relation in placed]
    for sql in (
        "SELECT count(*) FROM vault",
        "SELECT count(*) FROM s0.secret",
        "WITH x AS (SELECT * FROM secret) SELECT * FROM x, s0.pub",
        "WITH x AS (SELECT count(*) FROM vault) SELECT * FROM x",
        "WITH d1 AS (SELECT a FROM s0.secret) SELECT * FROM d1",
        "SELECT * FROM (SELECT a FROM secret) AS seen",
        "SELECT name FROM s0.sqlite_master",
        "SELECT count(*) FROM sqlite_master",
        "SELECT (SELECT count(*) FROM main.sqlite_master)",
    ):
        with pytest.raises(QueryError, match=r"prohibited|not authorized"):
            in_sqlite.run(sql, described, Limits(), private=["d1"])
    for sql, rows in (
        ("SELECT count(*) AS n FROM s0.seen", [{"n": 7}]),
        ("SELECT * FROM s0.outer_view", [{"n": 7}]),
        ("WITH d1 AS (SELECT * FROM s0.seen) SELECT count(*) AS n FROM d1", [{"n": 7}]),
    ):
        ran = in_sqlite.run(sql, described, Limits(), private=["d1"])
        assert ran.rows.to_pylist() == rows


@pytest.mark.parametrize("view", ["pg_settings", "duckdb_tables", "pragma_database_list"])
@pytest.mark.parametrize(
    "sql",
    [
        "WITH RECURSIVE {v} AS (SELECT * FROM {v}) SELECT * FROM {v}",
        "WITH RECURSIVE {v} AS ((SELECT * FROM {v})) SELECT * FROM {v}",
        "WITH RECURSIVE a AS (SELECT 1), {v} AS (SELECT * FROM {v}) SELECT * FROM {v}, a",
        "WITH RECURSIVE {v} AS (WITH b AS (SELECT * FROM {v}) SELECT * FROM b) SELECT * FROM {v}",
        "SELECT * FROM (WITH RECURSIVE {v} AS (SELECT * FROM {v}) SELECT * FROM {v}) x",
        "WITH {v} AS (SELECT * FROM {v} UNION SELECT * FROM {v}) SELECT * FROM {v}",
        "WITH a AS (SELECT * FROM {v}), {v} AS (SELECT 1) SELECT * FROM a",
    ],
)
def test_no_view_of_the_system_stands_in_for_a_with_clause(
    running: Executor, aviary: dovetail.Catalog, sql: str, view: str
) -> None:
    for engine in ("duckdb", "sqlite"):
        with pytest.raises((GuardError, QueryError)):
            running.run(sql.format(v=view), [aviary["pub"]], engine=engine)


def test_a_recursive_clause_that_is_no_union_reads_the_table_of_its_name(
    running: Executor, aviary: dovetail.Catalog
) -> None:
    sql = "WITH RECURSIVE pub AS (SELECT a FROM pub) SELECT * FROM pub"
    assert running.run(sql, [aviary["pub"]]).tuples() == [(1,)]


# fmt: off
NESTING = ["date(", "ARRAY[", "char(", "time(", "varchar(", "decimal(", "STRUCT(", "MAP(", "[",
           "timestamp(", "nullable(", "json(", "interval(", "list(", "map {", "CAST(", "x::INT["]
# fmt: on


@pytest.mark.parametrize("opening", NESTING)
@pytest.mark.parametrize("dialect", ["duckdb", "sqlite", "postgres", "mysql"])
def test_no_nesting_takes_the_parser_for_ever(opening: str, dialect: str) -> None:
    """A parser that tries every level twice would not be done with the deepest in years."""
    closing_one = {"(": ")", "[": "]", "{": "}"}[opening[-1]]
    for depth in (12, 30, 39):
        sql = "SELECT " + opening * depth + "'a'" + closing_one * depth
        try:
            parse(sql, dialect)
        except GuardError as error:
            assert str(error).startswith("refused: ")


def test_what_takes_the_guard_too_long_is_ended_by_the_limit(
    running: Executor, aviary: dovetail.Catalog
) -> None:
    """Not only the parser: thousands of columns against as many keys take long to settle."""
    many = ", ".join(f"x{number}" for number in range(4_000))
    sql = f"SELECT {many}, count(*) FROM pub GROUP BY {many.replace('x', 'y')[:20_000]}"
    with pytest.raises((LimitError, GuardError, QueryError)):
        running.run(sql[:49_000], [aviary["pub"]], dialect="sqlite", limits=Limits(seconds=0.5))


def test_two_large_tables_keep_their_own_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, first in (("stream_0", 100), ("stream_1", 200), ("a", 300)):
        pq.write_table(pa.table({"n": range(first, first + 5)}), tmp_path / f"{name}.parquet")
    catalog = dovetail.build(str(tmp_path), into=tmp_path / "catalog")
    monkeypatch.setattr(in_duckdb, "_COPIED", 0)
    sql = 'SELECT min(n), (SELECT min(n) FROM "stream_0"), (SELECT min(n) FROM a) FROM stream_1'
    with Executor(catalog.reader, workers=1) as executor:
        known = relations(list(catalog))
        placed = executor._located(known, "duckdb")
        described = [executor._described(relation) for relation in placed]
        text = guard(sql, placed).sql
    ran = in_duckdb.run(text, described, Limits())
    assert [tuple(row.values()) for row in ran.rows.to_pylist()] == [(200, 100, 300)]


def test_names_of_ours_are_not_shown(running: Executor, aviary: dovetail.Catalog) -> None:
    sql = "WITH x AS (SELECT a FROM pub) SELECT (SELECT max(a) FROM x), (SELECT min(a) FROM pub)"
    for engine in ("duckdb", "sqlite"):
        found = running.run(sql, [aviary["pub"]], engine=engine)
        assert found.tuples() == [(1, 1)]
        assert found.ran.startswith('WITH "x" AS (SELECT a FROM ')
        assert "pub" in found.rows.column_names[1]
    with pytest.raises(QueryError, match="table x has 1 values for 2 columns"):
        running.run("WITH x(a, b) AS (SELECT 1) SELECT * FROM x", [], engine="sqlite")


@pytest.mark.parametrize(
    "sql",
    [
        'SELECT CAST(1 AS DECIMAL("10) , x("))',
        'SELECT 1::DECIMAL("5, 2")',
        "SELECT CAST(1 AS VARCHAR('a)b'))",
        'SELECT CAST(1 AS "foo bar")',
        'SELECT EXTRACT("year FROM x), (y" FROM id) FROM orders',
        "SELECT CAST(1 AS DECIMAL(MAX))",
        'SELECT CAST(id AS ENUM("a")) FROM orders',
        'SELECT INTERVAL 1 "day x" + 1',
    ],
)
def test_nothing_that_was_quoted_reaches_an_engine_without_its_quotes(sql: str) -> None:
    for dialect in ("duckdb", "sqlite"):
        try:
            text = guard(sql, SET, dialect=dialect, engine=dialect).sql
        except GuardError:
            continue
        for raw in ("x(", "5, 2", "foo bar", "year FROM x"):
            assert raw not in text.replace('"day x"', "")


def test_no_module_of_the_current_folder_is_imported(
    tmp_path: Path, corpus: tuple[Path, ...]
) -> None:
    """Neither by the processes of queries nor by those that profile."""
    (tmp_path / "data").mkdir()
    pq.write_table(pa.table({"n": [1]}), tmp_path / "data" / "one.parquet")
    pq.write_table(pa.table({"n": [2]}), tmp_path / "data" / "two.parquet")
    trap = "import pathlib; pathlib.Path(__file__).with_suffix('.ran').touch(); raise SystemExit\n"
    for name in ("duckdb", "pyarrow", "numpy", "json", "sqlglot", "sitecustomize", "dovetail"):
        (tmp_path / f"{name}.py").write_text(trap)
    script = (
        "import sys, dovetail\n"
        "catalog = dovetail.build('data', into='catalog', settings=dovetail.Settings(workers=2))\n"
        "from dovetail.answer.execute import Executor\n"
        "with Executor(catalog.reader, workers=1) as running:\n"
        "    print(running.run('SELECT n FROM one', list(catalog)).tuples())\n"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", script],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert not list(tmp_path.glob("*.ran")), done.stderr
    assert done.stdout.strip() == "[(1,)]", done.stderr


@pytest.mark.parametrize("engine", ["duckdb", "sqlite"])
@pytest.mark.parametrize(
    "expression",
    ["datetime(a)", "datetime()", "date()", "time()", "var_map(1)", "map()", "strftime()", "trim()",
     "DATE '20000-01-01'", "DATE '5000-01-01 (BC)'", "[DATE '20000-01-01']", "INTERVAL 3 DAY",
     "TIMESTAMP '20000-01-01'", "CAST('infinity' AS DATE)", "date_add()", "substr()", "extract()",
     "CAST(a AS )", "json_extract()", "a -> ''", "a -> '$['", "x''", "interval", "date_trunc()"],
)  # fmt: skip
def test_ordinary_sql_gives_rows_or_one_line(
    aviary: dovetail.Catalog, expression: str, engine: str, tmp_path: Path
) -> None:
    """Asked and written as the command does, by processes that stay warm."""
    query = f"SELECT {expression} AS x FROM pub"
    try:
        found = aviary.sql(query, ["pub"], engine=engine)
    except DovetailError as error:
        assert "\n" not in str(error)
        return
    print_json(found.to_dict())
    try:
        give(found, Form(parquet=tmp_path / "rows.parquet"))
    except DovetailError as error:
        assert "\n" not in str(error)


def test_a_parquet_file_is_written_where_its_name_says(
    aviary: dovetail.Catalog, here: Path, tmp_path: Path
) -> None:
    target = tmp_path / "mine.txt"
    target.write_text("mine")
    given = ["sql", "SELECT a FROM pub", "--tables", "pub", "-C", str(aviary.folder)]
    ran = CliRunner().invoke(app, [*given, "--parquet", f"file://{target}"])
    assert isinstance(ran.exception, UsageError)
    assert target.read_text() == "mine"


@pytest.mark.parametrize("seconds", [math.inf, math.nan, -1.0, 0.0, 1e300])
def test_a_limit_is_a_number_of_seconds(
    aviary: dovetail.Catalog, here: Path, seconds: float
) -> None:
    with pytest.raises(UsageError, match="must be more than 0"):
        Limits(seconds=seconds)
    given = ["sql", "SELECT a FROM pub", "--tables", "pub", "-C", str(aviary.folder)]
    ran = CliRunner().invoke(app, [*given, "--timeout", str(seconds)])
    assert isinstance(ran.exception, (UsageError, SystemExit))
    assert ran.exit_code in (1, 2)
    (here / "dovetail.toml").write_text(f"query_seconds = {seconds}\n")
    assert isinstance(CliRunner().invoke(app, given).exception, UsageError)


def test_half_a_character_in_a_reply_is_replaced() -> None:
    reply = json.loads("\"```sql\\nSELECT '\\ud800'\\n```\"")
    assert extract_sql(reply) == "SELECT '?'"
