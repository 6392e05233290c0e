"""Joins through transforms: found, said, scored below raw ones, and the same in a real engine."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

import dovetail
from dovetail.domain import JoinEdge
from dovetail.domain.joins import join_sql
from dovetail.domain.sql import transform_words
from dovetail.joins.graph import JoinGraph

NUMBERS = [41_000 + 37 * n for n in range(120)]
LETTERS = "abcdefghij"


def mail(number: int) -> str:
    return "".join(LETTERS[int(digit)] for digit in str(number)) + "@post.example"


def title(text: str, number: int) -> str:
    return text.title() if number % 5 == 0 else text


# By transform: how the child writes a number's key, and how the parent does.
WRITTEN: dict[str, tuple[Callable[[int], object], Callable[[int], object]]] = {
    "case": (lambda n: title(mail(n), n // 37), mail),
    "punctuation": (lambda n: f"cn {n // 1000}.{n % 1000:03d}x", lambda n: f"CN-{n:05d}X"),
    "zeros": (lambda n: f"{n:010d}", lambda n: n),
    "prefix": (lambda n: f"C-{n}", lambda n: n),
    "cut:fr:": (lambda n: f"FR-{n % 7}X{n:06d}", lambda n: f"{n % 7}x{n:06d}"),
    "cut::h2": (lambda n: f"{n:07d}", lambda n: f"{n}/H2"),
    "cut::@postexample": (mail, lambda n: mail(n).partition("@")[0].upper()),
}


def edge_of(
    tmp_path: Path, transform: str, *, orphans: int = 6
) -> tuple[JoinEdge, dict[str, pa.Table]]:
    """The edge between claims and clients whose keys are written differently, some without."""
    child, parent = WRITTEN[transform]
    drawn = [NUMBERS[n * 7 % 100] for n in range(300)]
    keys = [child(n) for n in drawn]
    keys[:orphans] = [child(90_001 + n) for n in range(orphans)]
    tables = {
        "clients": pa.table(
            {"client_no": [parent(n) for n in NUMBERS], "age": [n % 90 for n in NUMBERS]}
        ),
        "claims": pa.table({"claim": [f"K{n}" for n in range(300)], "client_no": keys}),
        "others": pa.table({"word": [f"w {n}" for n in range(40)], "count": list(range(40))}),
    }
    catalog = dovetail.build(tables, into=tmp_path / "catalog")
    (edge,) = [edge for edge in JoinGraph.of(catalog.reader).edges if edge.score > 0.5]
    return edge, tables


@pytest.mark.parametrize("transform", WRITTEN)
def test_keys_written_differently_join_and_sql_finds_the_rows_that_were_counted(
    tmp_path: Path, transform: str
) -> None:
    edge, tables = edge_of(tmp_path, transform)
    assert (edge.left.name, edge.right.name, edge.transform) == ("claims", "clients", transform)
    assert edge.columns == (("client_no", "client_no"),)
    assert edge.match_rate == 294 / 300
    assert edge.cardinality == "n:1"
    assert transform_words(transform) in str(edge)
    assert edge.to_dict()["after"] == transform_words(transform)
    counted = f"SELECT count(*) {join_sql((edge.left, edge.right), [edge])}"
    with closing(duckdb.connect()) as engine:
        for name, table in tables.items():
            engine.register(name, table)
        assert engine.execute(counted).fetchone() == (294,)


def test_a_match_as_is_scores_above_one_through_a_transform(tmp_path: Path) -> None:
    through, _ = edge_of(tmp_path, "zeros", orphans=0)
    WRITTEN["as is"] = (lambda n: f"{n:010d}", lambda n: f"{n:010d}")
    as_is, _ = edge_of(tmp_path / "raw", "as is", orphans=0)
    del WRITTEN["as is"]
    assert as_is.transform == ""
    assert as_is.score > through.score
    assert as_is.condition() == "claims.client_no = clients.client_no"


def test_phone_numbers_match_with_and_without_a_plus_and_blanks(tmp_path: Path) -> None:
    phones = [447_300_001_373 + 7_919 * n for n in range(200)]
    tables = {
        "lines": pa.table({"msisdn": [str(n) for n in phones], "plan": ["flat"] * 200}),
        "calls": pa.table(
            {
                "subscriber": [
                    f"+{n // 10**10} {n % 10**10 // 10**6} {n % 10**6:06d}" for n in phones
                ]
            }
        ),
    }
    (edge,) = dovetail.build(tables, into=tmp_path / "catalog").joins(least=0.5)
    assert edge.columns == (("msisdn", "subscriber"),)
    assert (edge.transform, edge.match_rate) == ("punctuation", 1.0)


def test_dense_numbers_behind_a_prefix_go_by_names(tmp_path: Path) -> None:
    """1..n padded lies in every table's 1..m: the one that it is named after is meant, or none."""
    tables = {
        "clients": pa.table(
            {"client_no": list(range(1, 121)), "age": [n % 90 for n in range(120)]}
        ),
        "claims": pa.table(
            {"client_no": [f"A{n % 100 + 1:06d}" for n in range(300)], "claim": ["x"] * 300}
        ),
        "parcels": pa.table({"shelf": [f"B{n % 90 + 1:05d}" for n in range(300)], "kg": [2] * 300}),
        "payments": pa.table(
            {"pay_no": list(range(1, 400)), "sum": [n * 3 % 77 for n in range(1, 400)]}
        ),
    }
    catalog = dovetail.build(tables, into=tmp_path / "catalog")
    edges = [edge for edge in JoinGraph.of(catalog.reader).edges if edge.transform]
    assert [(edge.left.name, edge.right.name) for edge in edges if edge.score > 0.5] == [
        ("claims", "clients")
    ]


def test_a_column_with_a_parent_as_it_is_takes_no_transform(tmp_path: Path) -> None:
    """Codes with punctuation that match as they are do not also match folded."""
    codes = [f"Q-{n * 31}" for n in range(60)]
    tables = {
        "wards": pa.table({"ward_code": codes, "beds": list(range(60))}),
        "stays": pa.table({"ward_code": codes * 3, "days": list(range(180))}),
    }
    catalog = dovetail.build(tables, into=tmp_path / "catalog")
    edges = [edge for edge in JoinGraph.of(catalog.reader).edges if edge.score > 0.5]
    assert [(edge.left.name, edge.right.name, edge.transform) for edge in edges] == [
        ("stays", "wards", "")
    ]


def test_an_update_finds_the_transforms_that_a_rebuild_finds(tmp_path: Path) -> None:
    child, parent = WRITTEN["zeros"]
    clients = pa.table({"client_no": [parent(n) for n in NUMBERS], "age": [1] * 120})
    claims = pa.table({"claim": list("x" * 120), "client_no": [child(n) for n in NUMBERS]})
    dovetail.build({"clients": clients}, into=tmp_path / "grown")
    grown = dovetail.build({"clients": clients, "claims": claims}, into=tmp_path / "grown")
    whole = dovetail.build({"clients": clients, "claims": claims}, into=tmp_path / "whole")
    edges = list(JoinGraph.of(grown.reader).edges)
    assert [edge.transform for edge in edges if edge.score > 0.5] == ["zeros"]
    assert edges == list(JoinGraph.of(whole.reader).edges)


@pytest.mark.parametrize(("staff", "letter"), [("dipendenti", "M"), ("anst", "E"), ("anst", "X")])
def test_letters_before_a_number_may_be_of_another_language(
    tmp_path: Path, staff: str, letter: str
) -> None:
    """E of employee, M of Mitarbeiter, where the other system calls them otherwise."""
    numbers = random.Random(1).sample(range(1001, 1901), 900)
    with closing(sqlite3.connect(tmp_path / "hr.sqlite")) as hr, hr:
        hr.execute(f"CREATE TABLE {staff} ({staff}_nr INTEGER PRIMARY KEY, namn TEXT)")
        hr.executemany(f"INSERT INTO {staff} VALUES (?, ?)", [(n, f"p{n}") for n in numbers])
    with closing(sqlite3.connect(tmp_path / "shop.sqlite")) as shop, shop:
        shop.execute("CREATE TABLE work_order (order_no TEXT, lead_mechanic TEXT)")
        mechanics = [*numbers[:399], max(numbers)]
        rows = [(f"W{n:06d}", f"{letter}{mechanics[n]:06d}") for n in range(400)]
        shop.executemany("INSERT INTO work_order VALUES (?, ?)", rows)
    sources = [f"{name}={tmp_path / name}.sqlite" for name in ("hr", "shop")]
    edges = dovetail.build(*sources, into=tmp_path / "catalog").joins("work_order")
    found = [(edge.columns, edge.right.name) for edge in edges]
    assert found == ([] if letter == "X" else [((("lead_mechanic", f"{staff}_nr"),), staff)])
