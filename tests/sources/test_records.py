"""Records: nested JSON objects and structs as columns that SQL can use."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dovetail
from tests.support.files import profiled, put, update

PEOPLE = [
    {"id": 1, "address": {"city": "Rome", "geo": {"lat": 41.9, "lon": 12.5}}, "tags": ["a", "b"]},
    {"id": 2, "address": {"city": "Oslo", "geo": None}, "tags": []},
    {"id": 3, "address": None, "tags": None},
]


@pytest.mark.parametrize("kind", ["jsonl", "json", "parquet", "duckdb"])
def test_records_are_columns(kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"people.{kind}"
    if kind == "parquet":
        pq.write_table(pa.Table.from_pylist(PEOPLE), path)
    elif kind == "duckdb":
        with closing(duckdb.connect(str(path))) as connection:
            connection.register("given", pa.Table.from_pylist(PEOPLE))
            connection.execute("CREATE TABLE people AS SELECT * FROM given")
    else:
        text = "\n".join(map(json.dumps, PEOPLE)) if kind == "jsonl" else json.dumps(PEOPLE)
        put(path, text)
    (table,) = update(path, into=tmp_path / "catalog").catalog
    assert {column.name: (column.type, column.profile.nulls) for column in table.columns} == {
        "id": ("BIGINT", 0),
        "address.city": ("VARCHAR", 1),
        "address.geo.lat": ("DOUBLE", 2),
        "address.geo.lon": ("DOUBLE", 2),
        "tags": ("VARCHAR[]", 1),
    }
    with dovetail.open(tmp_path / "catalog") as catalog:
        answer = catalog.sql(
            'SELECT p."address.city" AS city, round("address.geo.lat") AS lat FROM people p '
            'WHERE "address.city" IS NOT NULL ORDER BY 1'
        )
    assert answer.to_arrow().to_pylist() == [
        {"city": "Oslo", "lat": None},
        {"city": "Rome", "lat": 42.0},
    ]


def test_names_of_parts_that_are_taken(tmp_path: Path) -> None:
    rows = [{"a.b": 1, "a": {"b": 2, "B": 3, 'q"x': 4}}]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "t.parquet")
    table = profiled(tmp_path / "t.parquet", tmp_path / "segment")
    assert [(column.name, column.profile.examples) for column in table.columns] == [
        ("a.b", ("1",)),
        ("a.b_2", ("2",)),
        ("a.B_1", ("3",)),
        ('a.q"x', ("4",)),
    ]


def test_documents_stay_text(tmp_path: Path) -> None:
    deep: dict[str, object] = {"end": 1}
    for _ in range(12):
        deep = {"in": deep}
    wide = {f"k{number}": number for number in range(600)}
    put(tmp_path / "deep.json", json.dumps([{"id": 1, "d": deep}]))
    pq.write_table(pa.table({"w": [wide]}), tmp_path / "wide.parquet")
    catalog = update(f"here={tmp_path}", into=tmp_path / "catalog").catalog
    names = [column.name for column in catalog["deep"].columns]
    assert names == ["id", "d" + ".in" * 8]
    assert [column.name for column in catalog["wide"].columns] == ["w"]
    assert catalog["wide"].columns[0].profile.examples[0].startswith("{'k0': 0, 'k1': 1")
