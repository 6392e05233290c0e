"""SQLite tables that share a transaction have the types and values that each has by itself."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dovetail.errors import DovetailError, RescanError
from dovetail.ports import Listing, ScannedColumn, SourceSpec
from dovetail.sources import duck
from dovetail.sources.database_files import SqliteSource
from tests.support.files import put_sqlite

DECLARED = [
    "", "INTEGER", "int", "BIGINT UNSIGNED", "BOOLEAN", "REAL", "DOUBLE PRECISION", "TEXT",
    "VARCHAR(20)", "BLOB", "DATE", "DATETIME", "TIMESTAMP", "time", "NUMERIC", "DECIMAL(10, 2)",
    "ANY", "JSON", '"my type"',
]  # fmt: skip
VALUES = st.one_of(
    st.none(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False),
    st.text(max_size=12),
    st.binary(max_size=8),
    st.sampled_from(["", "1", "1.0", "2024-02-29", "2024-02-29 10:00:00", "24-1-2", "nul\0nul"]),
    st.sampled_from([0.1, 1e15, 1e16, -0.0, 1e300, 123456789.123456789, 5e-324]),
)
NAMES = st.text(
    st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=8
) | st.sampled_from(['"', 'a"b', "it's", "select", "rowid", "[x]", "a b", "é"])
Outcome = tuple[tuple[ScannedColumn, ...], list[Any]] | str


def scanned(source: SqliteSource, table: Listing) -> Outcome:
    """Columns and values of a table, or why there are none."""
    for _ in range(4):
        try:
            scan = source.scan(table)
            batches = [batch for batch in scan.batches if batch.num_rows]
        except RescanError:
            continue
        except DovetailError as error:
            return str(error)
        columns = [
            pa.chunked_array([batch.column(at) for batch in batches])
            for at in range(len(scan.columns) if batches else 0)
        ]
        raw = [c.cast(pa.large_binary()) if c.type == pa.large_string() else c for c in columns]
        types = [column.type for column in columns]
        return scan.columns, [types, [repr(column.to_pylist()) for column in raw]]
    return "read over and over"


def both_ways(file: Path) -> list[tuple[Outcome, Outcome]]:
    """Every table as it is read with others, and as it is read by itself."""
    spec = SourceSpec("s", "sqlite", str(file), "s")
    together, alone = SqliteSource(spec), SqliteSource(spec)
    with closing(together), closing(alone):
        tables = together.tables()
        together.expect(tables, {}, rows=True)
        return [(scanned(together, table), scanned(alone, table)) for table in tables]


@st.composite
def tables(draw: st.DrawFn) -> tuple[str, str, list[tuple[Any, ...]]]:
    """A table's name, the rest of its definition, and its rows."""
    names = draw(st.lists(NAMES, min_size=1, max_size=4, unique_by=str.casefold))
    columns = [f"{quoted(name)} {draw(st.sampled_from(DECLARED))}" for name in names]
    rows = draw(st.lists(st.tuples(*[VALUES] * len(names)), max_size=5))
    shape = draw(st.sampled_from(["", "", "", "generated", "undeclared", "key", "without rowid"]))
    if shape == "generated":
        columns.append(f"made TEXT AS ({quoted(names[0])} || 'x')")
    elif shape == "undeclared":
        columns.append(f"made AS ({quoted(names[0])}) STORED")
    ending = ""
    if shape in ("key", "without rowid"):
        columns[0] += " PRIMARY KEY"
        ending = shape if shape != "key" else ""
    return draw(NAMES), f"({', '.join(columns)}) {ending}", rows


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def fill(connection: sqlite3.Connection, name: str, rest: str, rows: list[tuple[Any, ...]]) -> None:
    """Create a table, with what rows it takes."""
    try:
        connection.execute(f"CREATE TABLE {quoted(name)} {rest}")
    except sqlite3.Error:  # two names that are one to SQLite
        return
    for row in rows:
        marks = ", ".join("?" * len(row))
        columns = [
            quoted(found[0])
            for found in connection.execute(
                "SELECT name FROM pragma_table_xinfo(?) WHERE hidden = 0", (name,)
            )
        ]
        with suppress(sqlite3.IntegrityError):
            connection.execute(
                f"INSERT INTO {quoted(name)} ({', '.join(columns)}) VALUES ({marks})", row
            )


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(tables(), min_size=1, max_size=4), st.sampled_from(["DELETE", "WAL"]))
def test_both_ways_agree(
    tmp_path_factory: pytest.TempPathFactory,
    found: list[tuple[str, str, list[tuple[Any, ...]]]],
    journal: str,
) -> None:
    file = tmp_path_factory.mktemp("odd") / "odd.db"
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute(f"PRAGMA journal_mode = {journal}")
        connection.execute("CREATE TABLE first (a INTEGER)")
        for table in found:
            fill(connection, *table)
    before = file.read_bytes()
    for together, alone in both_ways(file):
        assert together == alone
    assert [path.name for path in file.parent.iterdir()] == ["odd.db"]
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    "statements",
    [
        ["CREATE TABLE t (a TEXT)", "INSERT INTO t VALUES (CAST(x'ff41' AS TEXT)), ('é')"],
        ["CREATE TABLE t (a INTEGER)", "INSERT INTO t VALUES (CAST(x'ff41' AS TEXT)), (7)"],
        ["CREATE TABLE t (a INTEGER)", "INSERT INTO t VALUES (x'ff0041'), (7), (0.1)"],
        ["CREATE TABLE t (a ANY, b INT) STRICT", "INSERT INTO t VALUES ('1', 1), (0.5, 2)"],
        ["CREATE TABLE t (a DATE)", "INSERT INTO t VALUES (1), ('2024-02-30'), ('x')"],
        ["CREATE TABLE t (a DATE)", "INSERT INTO t VALUES (x'00')"],
        ["CREATE TABLE t (a BLOB)", "INSERT INTO t VALUES (x'00'), ('x'), (1), (1.5), (NULL)"],
        ["CREATE TABLE t (a, b)", "CREATE INDEX i ON t (b, a)", "INSERT INTO t VALUES (1,2),(3,1)"],
        ["CREATE TABLE t (a INT, b INT)", "CREATE INDEX i ON t (b, a)",
         "INSERT INTO t VALUES (1, 2), (3, 1)", "DELETE FROM t WHERE a = 1",
         "INSERT INTO t (rowid, a, b) VALUES (-5, 8, 9)"],
        ["PRAGMA encoding = 'UTF-16'", "CREATE TABLE t (a TEXT, b REAL)",
         "INSERT INTO t VALUES ('é', 1), (x'00', 2)"],
        ["CREATE VIRTUAL TABLE t USING fts5(a)", "INSERT INTO t VALUES ('some words')"],
        ["CREATE TABLE t (rowid TEXT, a INT)", "INSERT INTO t VALUES ('b', 1), ('a', 2)"],
    ],
)  # fmt: skip
def test_odd_tables_agree(statements: list[str], tmp_path: Path) -> None:
    outcomes = both_ways(put_sqlite(tmp_path / "odd.db", *statements))
    assert outcomes
    for together, alone in outcomes:
        assert together == alone


def test_many_tables_are_read_in_few_transactions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = put_sqlite(
        tmp_path / "s.db",
        *(f"CREATE TABLE t{n} (a INTEGER, b REAL, c TEXT)" for n in range(100)),
        *(f"INSERT INTO t{n} VALUES ({n}, 1, 'x')" for n in range(100)),
    )
    statements: list[str] = []
    run = duck.run

    def counting(sql: str, *rest: Any) -> Any:
        statements.append(sql)
        return run(sql, *rest)

    monkeypatch.setattr(duck, "run", counting)
    source = SqliteSource(SourceSpec("s", "sqlite", str(file), "s"))
    with closing(source):
        tables = source.tables()
        source.expect(tables, {}, rows=True)
        for table in tables:
            assert sum(batch.num_rows for batch in source.scan(table).batches) == 1
        assert statements.count("BEGIN") == 2
        write_elsewhere(file)  # which no transaction keeps from it any more
        assert sum(batch.num_rows for batch in source.scan(tables[0]).batches) == 2


def write_elsewhere(file: Path) -> None:
    code = (
        "import sqlite3, sys; connection = sqlite3.connect(sys.argv[1], timeout=0);"
        "connection.execute(\"INSERT INTO t0 VALUES (0, 0, '')\"); connection.commit()"
    )
    subprocess.run([sys.executable, "-c", code, str(file)], check=True)
