"""Datasets in their several forms: folders, and questions of yours."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from corpora import question, write_corpus
from dovetail.catalog.reader import CatalogReader
from dovetail.cli import app
from dovetail.domain import TableId
from dovetail.errors import NotFoundError, UsageError
from dovetail_bench.custom_questions import read_rows
from dovetail_bench.dataset_stats import dataset_stats
from dovetail_bench.datasets import open_dataset
from dovetail_bench.errors import DatasetError

QUESTIONS = [
    question(0, "cats", ["farm_cat"], sql="SELECT * FROM farm_cat", exec_status="empty"),
    question(1, "food", ["food"], sql="SELECT * FROM food, farm_dog", exec_status="ok"),
    question(2, "both", [], sql="SELECT * FROM food, farm_dog", exec_status="ok", evidence="hay"),
    question(3, "cows", ["farm_cow"], sql="SELECT 1 FROM farm_cow", exec_status="error"),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_corpus(tmp_path / "farms", QUESTIONS)


def test_the_questions_of_a_folder(folder: Path) -> None:
    dataset = open_dataset(folder)
    assert [found.text for found in dataset.questions(3, with_evidence=True)] == [
        "cats",
        "food",
        "both hay",
    ]
    assert dataset.questions()[2].gold == (TableId("farm", "farm_dog"), TableId("farm", "food"))


def test_a_census_by_hand(folder: Path) -> None:
    counted = dataset_stats(open_dataset(folder))
    assert (counted.databases, counted.tables, counted.empty_tables) == (2, 14, 12)
    assert (counted.rows_per_table, counted.columns_per_table) == (round(4 / 14, 4), 2.0)
    assert (counted.questions, counted.multi_table) == (3, round(1 / 3, 4))
    assert (counted.empty_gold, counted.gold_per_question) == (round(1 / 3, 4), round(4 / 3, 4))
    assert [problem.question for problem in counted.problems] == ["3"]
    assert [str(problem) for problem in counted.disagreements] == [
        "question 1: SQL and gold differ in farm_dog"
    ]


def test_the_command_shows_the_census(folder: Path) -> None:
    done = CliRunner().invoke(app, ["bench", "data", str(folder), "--json"])
    document = json.loads(done.stdout)
    assert (document["tables"], len(document["problems"])) == (14, 1)
    shown = CliRunner().invoke(app, ["bench", "data", str(folder)]).stdout
    assert "1 questions cannot be scored, among them:" in shown
    assert "its gold table farm::farm_cow is not in the catalog" in " ".join(shown.split())


def test_a_folder_says_what_it_lacks(folder: Path, tmp_path: Path) -> None:
    (folder / "questions.json").unlink()
    with pytest.raises(NotFoundError, match=r"has no questions.json, so there is nothing to ask"):
        open_dataset(folder).questions()
    (folder / "questions.json").write_text('{"question')
    with pytest.raises(DatasetError, match=r"questions.json is no JSON"):
        open_dataset(folder).questions()
    (folder / "questions.json").write_text('{"question": 1}')
    with pytest.raises(DatasetError, match="is not a list of objects"):
        open_dataset(folder).questions()
    with pytest.raises(NotFoundError, match="is no dataset: it has no databases"):
        open_dataset(tmp_path)


@pytest.fixture
def catalog(folder: Path) -> CatalogReader:
    return open_dataset(folder).catalog()


def ask(file: Path, catalog: CatalogReader) -> dict[str, list[str]]:
    dataset = open_dataset(file, catalog=catalog.folder)
    asked = dataset.question_set().over(dataset.catalog().ids)
    asked.refuse_bad("yours")
    return {found.id: [str(table) for table in found.gold] for found in asked.questions}


def test_questions_of_yours_as_csv(catalog: CatalogReader, tmp_path: Path) -> None:
    file = tmp_path / "mine.csv"
    file.write_text(
        "\ufeffquestion,tables,sql\n"
        '"Which cats, and dogs?",farm_cat; FARM_DOG,\n'
        "What do they eat?,wood::food,SELECT 1\n"
        "And owls?,,SELECT * FROM farm_owl o\n"
    )
    assert ask(file, catalog) == {
        "1": ["farm::farm_cat", "farm::farm_dog"],
        "2": ["wood::Food"],
        "3": ["farm::farm_owl"],
    }
    assert read_rows(file)[0]["question"] == "Which cats, and dogs?"


def test_questions_of_yours_as_jsonl(catalog: CatalogReader, tmp_path: Path) -> None:
    file = tmp_path / "mine.jsonl"
    rows: list[dict[str, Any]] = [
        {"id": "a", "question": "cats?", "tables": ["farm_cat"]},
        {"id": "b", "question": "food?", "sql": "SELECT * FROM wood.food JOIN farm_hen ON true"},
    ]
    file.write_text("\n\n".join(json.dumps(row) for row in rows))
    assert ask(file, catalog) == {
        "a": ["farm::farm_cat"],
        "b": ["farm::farm_hen", "wood::Food"],
    }


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("q.csv", "text,tables\ncats,farm_cat\n", "needs the columns question, and sql or tables"),
        ("q.csv", "question\ncats\n", "needs the columns question, and sql or tables"),
        ("q.jsonl", '{"question": "x"\n', "line 1, is no JSON"),
        ("q.jsonl", '{"question": "x", "tables": "t"}\n', "line 1, is no object with a list"),
        ("q.csv", "question,tables\nfood,food\n", "food may be any of farm::Food, wood::Food"),
    ],
)
def test_what_is_wrong_with_questions_of_yours(
    catalog: CatalogReader, tmp_path: Path, name: str, text: str, expected: str
) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(DatasetError, match=expected):
        ask(tmp_path / name, catalog)


def test_a_file_of_questions_needs_a_catalog(tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text("question,sql\n")
    with pytest.raises(UsageError, match="name the catalog they are over with -C"):
        open_dataset(tmp_path / "mine.csv")
    (tmp_path / "mine.txt").touch()
    with pytest.raises(UsageError, match=r"give a \.csv, \.json or \.jsonl file"):
        open_dataset(tmp_path / "mine.txt", catalog=tmp_path).questions()
