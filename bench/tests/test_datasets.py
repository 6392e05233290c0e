"""Datasets in their several forms: folders, questions of yours, BEIR, TREC runs."""

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
from dovetail.errors import DatasetError, NotFoundError, UsageError
from dovetail_bench.beir import write_beir
from dovetail_bench.custom_questions import read_rows
from dovetail_bench.dataset_stats import dataset_stats
from dovetail_bench.datasets import open_dataset
from dovetail_bench.trec import read_trec, write_trec

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


def test_beir_there_and_back(folder: Path, catalog: CatalogReader, tmp_path: Path) -> None:
    asked = open_dataset(folder).question_set().over(catalog.ids)
    write_beir(tmp_path / "beir", catalog, asked.questions)
    documents = [
        json.loads(line) for line in (tmp_path / "beir/corpus.jsonl").read_text().splitlines()
    ]
    assert [document["_id"] for document in documents] == [str(table) for table in catalog.ids]
    assert documents[0] == {
        "_id": "farm::Food", "title": "Food", "text": "id, name\n1, hay\n2, oats", "metadata": {},
    }  # fmt: skip
    assert (tmp_path / "beir/qrels/test.tsv").read_text().splitlines()[:2] == [
        "query-id\tcorpus-id\tscore",
        "0\tfarm::farm_cat\t1",
    ]
    back = open_dataset(tmp_path / "beir", catalog=catalog.folder)
    found = back.question_set().over(back.catalog().ids)
    assert [(q.id, q.text, q.gold, q.sql) for q in found.questions] == [
        (q.id, q.text, q.gold, q.sql) for q in asked.questions
    ]


def test_beir_that_does_not_fit_together(catalog: CatalogReader, tmp_path: Path) -> None:
    (tmp_path / "queries.jsonl").write_text('{"_id": "1", "text": "cats"}\n')
    with pytest.raises(NotFoundError, match=r"is no BEIR dataset: it has no qrels/test.tsv"):
        open_dataset(tmp_path, catalog=catalog.folder).questions()
    (tmp_path / "qrels").mkdir()
    qrels = tmp_path / "qrels/test.tsv"
    qrels.write_text("query-id\tcorpus-id\tscore\n1\tfarm::farm_cat\t1\n2\tfarm::farm_cat\t1\n")
    with pytest.raises(DatasetError, match="judges queries that are not there: 2"):
        open_dataset(tmp_path, catalog=catalog.folder).questions()
    qrels.write_text("1 0 farm::farm_cat 1\n")
    with pytest.raises(DatasetError, match="must have the columns query-id, corpus-id, score"):
        open_dataset(tmp_path, catalog=catalog.folder).questions()


def test_trec_there_and_back(tmp_path: Path) -> None:
    odd = TableId("city.duckdb", "owners' meetings")
    other = TableId("lake", "störungen")
    rankings = [("q 1", [(odd, 0.25), (other, 0.75)]), ("2", [(other, 1.0)]), ("3", [])]
    write_trec(tmp_path / "run.trec", rankings, "core-t")
    assert (tmp_path / "run.trec").read_text().splitlines() == [
        "q%201 Q0 city.duckdb::owners'%20meetings 1 0.250000 core-t",
        "q%201 Q0 lake::st%C3%B6rungen 2 0.250000 core-t",
        "2 Q0 lake::st%C3%B6rungen 1 1.000000 core-t",
    ]
    assert read_trec(tmp_path / "run.trec") == {"q 1": (odd, other), "2": (other,)}


@pytest.mark.parametrize("line", ["1 Q0 t 1 0.5 x", "1 Q0 s::t one 0.5 x", "1 s::t 0.5"])
def test_a_line_that_is_no_trec_run(tmp_path: Path, line: str) -> None:
    (tmp_path / "run.trec").write_text(f"1 Q0 s::t 1 0.5 x\n{line}\n")
    with pytest.raises(DatasetError, match="line 2, is no line of a run"):
        read_trec(tmp_path / "run.trec")
