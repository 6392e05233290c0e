"""Comments over join evidence: a table that a comment names is one that its column refers to."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

import dovetail
from dovetail.domain import JoinEdge, TableId
from dovetail.joins.commented import _Citation, _Tables

SETTINGS = dovetail.Settings(embedder="none")


def pile(folder: Path, comment: str, settings: dovetail.Settings = SETTINGS) -> dovetail.Catalog:
    """Visits with a column `x1`, numbers of either of two tables, and a comment on it."""
    with duckdb.connect(str(folder / "clinic.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE KNA1 AS SELECT i AS k, 'n' || i AS t FROM range(1, 31) r(i)"
        )
        connection.execute(
            "CREATE TABLE wards AS SELECT i AS w, 'w' || i AS t FROM range(1, 35) r(i)"
        )
        connection.execute(
            "CREATE TABLE visits AS SELECT 900 + 3 * i AS v, 1 + i % 29 AS x1 FROM range(200) r(i)"
        )
        connection.execute(f"COMMENT ON COLUMN visits.x1 IS '{comment}'")
    return dovetail.build(folder / "clinic.duckdb", into=folder / "catalog", settings=settings)


def joins_of(catalog: dovetail.Catalog) -> list[JoinEdge]:
    return [edge for edge in catalog.joins() if edge.left.name.endswith("visits")]


@pytest.mark.parametrize(
    ("comment", "table"),
    [
        ("Kundennummer aus KNA1", "KNA1"),
        ("refers to wards", "wards"),
        ("FK to wards.w", "wards"),
        ("FK to wards.nothing", None),
        ("a ward, perhaps", None),
        ("count of things", None),
    ],
)
def test_a_small_key_is_joined_where_a_comment_names_its_table(
    tmp_path: Path, comment: str, table: str | None
) -> None:
    found = [edge.right.name.rpartition(".")[2] for edge in joins_of(pile(tmp_path, comment))]
    assert found == ([table] if table else [])


def test_comments_that_are_not_used_say_nothing(tmp_path: Path) -> None:
    unused = SETTINGS.but(use_comments=False)
    assert joins_of(pile(tmp_path, "refers to wards", unused)) == []


def test_a_comment_is_taken_back_with_an_update(tmp_path: Path) -> None:
    catalog = pile(tmp_path, "refers to wards")
    (edge,) = joins_of(catalog)
    assert edge.evidence["comment"] == 1.0
    with duckdb.connect(str(tmp_path / "clinic.duckdb")) as connection:
        connection.execute("COMMENT ON COLUMN visits.x1 IS 'nothing'")
    again = dovetail.build(tmp_path / "clinic.duckdb", into=tmp_path / "catalog", settings=SETTINGS)
    assert joins_of(again) == []


def test_names_of_tables_are_told_from_words(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "erp.duckdb")) as connection:
        connection.execute("CREATE SCHEMA policy; CREATE TABLE policy.claim (a INTEGER)")
        connection.execute("CREATE TABLE policy.party (a INTEGER)")
    catalog = dovetail.build(
        f"erp={tmp_path / 'erp.duckdb'}", into=tmp_path / "catalog", settings=SETTINGS
    ).reader
    own, party = TableId("erp", "policy.claim"), TableId("erp", "policy.party")
    tables = _Tables(catalog.ids)
    assert tables.cited(own, "policy.party") == [_Citation(party, "")]
    assert tables.cited(own, "see party.id") == [_Citation(party, "id")]
    assert tables.cited(own, "the party that pays") == []
    assert tables.cited(own, "see claim") == []
