"""Joinability of a pooled corpus, counted by hand."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.support.command_line import run

from dovetail.errors import NotFoundError
from dovetail_bench.datasets import open_dataset
from dovetail_bench.joins import bench_joins


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    """A corpus of two databases with one declared key each, one of them broken by its values."""
    keys = []
    for name, shift in (("alpha", 0), ("beta", 1000)):
        folder = tmp_path / "data" / "databases" / name
        folder.mkdir(parents=True)
        with closing(sqlite3.connect(folder / f"{name}.sqlite")) as connection:
            connection.execute(f"CREATE TABLE {name}_author (author_id INTEGER, born INTEGER)")
            connection.execute(f"CREATE TABLE {name}_book (book_id INTEGER, author_id INTEGER)")
            connection.execute(f"CREATE TABLE {name}_none (x INTEGER)")
            authors = [(n, 1900 + n) for n in range(1, 21)]
            connection.executemany(f"INSERT INTO {name}_author VALUES (?, ?)", authors)
            books = [(n, n % 20 + 1 + shift) for n in range(1, 41)]
            connection.executemany(f"INSERT INTO {name}_book VALUES (?, ?)", books)
            connection.commit()
        keys.append(
            {
                "db_id": name,
                "table": f"{name}_book",
                "column": "author_id",
                "ref_table": f"{name}_author",
                "ref_column": "author_id",
            }
        )
    (tmp_path / "data" / "foreign_keys.json").write_text(json.dumps(keys))
    return tmp_path / "data"


def test_the_bench_counts_what_it_says(dataset: Path) -> None:
    result = bench_joins(open_dataset(dataset), "foreign_key")
    assert (result["tables"], result["empty_tables"], result["columns"]) == (6, 2, 10)
    within = result["within"]
    assert (within["pairs"], within["gold"], result["all"]["pairs"]) == (2, 2, 6)
    assert (within["recall"], within["precision"], within["column_pair"]) == (0.5, 1.0, 0.5)


def test_a_folder_that_is_no_dataset_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="is no dataset: it has no databases"):
        open_dataset(tmp_path)


def test_a_pool_hides_its_sources_and_a_second_row_shows_them(dataset: Path) -> None:
    """Tables renamed alike in both databases: only their source tells whose key is meant."""
    for file in sorted((dataset / "databases").glob("*/*.sqlite")):
        with closing(sqlite3.connect(file)) as connection:
            for table in ("author", "book"):
                connection.execute(f"ALTER TABLE {file.stem}_{table} RENAME TO {table}")
            connection.execute("UPDATE book SET author_id = (author_id - 1) % 20 + 1")
            connection.commit()
    keys = json.loads((dataset / "foreign_keys.json").read_text())
    renamed = [{**key, "table": "book", "ref_table": "author"} for key in keys]
    (dataset / "foreign_keys.json").write_text(json.dumps(renamed))
    result = bench_joins(open_dataset(dataset), "foreign_key")
    assert (result["all"]["precision"], result["all"]["recall"]) == (0.5, 1.0)
    shown = result["by_source"]["all"]
    assert (shown["precision"], shown["recall"]) == (1.0, 1.0)
    assert open_dataset(dataset).catalog(search=False).manifest.pooled


def test_the_bench_of_something_else_is_one_line(tmp_path: Path) -> None:
    done = run("bench", "joins", str(tmp_path))
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert "is no dataset" in done.stderr
