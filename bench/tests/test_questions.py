"""Questions: how they are read, what is wrong with some, and a fair part of many."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import pytest

from corpora import question
from dovetail.domain import TableId
from dovetail_bench.errors import DatasetError
from dovetail_bench.questions import (
    Question,
    disagreements,
    read_questions,
    stratified,
)

CATALOG = [TableId("farm", "Cat"), TableId("farm", "dog"), TableId("wood", "dog")]


def test_a_row_becomes_a_question() -> None:
    row = question(
        7, " How many cats? ", ["CAT"], sql="SELECT 1 FROM cat", evidence="cats purr", colour="red"
    )
    asked = read_questions([row], ("sqlite",)).over(CATALOG)
    assert asked.problems == ()
    (found,) = asked.questions
    assert (found.id, found.text, found.gold) == ("7", "How many cats?", (TableId("farm", "Cat"),))
    assert found.extra == {"colour": "red"}
    assert found.with_evidence().text == "How many cats? cats purr"


def test_entries_of_another_shape_are_named_by_their_place() -> None:
    rows: list[dict[str, object]] = [
        {"question": "q", "db_id": "farm", "gold_tables": 5},
        {"question_id": 0, "question": "q", "db_id": "farm", "gold_tables": "dog"},
        {"question_id": None, "question": "q", "db_id": "farm", "gold_tables": ["dog"]},
    ]
    asked = read_questions(rows, ("sqlite",)).over(CATALOG)
    assert [found.id for found in asked.questions] == ["entry 3"]
    assert [str(problem) for problem in asked.problems] == [
        "question entry 1: its gold_tables are no list of names",
        "question 0: its gold_tables are no list of names",
    ]


def test_gold_is_read_from_sql_where_none_is_given() -> None:
    row = question(1, "q", [], sql="SELECT * FROM Dog JOIN cat ON 1")
    (found,) = read_questions([row], ("sqlite",)).over(CATALOG).questions
    assert found.gold == (TableId("farm", "Cat"), TableId("farm", "dog"))


def test_every_kind_of_bad_question_is_named() -> None:
    rows = [
        question(1, "fine", ["cat"]),
        question(1, "again", ["cat"]),
        question(2, " ", ["cat"]),
        question(3, "broken", [], sql="SELEC"),
        question(4, "tableless", [], sql="SELECT 1"),
        question(5, "unknown", ["cat", "cow"]),
        {**question(6, "which dog", ["dog"]), "db_id": ""},
        {**question(7, "this dog", ["wood::DOG"]), "db_id": ""},
    ]
    asked = read_questions(rows, ("sqlite",)).over(CATALOG)
    assert [found.id for found in asked.questions] == ["1", "7"]
    reasons = [(problem.question, problem.reason.split(" (")[0]) for problem in asked.problems]
    assert reasons == [
        ("1", "its id is there twice"),
        ("2", "it has no text"),
        ("3", "its SQL cannot be read"),
        ("4", "its SQL reads no table"),
        ("5", "its gold table farm::cow is not in the catalog"),
        ("6", "its gold table dog may be any of farm::dog, wood::dog"),
    ]
    with pytest.raises(
        DatasetError, match=r"^6 questions of farm .*question 1: .*; and 3 more; .*--skip-bad$"
    ):
        asked.refuse_bad("farm")


def test_names_that_differ_in_case_alone_are_told_apart_where_both_are_there() -> None:
    both = [TableId("lake", "a"), TableId("lake", "A")]
    row = {**question(1, "q", ["A"]), "db_id": "lake"}
    assert read_questions([row], ()).over(both).questions[0].gold == (TableId("lake", "A"),)


def test_disagreements_between_gold_and_sql() -> None:
    rows = [
        question(1, "same", ["Cat"], sql="SELECT * FROM cat c"),
        question(2, "less", ["cat", "dog"], sql="SELECT * FROM cat"),
        question(3, "broken", ["cat"], sql="SELECT FROM WHERE"),
        question(4, "without", ["cat"]),
    ]
    found = disagreements(read_questions(rows, ("sqlite",)).questions, ("sqlite",))
    assert [problem.question for problem in found] == ["2", "3"]
    assert found[0].reason == "SQL and gold differ in dog"


def some(sizes: dict[int, int]) -> list[Question]:
    tables = [TableId("s", str(number)) for number in range(9)]
    listed = [size for size, count in sizes.items() for _ in range(count)]
    return [Question(str(n), "q", tuple(tables[:size])) for n, size in enumerate(listed)]


def test_a_third_is_a_third_of_every_stratum() -> None:
    questions = some({2: 300, 3: 60, 4: 10, 5: 1})
    third = stratified(questions, Fraction(1, 3), seed=42)
    assert Counter(len(question.gold) for question in third) == {2: 100, 3: 20, 4: 3}
    assert list(third) == [question for question in questions if question in third]
    assert third == stratified(questions, Fraction(1, 3), seed=42)
    assert third != stratified(questions, Fraction(1, 3), seed=43)
    assert stratified(questions, Fraction(1), seed=1) == tuple(questions)
