"""The benchmarks of what people wrote down measure what they say."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import dovetail
from dovetail_bench.programs.hidden_keys import measure
from dovetail_bench.programs.written_down import measure_notes, report, write_lake


def test_declared_keys_are_counted_hidden_and_shown(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "shop.sqlite")) as connection:
        connection.executescript("""
            CREATE TABLE client (client_id INTEGER PRIMARY KEY, mail TEXT);
            CREATE TABLE bill (bill_id INTEGER PRIMARY KEY, client_id INTEGER REFERENCES client,
                               zz INTEGER REFERENCES client (client_id));
        """)
        connection.executemany(
            "INSERT INTO client VALUES (?, ?)", [(7_000 + 3 * n, f"c{n}@x.no") for n in range(80)]
        )
        rows = [(n, 7_000 + 3 * (n % 80), 7_000 if n == 5 else None) for n in range(300)]
        connection.executemany("INSERT INTO bill VALUES (?, ?, ?)", rows)
        connection.commit()
    settings = dovetail.Settings(embedder="none")
    dovetail.build(tmp_path / "shop.sqlite", into=tmp_path / "catalog", settings=settings)
    found = measure(tmp_path / "catalog")
    assert (found["declared"], found["found_hidden"], found["found_shown"]) == (2, 1, 2)
    assert "zz refers to client(client_id)" in str(found["missed"])


def test_the_lake_has_its_columns_and_the_report_its_share(tmp_path: Path) -> None:
    write_lake(tmp_path / "lake.sqlite", tables=2, rows=3)
    with closing(sqlite3.connect(tmp_path / "lake.sqlite")) as connection:
        assert len(connection.execute("SELECT * FROM thing_1").fetchall()[0]) == 20
        assert len(connection.execute("PRAGMA foreign_key_list(thing_1)").fetchall()) == 3
    notes = measure_notes(1)
    assert notes["read"] > 0
    assert notes["apply"] > 0
    text = report({"without": {"profile": 3.0}, "with": {"profile": 4.0}}, notes)
    assert "Share of the whole job: 25%." in text
