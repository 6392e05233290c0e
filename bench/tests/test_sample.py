"""The sample dataset: 120 questions whose SQL runs and reads the tables that are their gold."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from importlib import import_module
from pathlib import Path
from typing import Any

import duckdb
import pytest

from dovetail_bench.corpora.questions import DOMAINS, foreign_keys, questions
from dovetail_bench.dataset_stats import dataset_stats
from dovetail_bench.datasets import Dataset, open_dataset
from dovetail_bench.errors import DatasetError
from dovetail_bench.joins import bench_joins
from dovetail_bench.questions import Question, gold_of

# Questions about tables that are empty on purpose.
EMPTY = {"schools-08", "hospital-03"}


def connected(dataset: Dataset) -> duckdb.DuckDBPyConnection:
    """The corpus under the names that gold SQL uses: a source is a catalog or a schema."""
    wheel = Path(str(import_module("duckdb_extension_sqlite_scanner").__file__)).parent
    extension = wheel / "extensions" / f"v{duckdb.__version__}" / "sqlite_scanner.duckdb_extension"
    connection = duckdb.connect()
    connection.execute(f"LOAD '{extension}'")
    for label, path in dataset.sources.items():
        if path.suffix in (".sqlite", ".db", ".duckdb"):
            kind = "" if path.suffix == ".duckdb" else "TYPE sqlite, "
            connection.execute(f"ATTACH '{path}' AS \"{label}\" ({kind}READ_ONLY)")
            continue
        connection.execute(f'CREATE SCHEMA "{label}"')
        for file in path.iterdir() if path.is_dir() else [path]:
            connection.execute(f'CREATE VIEW "{label}"."{file.stem}" AS FROM \'{file}\'')
    return connection


@pytest.mark.slow
def test_every_gold_sql_runs_and_returns_rows(sample_dataset: Dataset) -> None:
    returned: dict[str, list[tuple[Any, ...]]] = {}
    with closing(connected(sample_dataset)) as connection:
        for question in sample_dataset.questions():
            returned[question.id] = connection.execute(question.sql).fetchall()
    assert {name for name, rows in returned.items() if not rows} == EMPTY
    # A count of nothing, or a mean of nothing, is a row and no answer.
    hollow = [rows for rows in returned.values() if rows in ([(0,)], [(None,)])]
    assert hollow == []
    assert {row["question_id"] for row in questions() if row["exec_status"] == "empty"} == EMPTY
    assert returned["schools-06"] == [("Maren Oakenholt",)]
    assert returned["crossing-05"][0] == ("Driftwood Supply",)


def test_the_tables_of_the_sql_are_the_gold_tables(sample_dataset: Dataset) -> None:
    def read(question: Question) -> set[str]:
        return {str(table) for table in gold_of(question.sql, "", sample_dataset.dialects)}

    for question in sample_dataset.questions():
        assert read(question) == {str(table) for table in question.gold}, question.id


def test_from_one_table_to_five_over_all_domains(sample_dataset: Dataset) -> None:
    asked = sample_dataset.question_set().over(sample_dataset.catalog().ids)
    assert asked.problems == ()
    sizes = Counter(len(question.gold) for question in asked.questions)
    assert sizes == {1: 25, 2: 40, 3: 30, 4: 15, 5: 10}
    per_domain = Counter(question.extra["domain"] for question in asked.questions)
    assert set(per_domain) == set(DOMAINS)
    assert min(per_domain.values()) == 10
    assert len({question.text for question in asked.questions}) == 120
    used = {table for question in asked.questions for table in question.gold}
    assert len(used) >= 68  # of 77, four of which are empty


def test_crossing_questions_cross_sources(sample_dataset: Dataset) -> None:
    crossing = [q for q in sample_dataset.questions() if q.extra["domain"] == "crossing"]
    single = [q.id for q in crossing if len({table.source for table in q.gold}) == 1]
    assert single == ["crossing-04"]  # estate and utilities share a file


def test_the_sample_in_numbers(sample_dataset: Dataset) -> None:
    counted = dataset_stats(sample_dataset)
    assert (counted.databases, counted.tables, counted.empty_tables) == (8, 77, 4)
    assert (counted.questions, counted.multi_table) == (120, round(95 / 120, 4))
    assert counted.empty_gold == round(2 / 120, 4)
    assert (counted.problems, counted.disagreements) == ((), ())


def test_the_sample_is_written_once(
    sample_dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(sample_dataset.home.parent.parent))
    again = open_dataset("sample")
    assert (again.home, again.name) == (sample_dataset.home, "sample")
    assert [path.name for path in sample_dataset.home.parent.iterdir()] == [
        sample_dataset.home.name
    ]


def test_a_cache_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(DatasetError, match="name another cache folder with XDG_CACHE_HOME"):
        open_dataset("sample")


def test_the_keys_of_the_sample_join_real_columns(sample_dataset: Dataset) -> None:
    catalog = sample_dataset.catalog()
    for key in foreign_keys():
        catalog[f"{key['db_id']}::{key['table']}"].column(key["column"])
        catalog[f"{key['ref_db_id']}::{key['ref_table']}"].column(key["ref_column"])
    result = bench_joins(sample_dataset, "foreign_key")
    assert (result["all"]["gold"], result["within"]["gold"]) == (79, 70)
    assert result["within"]["recall"] >= 0.85
    assert result["all"]["precision"] >= 0.9
