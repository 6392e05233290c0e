"""programs/translated.py: a corpus whose names and questions are in another language."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

from tests.support.scripted import playing

from dovetail_bench.datasets import open_dataset
from dovetail_bench.programs.translated import as_name, is_translation, read_names, write

WORDS = {
    "singer": "Sänger",
    "singer id": "Sänger ID",
    "name": "Name",
    "song": "Das Lied.",
    "How many singers are there?": "Wie viele Sänger gibt es?",
    "Which singer has a song?": "Deutschland",
}


def corpus(folder: Path) -> Path:
    place = folder / "databases" / "music"
    place.mkdir(parents=True)
    with closing(sqlite3.connect(place / "music.sqlite")) as database:
        database.execute("CREATE TABLE Singer (Singer_ID int PRIMARY KEY, Name text)")
        database.execute("CREATE TABLE song (Name text, singer_id int REFERENCES Singer)")
        database.execute("INSERT INTO Singer VALUES (1, 'Ada')")
        database.commit()
    asked = [
        {"question_id": 0, "question": "How many singers are there?", "gold_tables": ["singer"]},
        {"question_id": 1, "question": "Which singer has a song?", "gold_tables": ["song"]},
    ]
    rows = [{"db_id": "music", **row} for row in asked]
    key = {"table": "song", "column": "Singer_id", "ref_table": "Singer", "ref_column": "singer_id"}
    (folder / "questions.json").write_text(json.dumps(rows))
    (folder / "foreign_keys.json").write_text(json.dumps([{"db_id": "music", **key}]))
    return folder


def test_names_questions_gold_tables_and_keys_are_translated(tmp_path: Path) -> None:
    into = tmp_path / "german"
    with playing(lambda messages: WORDS[messages[-1]["content"]]) as endpoint:
        left_out = write(str(corpus(tmp_path / "english")), into, endpoint.llm, "German")
    assert left_out == 1
    assert read_names(into / "databases" / "music" / "music.sqlite") == {
        "sänger": ["sänger_id", "Name"],
        "das_lied": ["Name", "sänger_id"],
    }
    dataset = open_dataset(str(into))
    (question,) = dataset.questions()
    assert question.text == "Wie viele Sänger gibt es?"
    assert [table.name for table in question.gold] == ["sänger"]
    (key,) = dataset.foreign_keys()
    assert (key.table, key.column, key.ref_table) == ("das_lied", "sänger_id", "sänger")


def test_a_name_that_becomes_a_sentence_stays_as_it_was() -> None:
    assert as_name("MPG", "Meilen pro Gallone") == "meilen_pro_gallone"
    assert as_name("MPG", "Das ist die Abkürzung für Meilen") == "MPG"
    assert as_name("MPG", "...") == "MPG"


def test_an_answer_is_no_translation() -> None:
    assert is_translation("Which country is largest?", "Welches Land ist am größten?")
    assert not is_translation("Which country is largest?", "Russland")
    assert not is_translation("Which is it?", "Es ist das Land, das am größten von allen ist")
