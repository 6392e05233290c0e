"""Keys that a warehouse declares and does not hold to: they count as far as the values bear out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

import dovetail
from dovetail.domain import JoinEdge
from dovetail.domain.schema import ddl
from dovetail.joins.evidence import join_evidence
from dovetail.sources.warehouse_dialects import DIALECTS, Selected
from tests.support.servers import Run, index
from tests.support.warehouses import flight_server

pytest.importorskip("adbc_driver_flightsql", reason="needs the extra flightsql")

# Twice the same people, once by other numbers; three numbers of `badge` are there twice.
FILL = [
    "CREATE TABLE client AS SELECT 4000 + 7 * i AS client_id, 'c' || i AS name "
    "FROM range(600) r(i)",
    "CREATE TABLE former_client AS SELECT 900000 + i AS client_id, 'f' || i AS name "
    "FROM range(60) r(i)",
    "CREATE TABLE sale AS SELECT 'S' || i AS sale_no, 4000 + 7 * (i % 600) AS client_id, "
    "i % 30 AS badge_no, i % 2 AS till FROM range(2400) r(i)",
    "CREATE TABLE badge AS SELECT i // 30 AS side, i % 30 AS badge_no FROM range(33) r(i)",
]


def said(*keys: str) -> list[Selected]:
    """Statements that declare keys: `p|u|f table column[,column] [table column[,column]]`."""
    rows = []
    for number, key in enumerate(keys):
        kind, table, columns, *to = key.split()
        for at, column in enumerate(columns.split(",")):
            other = [to[0], to[1].split(",")[at]] if to else [None, None]
            cells = ["main", table, kind, f"k{number}", at, column, "main" if to else None, *other]
            rows.append(", ".join("NULL" if x is None else f"'{x}'" for x in [*cells, None]))
    return [Selected(" UNION ALL ".join(f"SELECT {row}" for row in rows), keys=True)]


@contextmanager
def shop(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("FLIGHTSQL_SCHEME", "grpc")
    with flight_server(*FILL) as server:
        yield server.url


def declaring(
    url: str, into: Path, monkeypatch: pytest.MonkeyPatch, *keys: str, sample: int = 0
) -> Run:
    changed = replace(DIALECTS["flightsql"], declared=said(*keys) if keys else ())
    monkeypatch.setitem(DIALECTS, "flightsql", changed)
    return index(url, into=into, sample=sample)


def edge(edges: list[JoinEdge], left: str, right: str) -> JoinEdge:
    """The edge of two tables, the declared one if there are several."""
    found = [e for e in edges if (e.left.name, e.right.name) == (left, right)]
    return max(found, key=lambda e: "declared" in e.evidence)


def joins(catalog: dovetail.Catalog) -> list[JoinEdge]:
    return list(catalog.joins(least=-1))


def test_a_foreign_key_to_the_wrong_table_does_not_cost_the_right_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with shop(monkeypatch) as url:
        wrong = declaring(
            url,
            tmp_path / "wrong",
            monkeypatch,
            "f sale client_id former_client client_id",
        )
        silent = declaring(url, tmp_path / "silent", monkeypatch)
    assert wrong.skipped == {}
    declared = edge(joins(wrong.catalog), "sale", "former_client")
    assert declared.evidence["declared"] == 1
    assert declared.evidence["values_without_partner"] == 600
    assert (declared.score, declared.match_rate) == (0, 0)
    right, before = (edge(joins(run.catalog), "sale", "client") for run in (wrong, silent))
    assert right == before
    assert right.score > 0.5


def test_a_true_one_weighs_against_other_tables_as_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with shop(monkeypatch) as url:
        run = declaring(
            url, tmp_path / "catalog", monkeypatch, "f sale badge_no client client_id",
            "f sale client_id client client_id",
        )  # fmt: skip
    assert edge_of(joins(run.catalog), "client_id").score == 1
    assert edge_of(joins(run.catalog), "badge_no").score == 0


def edge_of(edges: list[JoinEdge], column: str) -> JoinEdge:
    (found,) = [
        e for e in edges if e.right.name == "client" and e.columns == ((column, "client_id"),)
    ]
    return found


@pytest.mark.parametrize("kind", ["p", "u"])
def test_a_key_whose_values_repeat_is_none(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with shop(monkeypatch) as url:
        run = declaring(url, tmp_path / "catalog", monkeypatch, f"{kind} badge badge_no")
    assert run.catalog["badge"].keys.is_key("badge_no")  # it is told as it was declared
    assert joins(run.catalog) == join_evidence(run.catalog.reader)[0]  # and sways nothing
    word = "PRIMARY KEY" if kind == "p" else "UNIQUE"
    shown = ddl([run.catalog["badge"]])
    assert f"badge_no BIGINT {word}  -- declared, but its values repeat; e.g. " in shown


def test_a_foreign_key_to_what_repeats_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = ("p badge badge_no", "f sale badge_no badge badge_no", "u sale badge_no")
    with shop(monkeypatch) as url:
        run = declaring(url, tmp_path / "catalog", monkeypatch, *keys)
    found = edge(joins(run.catalog), "sale", "badge")
    assert found.cardinality == "n:m"  # and neither side is unique, though both were declared so
    assert found.evidence["values_with_several_partners"] == 3
    assert found.evidence["row_containment"] == 1
    assert found.score == edge(join_evidence(run.catalog.reader)[0], "sale", "badge").score < 1


def test_columns_of_a_key_may_repeat_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = ("p badge badge_no,side", "f sale badge_no,client_id badge badge_no,side")
    with shop(monkeypatch) as url:
        run = declaring(url, tmp_path / "catalog", monkeypatch, *keys)
        pair = declaring(url, tmp_path / "pair", monkeypatch, "p sale badge_no,till")
    found = edge(joins(run.catalog), "sale", "badge")
    assert (found.cardinality, found.score) == ("n:1", 0)  # no client is a side
    assert "values_with_several_partners" not in found.evidence
    assert (
        joins(pair.catalog) == join_evidence(pair.catalog.reader)[0]
    )  # 60 pairs cannot tell 2,400 rows apart


def test_a_sample_contradicts_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key = "f sale client_id client client_id"
    with shop(monkeypatch) as url:
        whole = declaring(url, tmp_path / "whole", monkeypatch, key)
        drawn = declaring(url, tmp_path / "drawn", monkeypatch, key, sample=40)
    assert drawn.catalog["client"].estimate is not None
    one, other = (edge(joins(run.catalog), "sale", "client") for run in (whole, drawn))
    assert (one.score, other.score) == (1, 1)
    assert "estimated" not in one.evidence
    assert other.evidence["estimated"] == 1
    assert "values_without_partner" not in other.evidence
    assert other.cardinality == one.cardinality == "n:1"
