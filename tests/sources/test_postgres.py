"""PostgreSQL: what is read of each kind of table, and what is found to change."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from dovetail.domain import TableId
from dovetail.sources.postgres import PostgresSource
from dovetail.sources.resolve import root
from dovetail.testing import check_source
from tests.support import changes
from tests.support.servers import PostgresDatabase, index, postgres, postgres_role, spy_on_queries

pytestmark = pytest.mark.service


@pytest.fixture
def database() -> Iterator[PostgresDatabase]:
    with postgres() as database:
        yield database


KINDS = [
    "CREATE TABLE ordinary (id int PRIMARY KEY, x text)",
    "INSERT INTO ordinary VALUES (1, 'a'), (2, 'b')",
    "CREATE TABLE empty (a int, b text)",
    "CREATE TABLE no_columns ()",
    "CREATE TABLE refers (id int REFERENCES ordinary (id))",
    "INSERT INTO refers VALUES (2)",
    "CREATE VIEW a_view AS SELECT x FROM ordinary",
    "CREATE MATERIALIZED VIEW materialized AS SELECT x FROM ordinary",
    "CREATE TABLE whole (id int, y text) PARTITION BY RANGE (id)",
    "CREATE TABLE part_1 PARTITION OF whole FOR VALUES FROM (0) TO (10) PARTITION BY LIST (id)",
    "CREATE TABLE part_1_1 PARTITION OF part_1 FOR VALUES IN (1)",
    "CREATE TABLE part_2 PARTITION OF whole FOR VALUES FROM (10) TO (20)",
    "INSERT INTO whole VALUES (1, 'p'), (11, 'q')",
    "CREATE TABLE parent (id int)",
    "CREATE TABLE child (extra text) INHERITS (parent)",
    "INSERT INTO parent VALUES (1)",
    "INSERT INTO child VALUES (2, 'x')",
    "CREATE TABLE generated (a int, b int GENERATED ALWAYS AS (a * 2) STORED)",
    "INSERT INTO generated VALUES (21)",
    "CREATE TABLE shrunk (a int, b int, c int)",
    "INSERT INTO shrunk VALUES (1, 2, 3)",
    "ALTER TABLE shrunk DROP COLUMN b",
    "CREATE UNLOGGED TABLE unlogged (a int)",
    "CREATE SEQUENCE a_sequence",
    "CREATE SCHEMA sales",
    "CREATE TABLE sales.orders (id int)",
    "INSERT INTO sales.orders VALUES (7)",
]


def test_every_kind_of_table(database: PostgresDatabase, tmp_path: Path) -> None:
    database.run(*KINDS)
    run = index(database.url, into=tmp_path / "c")
    assert run.report.skipped == ()
    assert {table.name: (table.rows, len(table.columns)) for table in run.catalog} == {
        "ordinary": (2, 2),
        "empty": (0, 2),
        "refers": (1, 1),
        "materialized": (2, 1),
        "whole": (2, 2),
        "parent": (2, 1),
        "child": (1, 2),
        "generated": (1, 2),
        "shrunk": (1, 2),
        "unlogged": (0, 1),
        "sales.orders": (1, 1),
    }
    assert run.catalog["shrunk"].sample == (("1", "3"),)
    assert run.catalog["generated"].sample == (("21", "42"),)
    assert run.catalog["empty"].columns[0].profile.kind == "empty"
    assert [table.id.source for table in run.catalog] == [database.label] * 11

    with_views = index(database.url, into=tmp_path / "c", views=True)
    assert with_views.report.added == (TableId(database.label, "a_view"),)
    assert with_views.catalog["a_view"].rows == 2
    without = index(database.url, into=tmp_path / "c")
    assert without.report.dropped == (TableId(database.label, "a_view"),)


def test_odd_names(database: PostgresDatabase, tmp_path: Path) -> None:
    columns = ["sel ect", 'qu"ote', "Ünïcode", "order", "it's", "a.b", "A", "a", "back`tick", "%s"]
    quoted = ", ".join('"' + name.replace('"', '""') + '" int' for name in columns)
    names = ["odd \"name\" with 'all'", "Case", "case", "a.b", "select", "x;--", 'a": ', "c_1 "]
    database.run(
        *(
            statement
            for name in names
            for statement in (
                'CREATE TABLE "{}" ({})'.format(name.replace('"', '""'), quoted),
                'INSERT INTO "{}" VALUES ({})'.format(
                    name.replace('"', '""'), ", ".join(map(str, range(len(columns))))
                ),
            )
        ),
        'CREATE SCHEMA "Dot.ted"',
        'CREATE TABLE "Dot.ted"."T x" (a int)',
        # Both would be called a.b.
        "CREATE SCHEMA a",
        "CREATE TABLE a.b (z int)",
    )
    run = index(database.url, into=tmp_path / "c")
    assert run.report.skipped == ()
    expected = {name for name in names if name != "a.b"}
    expected |= {"Dot.ted.T x", '"public"."a.b"', '"a"."b"'}
    assert {table.name for table in run.catalog} == expected
    odd = run.catalog[TableId(database.label, names[0])]
    assert [column.name for column in odd.columns] == columns
    assert odd.sample == (tuple(map(str, range(len(columns)))),)
    assert [column.name for column in run.catalog['"a"."b"'].columns] == ["z"]
    assert run.catalog[TableId(database.label, "Case")].rows == 1
    again = index(database.url, into=tmp_path / "c")
    assert (again.reads, again.report.unchanged) == (0, 10)


def test_it_is_a_source_like_any_other(database: PostgresDatabase, tmp_path: Path) -> None:
    database.run(*KINDS)
    spec = replace(root(database.url, tmp_path), views=True)
    check_source(lambda: PostgresSource(spec), untold=["a_view"])


def test_bytes_that_are_no_text_and_queries_that_fail(tmp_path: Path) -> None:
    """A view that fails, and one that takes the connection down, cost only themselves."""
    options = "ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0"
    with postgres(options=options) as database:
        database.run(
            "CREATE TABLE before (x int)",
            "CREATE TABLE bytes (t text)",
            r"INSERT INTO bytes VALUES (convert_from('\xff41', 'SQL_ASCII'))",
            "CREATE VIEW deadly AS SELECT pg_terminate_backend(pg_backend_pid())",
            "CREATE VIEW failing AS SELECT 1 / (length(t) - 2) FROM bytes",
            "CREATE TABLE last (x int)",
            "INSERT INTO last VALUES (1)",
        )
        run = index(database.url, into=tmp_path / "c", views=True)
        assert {table.name: table.rows for table in run.catalog} == {
            "before": 0,
            "bytes": 1,
            "last": 1,
        }
        assert run.catalog["bytes"].sample == ((r"\xffA",),)
        assert run.skipped == {
            "deadly": "is a view that calls pg_terminate_backend, which may do more than read; "
            "leave it out with --exclude",
            "failing": "division by zero",
        }


def test_a_table_larger_than_a_batch(database: PostgresDatabase, tmp_path: Path) -> None:
    database.run("CREATE TABLE big AS SELECT g AS id, g % 7 AS k FROM generate_series(1, 300000) g")
    table = index(database.url, into=tmp_path / "c").catalog["big"]
    assert table.rows == 300_000
    assert table.column("id").profile.unique
    assert table.column("id").profile.maximum == "300000"
    assert table.column("k").profile.distinct == 7


CHANGES = [
    *changes.CHANGES,
    ("another name", ["ALTER TABLE b RENAME COLUMN v TO vv"], {"b"}),
    ("another type", ["ALTER TABLE b ALTER COLUMN id TYPE text"], {"b"}),
    ("more digits", ["ALTER TABLE priced ALTER COLUMN p TYPE numeric(12,2)"], {"priced"}),
    ("a name of an enum", ["ALTER TYPE mood RENAME VALUE 'ok' TO 'fine'"], {"moody"}),
    ("a partition's rows", ["INSERT INTO whole_1 VALUES (3)"], {"whole"}),
    ("a partition less", ["ALTER TABLE whole DETACH PARTITION whole_2"], {"whole", "whole_2"}),
    ("an heir's rows", ["INSERT INTO heir VALUES (2)"], {"ancestor", "heir"}),
    ("what a view saw", ["UPDATE a SET v = 'anew' WHERE id = 1"], {"a"}),
    ("a refreshed view", ["REFRESH MATERIALIZED VIEW seen"], {"seen"}),
    ("two tables swapped", [
        "ALTER TABLE twin_1 RENAME TO twin",
        "ALTER TABLE twin_2 RENAME TO twin_1",
        "ALTER TABLE twin RENAME TO twin_2",
    ], {"twin_1", "twin_2"}),
    ("nothing, but rolled back", ["BEGIN", "DELETE FROM c", "ROLLBACK"], set()),
    ("analyze and vacuum", ["ANALYZE", "VACUUM", "VACUUM FREEZE a", "VACUUM FULL c"], set()),
    ("counters reset", ["SELECT pg_stat_reset()"], set()),
    ("counters reset, and a change", [
        "SELECT pg_stat_reset()", "UPDATE c SET v = 'reset' WHERE id = 5",
    ], {"c"}),
]  # fmt: skip


def test_only_what_changed_is_read(database: PostgresDatabase, tmp_path: Path) -> None:
    database.run(
        *(f"CREATE TABLE {name} (id int, v text)" for name in ("a", "b", "c", "twin_1", "twin_2")),
        "INSERT INTO a VALUES (1, 'one'), (2, 'two')",
        "INSERT INTO b VALUES (1, 'one'), (2, 'two')",
        "INSERT INTO c VALUES (1, 'one'), (2, 'two')",
        "INSERT INTO twin_1 VALUES (1, 'one'); INSERT INTO twin_2 VALUES (2, 'two')",
        "CREATE TABLE priced (p numeric(10,2))",
        "INSERT INTO priced VALUES (1.5)",
        "CREATE TYPE mood AS ENUM ('sad', 'ok')",
        "CREATE TABLE moody (m mood)",
        "INSERT INTO moody VALUES ('ok')",
        "CREATE TABLE whole (id int) PARTITION BY RANGE (id)",
        "CREATE TABLE whole_1 PARTITION OF whole FOR VALUES FROM (0) TO (10)",
        "CREATE TABLE whole_2 PARTITION OF whole FOR VALUES FROM (10) TO (20)",
        "INSERT INTO whole VALUES (1), (11)",
        "CREATE TABLE ancestor (id int)",
        "CREATE TABLE heir () INHERITS (ancestor)",
        "INSERT INTO ancestor VALUES (1)",
        "CREATE MATERIALIZED VIEW seen AS SELECT * FROM a",
    )
    catalog = tmp_path / "c"
    index(database.url, into=catalog)
    for what, statements, expected in CHANGES:
        database.run(*statements)
        run = index(into=catalog)
        assert run.names == expected, what
        assert run.reads == len(expected), what
        found = run.report.changed + run.report.added
        assert {table.name for table in found} == expected, what
    assert run.catalog["moody"].sample == (("fine",),)
    assert run.catalog["a"].column("w").profile.examples == ("6",)


def test_counters_alone_vouch_for_a_quiet_database(
    database: PostgresDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database.run("CREATE TABLE t AS SELECT g AS id FROM generate_series(1, 100) g")
    catalog = tmp_path / "c"
    index(database.url, into=catalog)
    database.quieten()
    asked = spy_on_queries(monkeypatch)
    assert index(into=catalog).reads == 0
    assert not [sql for sql in asked if "xmin" in sql]

    # A session that was busy a moment ago may have changes that are not counted yet.
    with database.connect() as other:
        other.execute("SELECT 1")
        assert index(into=catalog).reads == 0
        assert len([sql for sql in asked if "xmin" in sql]) == 1


def test_a_change_that_is_not_counted_yet(database: PostgresDatabase, tmp_path: Path) -> None:
    database.run("CREATE TABLE t (id int, v int)", "INSERT INTO t VALUES (1, 1), (2, 2)")
    catalog = tmp_path / "c"
    counted = "SELECT n_tup_upd FROM pg_stat_user_tables"
    with database.connect() as writer, database.connect() as observer:
        for attempt in range(20):
            index(database.url, into=catalog)
            # The first of these is counted at once, the second only after a second's pause.
            writer.execute("UPDATE t SET v = v + 1")
            before = observer.execute(counted).fetchone()
            writer.execute("UPDATE t SET v = v + 1 WHERE id = 1")
            hidden = observer.execute(counted).fetchone() == before
            run = index(into=catalog)
            assert run.report.changed == (TableId(database.label, "t"),)
            minimum = run.catalog["t"].column("v").profile.minimum
            assert minimum == str(min(1 + 2 * (attempt + 1), 2 + attempt + 1))
            if hidden:
                break
            time.sleep(0.3)
        assert hidden, "the server counted every change at once, so nothing was tried"
        # What is counted late is no change.
        time.sleep(1.1)
        writer.execute("SELECT 1")
        assert index(into=catalog).reads == 0


def test_no_permission_on_one_table(database: PostgresDatabase, tmp_path: Path) -> None:
    database.run(
        *(f"CREATE TABLE {name} AS SELECT 1 AS id" for name in ("open", "shut")),
        "CREATE SCHEMA hidden",
        "CREATE TABLE hidden.away AS SELECT 1 AS id",
    )
    with postgres_role(database, password="pw") as role:
        database.run(f'GRANT SELECT ON open, shut TO "{role}"')
        url = database.url_for(role, "pw")
        catalog = tmp_path / "c"
        first = index(url, into=catalog, exclude=("hidden.*",))
        assert [table.name for table in first.catalog] == ["open", "shut"]
        database.run(
            f'REVOKE SELECT ON shut FROM "{role}"',
            "INSERT INTO open VALUES (2)",
            "INSERT INTO shut VALUES (2)",
        )
        run = index(url, into=catalog)
        remedy = "grant SELECT on it to the login, or leave it out with --exclude"
        assert run.skipped == {
            "shut": f"permission denied for table shut; {remedy}",
            "hidden.away": f"permission denied for schema hidden; {remedy}",
        }
        assert run.report.retained == (TableId(database.label, "shut"),)
        assert run.catalog["shut"].rows == 1
        assert run.catalog["open"].rows == 2
