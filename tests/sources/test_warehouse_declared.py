"""What warehouses declare of their tables: keys and comments, as our own sources tell them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from dovetail.domain import DeclaredForeignKey, DeclaredKeys
from dovetail.errors import PartlyDeclaredError
from dovetail.ports import Declaration
from dovetail.sources.warehouse import WarehouseSource
from dovetail.sources.warehouse_dialects import DIALECTS, MOST_SHOWN, Selected
from tests.sources.test_declarations import CALLS, CITIES, EXPECTED, ROWS, STOPS, keys
from tests.support.servers import index
from tests.support.warehouse_views import COMMENT
from tests.support.warehouses import FlightSql, flight_server, recorded

KINDS = ["bigquery", "databricks", "mssql", "oracle", "snowflake"]


def told(source: WarehouseSource) -> dict[str, Declaration]:
    """The declarations by table, all names in small letters and without their schema."""

    def small(names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(name.lower().removeprefix("shop.") for name in names)

    return {
        name.lower().removeprefix("shop."): Declaration(
            DeclaredKeys(
                small(said.keys.primary),
                tuple(map(small, said.keys.unique)),
                tuple(
                    DeclaredForeignKey(
                        small(key.columns), small((key.table,))[0], small(key.key_columns)
                    )
                    for key in said.keys.foreign
                ),
            ),
            said.comment,
            {column.lower(): text for column, text in said.column_comments.items()},
        )
        for name, said in source.declarations(source.tables()).items()
    }


@pytest.mark.parametrize("kind", KINDS)
def test_keys_and_comments_of_recorded_catalogs(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    source, known = recorded(kind, monkeypatch)
    found = told(source)
    assert found["customers"] == Declaration(
        DeclaredKeys(("id", "name")), "Who buys", {"id": COMMENT} if kind != "databricks" else {}
    )
    unique = () if kind == "bigquery" else (("placed",),)
    buyer = DeclaredForeignKey(("placed", "customer_id"), "customers", ("name", "id"))
    assert found["orders"] == Declaration(DeclaredKeys(("id",), unique, (buyer,)))
    assert len(known.asked) <= 5


def test_no_keys_where_a_warehouse_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    source, known = recorded("trino", monkeypatch)
    assert source.declarations(source.tables()) == {}
    assert len(known.asked) == 2


@pytest.mark.parametrize("kind", KINDS)
def test_a_refusal_costs_what_was_asked_for_and_no_more(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, known = recorded(kind, monkeypatch)
    answer = known.execute

    def refusing(sql: str) -> None:
        if any(view in sql.lower() for view in ("constraint", "foreign", "imported")):
            raise PermissionError("Access Denied: no right to see keys\nand more of it")
        answer(sql)

    monkeypatch.setattr(known, "execute", refusing)
    with pytest.raises(PartlyDeclaredError) as refused:
        source.declarations(source.tables())
    assert str(refused.value).startswith("Access Denied: no right to see keys; grant SELECT")
    assert (refused.value.keys, refused.value.comments) == (True, False)
    found = {name.lower().removeprefix("shop."): s for name, s in refused.value.told.items()}
    assert found["customers"].comment == "Who buys"
    primary = tuple(name.lower() for name in found["customers"].keys.primary)
    assert primary == (("id", "name") if kind == "snowflake" else ())


def test_an_answer_in_another_form_is_a_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    source, _ = recorded("snowflake", monkeypatch)
    monkeypatch.setattr("tests.support.warehouses.shown", lambda wanted: (["a"], [(wanted,)]))
    with pytest.raises(PartlyDeclaredError, match="without what is documented: 'schema_name'"):
        source.declarations(source.tables())


@pytest.mark.parametrize("where", ["DATABASE", "SCHEMA"])
def test_an_answer_that_is_cut_off_is_asked_for_in_parts(
    where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, known = recorded("snowflake", monkeypatch)
    answer = known.execute

    def cut_off(sql: str) -> None:
        answer(sql)
        if sql.startswith("SHOW") and (where == "SCHEMA" or "DATABASE" in sql):
            known._rows = (known._rows * MOST_SHOWN)[:MOST_SHOWN]
        elif '"REPORTING"' in sql:
            known._rows = []

    monkeypatch.setattr(known, "execute", cut_off)
    if where == "SCHEMA":
        with pytest.raises(PartlyDeclaredError, match="PUBLIC has more keys than SHOW PRIMARY"):
            source.declarations(source.tables())
    else:
        assert told(source)["customers"].keys == DeclaredKeys(("id", "name"))
        assert 'SHOW UNIQUE KEYS IN SCHEMA "PUBLIC"' in known.asked


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FlightSql]:
    """A server with keys and comments."""
    pytest.importorskip("adbc_driver_flightsql", reason="needs the extra flightsql")
    monkeypatch.setenv("FLIGHTSQL_SCHEME", "grpc")
    with flight_server(CITIES, STOPS, CALLS, *ROWS, "COMMENT ON TABLE stop IS 'Stops'") as server:
        yield server


def test_it_tells_what_is_declared(server: FlightSql, tmp_path: Path) -> None:
    catalog = index(server.url, into=tmp_path / "catalog").catalog
    assert keys(catalog) == EXPECTED
    assert catalog["stop"].comment == "Stops"
    declared = [edge for edge in catalog.joins(least=-1) if "declared" in edge.evidence]
    assert {(edge.left.name, edge.right.name, edge.score) for edge in declared} == {
        ("stop", "city", 1.0),
        ("call_at", "stop", 1.0),
    }


def test_what_is_refused_is_one_line_and_the_earlier_word_holds(
    server: FlightSql, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    into = tmp_path / "catalog"
    before = index(server.url, into=into).catalog
    refused = (Selected("SELECT no_such_thing", keys=True, comments=True),)
    changed = replace(DIALECTS["flightsql"], declared=refused)
    monkeypatch.setitem(DIALECTS, "flightsql", changed)
    run = index(into=into)
    assert run.report.skipped == ()
    (line,) = run.report.notices
    assert ": not all of its declared keys and comments can be read: " in line
    assert "\n" not in line
    assert run.report.redeclared == ()
    assert list(run.catalog) == list(before)
    fresh = index(server.url, into=tmp_path / "fresh")
    assert len(fresh.report.notices) == 1
    assert [table.digest for table in fresh.catalog] == [table.digest for table in before]
    assert not any(keys(fresh.catalog).values())


def test_only_what_could_not_be_told_stays(
    server: FlightSql, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A key that is gone is gone, also where comments are refused from now on."""
    into = tmp_path / "catalog"
    index(server.url, into=into)
    columns = ", ".join(["NULL"] * 10)
    statements = [
        Selected(f"SELECT {columns} WHERE 1 = 0", keys=True),
        Selected("SELECT refused", comments=True),
    ]
    changed = replace(DIALECTS["flightsql"], declared=statements)
    monkeypatch.setitem(DIALECTS, "flightsql", changed)
    run = index(into=into)
    assert run.catalog["stop"].comment == "Stops"
    assert not any(keys(run.catalog).values())
    assert [table.name for table in run.report.redeclared] == ["call_at", "city", "stop"]
