"""Benchmarks do not know of declared keys and comments, but in rows that say so."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from dovetail.joins.graph import JoinGraph
from dovetail.settings import Settings
from dovetail_bench.datasets import Dataset, open_dataset
from dovetail_bench.joins import bench_joins
from dovetail_bench.questions import QuestionFilter
from dovetail_bench.retrieval import bench_retrieval
from dovetail_bench.run import RunConfig


@pytest.fixture
def dataset(tmp_path: Path) -> Dataset:
    """A corpus whose one foreign key is written down, and seen in neither names nor values."""
    home = tmp_path / "corpus"
    (home / "databases" / "shop").mkdir(parents=True)
    with closing(sqlite3.connect(home / "databases" / "shop" / "shop.sqlite")) as connection:
        connection.executescript("""
            CREATE TABLE client (no INTEGER PRIMARY KEY, mail TEXT);
            CREATE TABLE sale (sid INTEGER PRIMARY KEY, buyer INTEGER REFERENCES client);
        """)
        clients = [(number, f"c{number}@x.no") for number in range(1, 101)]
        connection.executemany("INSERT INTO client VALUES (?, ?)", clients)
        sales = [(7000 + at, at % 100 + 1) for at in range(300)]
        connection.executemany("INSERT INTO sale VALUES (?, ?)", sales)
        connection.commit()
    key = {
        "db_id": "shop", "table": "sale", "column": "buyer",
        "ref_table": "client", "ref_column": "no",
    }  # fmt: skip
    (home / "foreign_keys.json").write_text(json.dumps([key]))
    question = {
        "id": "1", "db_id": "shop", "question": "Which client bought most?",
        "sql": "SELECT * FROM sale JOIN client ON buyer = no",
    }  # fmt: skip
    (home / "questions.json").write_text(json.dumps([question]))
    return open_dataset(home)


def test_a_catalog_of_a_benchmark_knows_no_declared_key(dataset: Dataset) -> None:
    chosen = Settings(embedder="none", use_declared=True)
    plain = dataset.catalog(chosen)
    assert [bool(table.keys) for table in plain] == [False, False]
    assert [edge for edge in JoinGraph.of(plain).edges if edge.score > 0.5] == []
    told = replace(dataset, declared=True).catalog(chosen)
    (edge,) = (edge for edge in JoinGraph.of(told).edges if edge.score > 0.5)
    assert (edge.left.name, edge.right.name, edge.score) == ("sale", "client", 1)


def test_joins_are_measured_with_declared_keys_beside(dataset: Dataset) -> None:
    found = bench_joins(dataset, "foreign_key")
    assert (found["within"]["gold"], found["within"]["recall"]) == (1, 0)
    assert found["declared"]["within"]["recall"] == 1
    assert "declared" not in bench_joins(dataset, "paper")


def test_a_row_says_what_it_knows(dataset: Dataset, tmp_path: Path) -> None:
    config = RunConfig(tmp_path / "runs", Settings(embedder="none"), corpus="corpus")
    rows = [
        row
        for each in (dataset, replace(dataset, declared=True))
        for row in bench_retrieval(each, ["graph"], [5], QuestionFilter(), config)["results"]
    ]
    assert [row["knows"] for row in rows] == [[], ["declared keys"]]
    assert len({row["run"] for row in rows}) == 2
    assert [row["recall"] if "recall" in row else row["r"] for row in rows] == [0.5, 1]
