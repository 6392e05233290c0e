"""How far a source reaches: its views read nothing else, and nobody else's code runs as us."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

import dovetail
from dovetail.answer.execute import Executor
from dovetail.settings import Settings
from tests.support.servers import postgres, postgres_role

VIEWS = Settings(views=True)
CANARY = "canary-in-a-file"


def test_views_of_a_duckdb_file_reach_that_file_alone(tmp_path: Path) -> None:
    (tmp_path / "secret.csv").write_text(f"a\n{CANARY}\n")
    with duckdb.connect(str(tmp_path / "other.duckdb")) as other:
        other.execute(f"CREATE TABLE hidden AS SELECT '{CANARY}' AS a")
    with duckdb.connect(str(tmp_path / "shop.duckdb")) as shop:
        shop.execute("CREATE TABLE t AS SELECT 1 AS a")
        shop.execute("CREATE VIEW good AS SELECT a + 1 AS a FROM t")
        for name, reads in {
            "csv": f"read_csv('{tmp_path}/secret.csv')",
            "text": f"read_text('{tmp_path}/secret.csv')",
            "files": f"glob('{tmp_path}/*')",
            "bare": f"'{tmp_path}/secret.csv'",
            "settings": "duckdb_settings()",
        }.items():
            shop.execute(f"CREATE VIEW {name} AS SELECT * FROM {reads}")
    sources = [str(tmp_path / "shop.duckdb"), str(tmp_path / "other.duckdb")]
    catalog = dovetail.build(*sources, into=tmp_path / "catalog", settings=VIEWS)
    found = {table.name for table in catalog if table.id.source.endswith("shop.duckdb")}
    assert {"t", "good"} <= found <= {"t", "good", "settings"}
    with Executor(catalog.reader, workers=1) as running:
        assert running.run("SELECT a FROM good", [catalog["good"]]).tuples() == [(2,)]
    held = [file for file in (tmp_path / "catalog").rglob("*") if file.is_file()]
    assert sum(CANARY.encode() in file.read_bytes() for file in held) <= 2  # of other.duckdb


@pytest.mark.service
def test_no_function_of_another_role_runs_as_our_login(tmp_path: Path) -> None:
    """Functions that fit better than the server's own, in a schema that everybody searches."""
    with postgres() as database, postgres_role(database, password="x") as role:
        database.run(
            "CREATE TABLE t AS SELECT 1 AS a, now()::timestamp AS at, 'x'::name AS n",
            "CREATE TABLE log (who text)",
            f'GRANT CREATE ON SCHEMA public TO "{role}"',
        )
        for signature in ("isfinite(timestamp)", '"left"(name, integer)', "md5(character varying)",
                          "format_type(oid, integer)", "concat_ws(text, oid)"):  # fmt: skip
            name, arguments = signature.rstrip(")").split("(")
            returns = "boolean" if name == "isfinite" else "text"
            database.run(
                f"CREATE FUNCTION public.{name}({arguments}) RETURNS {returns} LANGUAGE plpgsql "
                "AS $$ BEGIN RAISE EXCEPTION 'hijacked'; END $$"
            )
        catalog = dovetail.build(database.url, into=tmp_path / "catalog")
        assert {table.name for table in catalog} == {"t", "log"}
        with Executor(catalog.reader, workers=1) as running:
            assert running.run("SELECT a FROM t", [catalog["t"]]).tuples() == [(1,)]


@pytest.mark.service
def test_a_view_that_may_write_is_left_out(tmp_path: Path) -> None:
    with postgres() as database:
        database.run(
            "CREATE TABLE t AS SELECT 1 AS a",
            "CREATE VIEW good AS SELECT a, now() AS at, count(*) OVER () AS n FROM t",
            "CREATE VIEW writes AS SELECT a, lo_create(0) AS made FROM t",
            "CREATE VIEW writes_within AS SELECT made FROM writes",
            "CREATE VIEW in_a_subquery AS SELECT (SELECT max(lo_create(0)) FROM t) AS made",
            "CREATE FUNCTION mine() RETURNS oid LANGUAGE sql AS 'SELECT lo_create(0)'",
            "CREATE VIEW by_a_function AS SELECT mine() AS made",
            "CREATE VIEW in_a_filter AS SELECT a FROM t WHERE lo_create(0) > 0::oid",
        )
        catalog = dovetail.build(database.url, into=tmp_path / "catalog", settings=VIEWS)
        assert {table.name for table in catalog} == {"t", "good"}
        assert database.ask("SELECT count(*) FROM pg_largeobject_metadata") == [(0,)]
