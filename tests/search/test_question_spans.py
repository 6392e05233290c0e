"""Value linking: which spans a question has, and which of them cells hold."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import dovetail
from dovetail.search.query import Span, ValueLink, spans
from dovetail.search.value_linking import ValueLinker
from dovetail.search.values import ValueIndex

CELLS = """
CREATE TABLE places (town TEXT, code TEXT, phone TEXT, opened DATE, height REAL, people INTEGER);
INSERT INTO places VALUES
  ('New York', '4K2', '(555) 123-4567', '2012-05-01', 3.5, 850),
  ('São Paulo', 'ER-17', '12 34', '1999-12-31', 12.0, 7),
  ('東京', 'x', '', '2001-01-01', 0.25, 123456789012),
  ('O''Brien''s Pub', 'y', '', '2002-02-02', 9.75, 42);
CREATE TABLE people (name TEXT, born INTEGER);
INSERT INTO people VALUES ('York', 1970), ('york', 1980), ('Ann "the Hat" Lee', 1990);
"""


def linker(folder: Path) -> ValueLinker:
    file = folder / "cells.sqlite"
    with closing(sqlite3.connect(file)) as db, db:
        db.executescript(CELLS)
    catalog = dovetail.build(f"cells={file}", into=folder / "catalog")
    return ValueLinker(catalog.reader, ValueIndex.of(catalog.reader))


def linked(linker: ValueLinker, question: str) -> tuple[ValueLink, ...]:
    return linker.link(tuple(spans(question)))


@pytest.fixture(scope="module")
def cells(tmp_path_factory: pytest.TempPathFactory) -> ValueLinker:
    return linker(tmp_path_factory.mktemp("cells"))


# Columns are numbered through the tables in order: people (name, born), then places.
NAME, BORN, TOWN, CODE, PHONE, OPENED, HEIGHT, PEOPLE = range(8)


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("Who lives in New York?", {"New York": [TOWN]}),
        ("who lives in new york", {"new york": [TOWN]}),
        ("Is 'York' a name?", {"York": [NAME]}),
        ("trains to sao paulo!", {"sao paulo": [TOWN]}),
        ("the pub O'Brien's Pub tonight", {"O'Brien's Pub": [TOWN]}),
        ("Where is ANN THE HAT LEE", {"ANN THE HAT LEE": [NAME]}),
        ("parts of code 4K2", {"4K2": [CODE]}),
        ("parts of code er-17", {"er-17": [CODE]}),
        ("who was born in 1970?", {"1970": [BORN]}),
        ("who has 850 people", {"850": [PEOPLE]}),
        ("town of 123456789012 people", {"123456789012": [PEOPLE]}),
        ("which is 3.5 high", {"3.5": [HEIGHT]}),
        ("opened on 2012-05-01, or later", {"2012-05-01": [OPENED]}),
        ("call (555) 123-4567 now", {"555) 123-4567": [PHONE]}),
        ("call 12 34 now", {"12 34": [PHONE]}),
        ("東京の人口は", {"東京": [TOWN]}),
        ("住在東京", {"東京": [TOWN]}),
        ("York, York and York again", {"York": [NAME]}),
        ("1970 and 2012-05-01 and New York",
         {"New York": [TOWN], "2012-05-01": [OPENED], "1970": [BORN]}),
        ("12 high", {"12": [HEIGHT]}),
        ("12.0 high", {"12.0": [HEIGHT]}),
        ("nothing of that", {}),
        ("", {}),
    ],
)  # fmt: skip
def test_cells_are_found(cells: ValueLinker, question: str, found: dict[str, list[int]]) -> None:
    held = {link.span.text: link.columns.tolist() for link in linked(cells, question)}
    assert held == found


@pytest.mark.parametrize(
    "question",
    [
        "New \ud800 York",
        "\udfff",
        "York\x00York",
        "'; DROP TABLE places; --",
        "\U0001d7d9\U0001d7da",
        "²",
    ],
)
def test_no_text_is_too_strange(cells: ValueLinker, question: str) -> None:
    assert all(len(link.columns) for link in linked(cells, question))


def test_the_rarer_the_weightier_and_numbers_and_lone_words_hardly(cells: ValueLinker) -> None:
    questions = ("x New York", "x 'york'", "x york", "x 1970")
    town, quoted, lone, number = (
        link.term.weight for question in questions for link in linked(cells, question)
    )
    assert town == quoted == 1.0
    assert lone == number == pytest.approx(0.2)


def test_spans_of_a_question_the_longest_first() -> None:
    found = [(span.text, span.start, span.end, span.named) for span in spans("Is Bob 'in' Ada?")]
    assert found == [
        ("Is Bob 'in' Ada", 0, 4, True),
        ("Is Bob 'in", 0, 3, True),
        ("Bob 'in' Ada", 1, 4, True),
        ("Is Bob", 0, 2, True),
        ("Bob 'in", 1, 3, True),
        ("in' Ada", 2, 4, True),
        ("Bob", 1, 2, True),
        ("Ada", 3, 4, True),
    ]


@pytest.mark.parametrize(
    ("text", "number", "written"),
    [
        ("12", True, True),
        ("2012-05-01", True, True),
        ("4K2", False, True),
        ("3rd", False, False),
        ("١٢", True, False),
        ("²", True, False),
    ],
)
def test_what_is_a_number_and_what_is_found_as_written(
    text: str, number: bool, written: bool
) -> None:
    span = Span(text, 0, 1, named=False)
    assert (span.number, span.written) == (number, written)


def test_a_long_question_has_bounded_many_spans() -> None:
    assert len(list(spans("word " * 20_000))) == sum(400 - size + 1 for size in range(1, 9))
    assert len(list(spans("街" * 50_000))) < 3_000


def test_months_and_days_are_times_whatever_cell_has_them() -> None:
    found = {span.text: span.calendar for span in spans("Sales of July Ltd on Monday in July")}
    assert found["July"] and found["Monday"]
    assert not found["July Ltd"]
