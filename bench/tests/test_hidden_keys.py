"""Keys that nobody tells of, against those that are declared or listed in a file."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import dovetail
from dovetail_bench.programs.hidden_keys import measure, measure_against


def test_found_keys_are_counted_by_columns_and_by_tables(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "shop.sqlite")) as database:
        database.execute("CREATE TABLE customer (customer_id PRIMARY KEY, name)")
        database.execute(
            "CREATE TABLE purchase (purchase_id PRIMARY KEY, customer_id REFERENCES customer, code)"
        )
        people = [(n * 7, f"name {n}") for n in range(1, 40)]
        database.executemany("INSERT INTO customer VALUES (?, ?)", people)
        bought = [(n, 7 * (1 + n % 39), f"x{n}") for n in range(200)]
        database.executemany("INSERT INTO purchase VALUES (?, ?, ?)", bought)
        database.commit()
    dovetail.build(
        f"shop={tmp_path / 'shop.sqlite'}",
        into=tmp_path / "catalog",
        settings=dovetail.Settings(embedder="none"),
    )
    found = measure(tmp_path / "catalog")
    assert (found["declared"], found["found_hidden"], found["found_shown"]) == (1, 1, 1)
    ends = {"db_id": "shop", "table": "purchase", "ref_table": "customer"}
    keys = [
        {**ends, "column": "customer_id", "ref_column": "customer_id"},
        {**ends, "column": "code", "ref_column": "name"},
    ]
    (tmp_path / "keys.json").write_text(json.dumps(keys), encoding="utf-8")
    against = measure_against(tmp_path / "catalog", tmp_path / "keys.json")
    assert against["by columns"] == {"precision": 1.0, "recall": 0.5}
    assert against["by tables"] == {"precision": 1.0, "recall": 1.0}
