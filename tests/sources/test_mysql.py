"""MySQL and MariaDB: what is read of each type and kind of table, and what is found to change."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest

import dovetail
from dovetail.domain import TableId
from dovetail.sources.mysql import MysqlSource
from dovetail.sources.resolve import root
from dovetail.testing import check_source
from tests.support import changes
from tests.support.servers import MysqlDatabase, index, mysql, mysql_user, spy_on_queries

pytestmark = pytest.mark.service


@pytest.fixture
def database() -> Iterator[MysqlDatabase]:
    with mysql() as database:
        yield database


class Typed(NamedTuple):
    """A column, two values of it besides a NULL, and the profile it must get."""

    declared: str
    values: tuple[str, str]
    type: str
    kind: str
    nulls: int
    examples: set[str]


MOST = "18446744073709551615"
DIGITS = "123456789012345678901234567890"
TYPES = [
    # Numbers as often as truth values: only the numbers lose nothing.
    Typed("tinyint(1)", ("1", "7"), "TINYINT", "integer", 1, {"1", "7"}),
    Typed("boolean", ("true", "false"), "TINYINT", "integer", 1, {"1", "0"}),
    Typed("tinyint", ("-128", "127"), "TINYINT", "integer", 1, {"-128", "127"}),
    Typed("tinyint unsigned", ("255", "0"), "UTINYINT", "integer", 1, {"255", "0"}),
    Typed("smallint", ("-1", "0"), "SMALLINT", "integer", 1, {"-1", "0"}),
    Typed("mediumint", ("8388607", "0"), "INTEGER", "integer", 1, {"8388607", "0"}),
    Typed("int", ("-2147483648", "0"), "INTEGER", "integer", 1, {"-2147483648", "0"}),
    Typed("int(8) zerofill", ("42", "0"), "UINTEGER", "integer", 1, {"42", "0"}),
    Typed("bigint", ("-9223372036854775808", "0"), "BIGINT", "integer", 1,
          {"-9223372036854775808", "0"}),
    Typed("bigint unsigned", (MOST, "0"), "UBIGINT", "integer", 1, {MOST, "0"}),
    Typed("decimal(10,2)", ("12345678.90", "-0.01"), "DECIMAL(10,2)", "real", 1,
          {"12345678.9", "-0.01"}),
    Typed("decimal(15,0)", ("123456789012345", "-1"), "DECIMAL(15,0)", "real", 1,
          {"123456789012345.0", "-1.0"}),
    Typed("decimal(30,0)", (DIGITS, "9" + DIGITS[1:]), "VARCHAR", "text", 1,
          {DIGITS, "9" + DIGITS[1:]}),
    Typed("decimal(65,5)", ("1.5", "-0.25"), "DOUBLE", "real", 1, {"1.50000", "-0.25000"}),
    Typed("float", ("0.1", "-0.0"), "FLOAT", "real", 1, {"0.1", "0.0"}),
    Typed("double", ("0.1", "1e300"), "DOUBLE", "real", 1, {"0.1", "1e+300"}),
    Typed("char(8)", ("'ab'", "'a '"), "VARCHAR", "text", 1, {"ab", "a"}),
    Typed("varchar(20)", ("'héllo 😀'", "''"), "VARCHAR", "text", 2, {"héllo 😀"}),
    Typed("varchar(20) character set latin1", ("'é'", "'e'"), "VARCHAR", "text", 1, {"é", "e"}),
    Typed("varchar(20) collate utf8mb4_bin", ("'B'", "'b'"), "VARCHAR", "text", 1, {"B", "b"}),
    Typed("text", ("'two\nlines'", "'007'"), "VARCHAR", "text", 1, {"two\nlines", "007"}),
    Typed("longtext", ("'x'", "NULL"), "VARCHAR", "text", 2, {"x"}),
    Typed("binary(3)", ("0x01", "0x00"), "BLOB", "binary", 1, {"0x010000", "0x000000"}),
    Typed("varbinary(3)", ("0x01", "''"), "BLOB", "binary", 1, {"0x01", "0x"}),
    Typed("blob", ("0xdeadbeef", "''"), "BLOB", "binary", 1, {"0xdeadbeef", "0x"}),
    # Days that are none, which some modes let in, are missing.
    Typed("date", ("'2024-02-29'", "'0000-00-00'"), "DATE", "date", 2, {"2024-02-29"}),
    Typed("date", ("'2024-02-29'", "'2024-02-31'"), "DATE", "date", 2, {"2024-02-29"}),
    Typed("datetime", ("'2024-02-29 12:34:56'", "'2024-00-01'"), "TIMESTAMP", "timestamp", 2,
          {"2024-02-29 12:34:56"}),
    Typed("datetime(6)", ("'2024-02-29 12:34:56.000789'", "'0000-00-00'"), "TIMESTAMP",
          "timestamp", 2, {"2024-02-29 12:34:56.000789"}),
    # An instant, told in UTC whatever the time zone of the session that wrote it.
    Typed("timestamp null", ("'2024-02-29 12:00:00'", "'0000-00-00'"), "TIMESTAMP", "timestamp",
          2, {"2024-02-29 10:00:00"}),
    Typed("time", ("'12:34:56'", "'-838:59:59'"), "VARCHAR", "text", 1,
          {"12:34:56", "-838:59:59"}),
    Typed("year", ("2024", "0"), "INTEGER", "integer", 1, {"2024", "0"}),
    Typed("enum('a','it''s')", ("'it''s'", "'a'"), "VARCHAR", "text", 1, {"it's", "a"}),
    Typed("set('x','y','z')", ("'x,z'", "''"), "VARCHAR", "text", 2, {"x,z"}),
    Typed("json", ("""'{"a":  1}'""", "'[]'"), "VARCHAR", "text", 1, {'{"a":  1}', "[]"}),
    Typed("bit(1)", ("b'1'", "b'0'"), "BOOLEAN", "boolean", 1, {"true", "false"}),
    Typed("bit(8)", ("b'10101010'", "b'0'"), "UINTEGER", "integer", 1, {"170", "0"}),
    Typed("bit(64)", ("~0", "1"), "UBIGINT", "integer", 1, {MOST, "1"}),
    Typed("point", ("ST_GeomFromText('POINT(1 2)')", "NULL"), "BLOB", "binary", 2,
          {"0x000000000101000000000000000000f03f0000000000000040"}),
]  # fmt: skip
MARIADB_TYPES = [
    Typed("uuid", ("'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'", "NULL"), "VARCHAR", "text", 2,
          {"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"}),
    Typed("inet6", ("'::1'", "'::ffff:1.2.3.4'"), "VARCHAR", "text", 1, {"::1", "::ffff:1.2.3.4"}),
]  # fmt: skip


@pytest.fixture(scope="module")
def typed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dovetail.Table]:
    with mysql() as database:
        types = TYPES + (MARIADB_TYPES if _is_mariadb(database) else [])
        rows = [[column.values[row] for column in types] for row in range(2)]
        database.run(
            f"CREATE TABLE t ({', '.join(f'c{n} {c.declared}' for n, c in enumerate(types))})",
            "SET sql_mode = 'ALLOW_INVALID_DATES', time_zone = '+02:00'",
            *(f"INSERT INTO t VALUES ({', '.join(row)})" for row in rows),
            "INSERT INTO t () VALUES ()",
        )
        run = index(database.url, into=tmp_path_factory.mktemp("typed") / "catalog")
        assert run.report.skipped == ()
        yield run.catalog["t"]


@pytest.mark.parametrize(
    ("at", "expected"),
    list(enumerate(TYPES + MARIADB_TYPES)),
    ids=[f"{c.declared}-{n}" for n, c in enumerate(TYPES + MARIADB_TYPES)],
)
def test_every_type_is_read_as_it_is_meant(typed: dovetail.Table, at: int, expected: Typed) -> None:
    if at >= len(typed.columns):
        pytest.skip("a type that only MariaDB has")
    column = typed.columns[at]
    profile = column.profile
    assert typed.rows == 3
    assert (column.type, profile.kind) == (expected.type, expected.kind)
    assert (profile.nulls, profile.distinct) == (expected.nulls, len(expected.examples))
    assert set(profile.examples) == expected.examples


KINDS = [
    "CREATE TABLE ordinary (id int PRIMARY KEY, x text)",
    "INSERT INTO ordinary VALUES (1, 'a'), (2, 'b')",
    "CREATE TABLE empty (a int, b text)",
    "CREATE TABLE refers (id int REFERENCES ordinary (id))",
    "INSERT INTO refers VALUES (2)",
    "CREATE VIEW a_view AS SELECT x FROM ordinary",
    "CREATE TABLE whole (id int) PARTITION BY RANGE (id) "
    "(PARTITION p0 VALUES LESS THAN (10), PARTITION p1 VALUES LESS THAN (20))",
    "INSERT INTO whole VALUES (1), (11)",
    "CREATE TABLE in_memory (a int) ENGINE = MEMORY",
    "INSERT INTO in_memory VALUES (3)",
    "CREATE TABLE my_isam (a int) ENGINE = MyISAM",
    "INSERT INTO my_isam VALUES (3)",
    "CREATE TABLE calculated (a int, b int AS (a * 2) VIRTUAL)",
    "INSERT INTO calculated (a) VALUES (21)",
]


def test_every_kind_of_table(database: MysqlDatabase, tmp_path: Path) -> None:
    database.run(*KINDS)
    expected = {
        "ordinary": (2, 2),
        "empty": (0, 2),
        "refers": (1, 1),
        "whole": (2, 1),
        "in_memory": (1, 1),
        "my_isam": (1, 1),
        "calculated": (1, 2),
    }
    if _is_mariadb(database):
        database.run(
            "CREATE TABLE versioned (a int) WITH SYSTEM VERSIONING",
            "INSERT INTO versioned VALUES (1)",
            "UPDATE versioned SET a = 2",
            "CREATE SEQUENCE a_sequence",
        )
        expected["versioned"] = (1, 1)
    run = index(database.url, into=tmp_path / "c")
    assert run.report.skipped == ()
    found = {table.name: (table.rows, len(table.columns)) for table in run.catalog}
    assert found == expected
    assert run.catalog["calculated"].sample == (("21", "42"),)
    assert run.catalog["empty"].columns[0].profile.kind == "empty"
    assert {table.id.source for table in run.catalog} == {database.label}

    with_views = index(database.url, into=tmp_path / "c", views=True)
    assert with_views.report.added == (TableId(database.label, "a_view"),)
    assert with_views.catalog["a_view"].rows == 2
    without = index(database.url, into=tmp_path / "c")
    assert without.report.dropped == (TableId(database.label, "a_view"),)


def test_odd_names(database: MysqlDatabase, tmp_path: Path) -> None:
    columns = ["sel ect", "back`tick", 'qu"ote', "Ünïcode", "order", "it's", "a.b", "back\\slash"]
    quoted = ", ".join("`" + name.replace("`", "``") + "` int" for name in columns)
    names = ["odd `name` with 'all' \"of\" it", "a.b", "select", "x;--", 'a": b', "back\\slash"]
    if database.ask("SELECT @@lower_case_table_names") == ((0,),):
        names += ["Case", "case"]
    for name in names:
        place = "`" + name.replace("`", "``") + "`"
        database.run(
            f"CREATE TABLE {place} ({quoted})",
            f"INSERT INTO {place} VALUES ({', '.join(map(str, range(len(columns))))})",
        )
    run = index(database.url, into=tmp_path / "c")
    assert run.report.skipped == ()
    assert {table.name for table in run.catalog} == set(names)
    for table in run.catalog:
        assert [column.name for column in table.columns] == columns
        assert table.sample == (tuple(map(str, range(len(columns)))),)
    assert index(into=tmp_path / "c").reads == 0


def test_it_is_a_source_like_any_other(database: MysqlDatabase, tmp_path: Path) -> None:
    database.run(*KINDS)
    spec = replace(root(database.url, tmp_path), views=True)
    check_source(lambda: MysqlSource(spec), untold=["a_view"])


def test_a_view_that_fails_costs_only_itself(database: MysqlDatabase, tmp_path: Path) -> None:
    database.run(
        "CREATE TABLE base (x int)",
        "INSERT INTO base VALUES (1)",
        "CREATE TABLE gone (x int)",
        "CREATE VIEW broken AS SELECT x FROM gone",
        "DROP TABLE gone",
        "CREATE VIEW doubled AS SELECT 2 * x AS y FROM base",
    )
    run = index(database.url, into=tmp_path / "c", views=True)
    assert {table.name: table.rows for table in run.catalog} == {"base": 1, "doubled": 1}
    assert list(run.skipped) == ["broken"]
    assert run.skipped["broken"].startswith(f"View '{database.name}.broken' references invalid ")


def test_a_table_larger_than_a_batch(database: MysqlDatabase, tmp_path: Path) -> None:
    digits = "(SELECT 0 d UNION SELECT 1 UNION SELECT 2 UNION SELECT 3 UNION SELECT 4)"
    tables = ", ".join(f"{digits} AS t{n}" for n in range(7))
    number = " + ".join(f"t{n}.d * {5**n}" for n in range(7))
    database.run(f"CREATE TABLE big AS SELECT {number} AS id, t0.d AS k FROM {tables}")
    table = index(database.url, into=tmp_path / "c").catalog["big"]
    assert table.rows == 5**7
    assert table.column("id").profile.unique
    assert table.column("id").profile.maximum == str(5**7 - 1)
    assert table.column("k").profile.distinct == 5


CHANGES = [
    *changes.CHANGES,
    ("another name", ["ALTER TABLE b CHANGE COLUMN v vv varchar(10)"], {"b"}),
    ("another type", ["ALTER TABLE b MODIFY COLUMN id bigint"], {"b"}),
    ("a partition's rows", ["INSERT INTO whole VALUES (3)"], {"whole"}),
    ("a partition emptied", ["ALTER TABLE whole TRUNCATE PARTITION p1"], {"whole"}),
    ("what a key drags along", ["UPDATE parent SET id = 7 WHERE id = 1"], {"parent", "child"}),
    ("two tables swapped", [
        "RENAME TABLE twin_1 TO twin, twin_2 TO twin_1, twin TO twin_2"
    ], {"twin_1", "twin_2"}),
    ("nothing, but rolled back", ["BEGIN", "DELETE FROM c", "ROLLBACK"], set()),
    ("analyze and optimize", ["ANALYZE TABLE a, b, c", "OPTIMIZE TABLE a, b, c"], set()),
]  # fmt: skip


def test_only_what_changed_is_read(database: MysqlDatabase, tmp_path: Path) -> None:
    names = ("a", "b", "c", "twin_1", "twin_2")
    database.run(
        *(f"CREATE TABLE {name} (id int, v varchar(10))" for name in names),
        *(f"INSERT INTO {name} VALUES (1, 'one'), (2, 'two')" for name in ("a", "b", "c")),
        "INSERT INTO twin_1 VALUES (1, 'one')",
        "INSERT INTO twin_2 VALUES (2, 'two')",
        "CREATE TABLE whole (id int) PARTITION BY RANGE (id) "
        "(PARTITION p0 VALUES LESS THAN (10), PARTITION p1 VALUES LESS THAN (20))",
        "INSERT INTO whole VALUES (1), (11)",
        "CREATE TABLE parent (id int PRIMARY KEY)",
        "CREATE TABLE child (id int, p int, "
        "FOREIGN KEY (p) REFERENCES parent (id) ON UPDATE CASCADE)",
        "INSERT INTO parent VALUES (1), (2)",
        "INSERT INTO child VALUES (1, 1), (2, 2)",
    )
    catalog = tmp_path / "c"
    index(database.url, into=catalog)
    for what, statements, expected in CHANGES:
        database.run(*statements)
        run = index(into=catalog)
        assert run.names == expected, what
        assert run.reads == len(expected), what
        assert {table.name for table in run.report.changed} == expected, what
    assert run.catalog["a"].column("w").profile.examples == ("6",)


def test_the_time_of_change_vouches_once_it_is_settled(
    database: MysqlDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not _is_mariadb(database):
        pytest.skip("MySQL's time of change is not up to date, so every table is checked")
    database.run(
        *(f"CREATE TABLE {name} (id int)" for name in ("a", "b", "c", "d")),
        *(f"INSERT INTO {name} VALUES (1), (2)" for name in ("a", "b", "c", "d")),
        "CREATE TABLE whole (part int) PARTITION BY RANGE (part) "
        "(PARTITION p0 VALUES LESS THAN (10), PARTITION p1 VALUES LESS THAN (20))",
        "CREATE TABLE spare (part int)",
        "INSERT INTO whole VALUES (1), (11)",
        "INSERT INTO spare VALUES (2)",
    )
    catalog = tmp_path / "c"
    time.sleep(2.2)
    index(database.url, into=catalog)
    asked = spy_on_queries(monkeypatch)

    def checked() -> set[str]:
        compared = (sql for sql in asked if sql.startswith("CHECKSUM"))
        found = {name for sql in compared for name in re.findall("`(.+?)`", sql)}
        asked.clear()
        return found

    assert index(into=catalog).reads == 0
    assert checked() == {"whole", "spare"}

    database.run("UPDATE a SET id = 3 WHERE id = 2")
    database.run("TRUNCATE b")
    database.run("RENAME TABLE c TO x, d TO c, x TO d")
    database.run("ALTER TABLE whole TRUNCATE PARTITION p1")
    database.run("ALTER TABLE whole EXCHANGE PARTITION p0 WITH TABLE spare")
    run = index(into=catalog)
    assert {table.name for table in run.report.changed} == {"a", "b", "whole", "spare"}
    assert run.report.unchanged == 2  # c and d changed names, and held the same
    assert checked() == {"a", "b", "c", "d", "whole", "spare"}
    assert run.catalog["b"].rows == 0
    assert run.catalog["spare"].sample == (("1",),)


def test_no_permission_on_one_table(database: MysqlDatabase, tmp_path: Path) -> None:
    for name in ("open", "shut", "unseen"):
        database.run(f"CREATE TABLE {name} AS SELECT 1 AS id")
    with mysql_user(database, password="pw") as user:
        # What a user has no right to at all, the server does not even list.
        database.run(
            f"GRANT SELECT ON {database.name}.open TO '{user}'@'%'",
            f"GRANT INSERT ON {database.name}.shut TO '{user}'@'%'",
        )
        catalog = tmp_path / "c"
        index(database.url, into=catalog)
        database.run("INSERT INTO open VALUES (2)", "INSERT INTO shut VALUES (2)")
        run = index(database.url_for(user, "pw"), into=catalog)
        assert run.report.retained == (TableId(database.label, "shut"),)
        assert run.report.dropped == (TableId(database.label, "unseen"),)
        assert run.catalog["shut"].rows == 1
        assert run.catalog["open"].rows == 2
        assert list(run.skipped) == ["shut"]
        reason = run.skipped["shut"]
        assert reason.startswith("SELECT command denied to user '***'@'")
        assert reason.endswith("; grant SELECT on it to the login, or leave it out with --exclude")


def _is_mariadb(database: MysqlDatabase) -> bool:
    return "MariaDB" in database.ask("SELECT VERSION()")[0][0]
