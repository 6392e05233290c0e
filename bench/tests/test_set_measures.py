"""Scores over families, several right sets, alternatives and questions without an answer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dovetail.domain import TableId
from dovetail_bench.custom_questions import read_rows
from dovetail_bench.directory import Directory
from dovetail_bench.errors import DatasetError
from dovetail_bench.measures import score, score_of, set_measures
from dovetail_bench.questions import Question, QuestionSet, read_questions
from dovetail_bench.run_file import Found, Record

NAMES = ["events_2022", "events_2023", "events_old", "users", "exports/churn"]
TABLES = [TableId("erp", name) for name in NAMES]
E22, E23, OLD, USERS, CHURN = TABLES
FAMILIES = {"events": ["events_20*"]}


def record(*tables: TableId, alternatives: tuple[tuple[str, ...], ...] = ()) -> Record:
    found = tuple(Found(table.source, table.name, "select", 1.0) for table in tables)
    return Record("1", found, 0, 0, 0, False, 0.0, "", alternatives=alternatives)


def asked(*gold: str, **more: object) -> Question:
    row = {"question_id": "1", "question": "what?", "gold_tables": list(gold), **more}
    resolved = read_questions([row], ("sqlite",)).over(TABLES, FAMILIES)
    assert resolved.problems == ()
    return resolved.questions[0]


@pytest.mark.parametrize(
    ("gold", "found", "f1"),
    [
        pytest.param(["events_2022"], [E22], 1.0, id="the member"),
        pytest.param(["events_2022"], [E22, E23], 1.0, id="parts of one family count once"),
        pytest.param(["events_2022", "events_2023"], [E23], 1.0, id="any part stands for it"),
        pytest.param(["events"], [E23], 1.0, id="gold names the family"),
        pytest.param(["events_2022"], [E22, OLD], 2 / 3, id="a copy is wrong"),
        pytest.param(["users"], [USERS, E22, E23], 0.5, id="a family that nobody wants is not one"),
        pytest.param(["churn"], [CHURN], 1.0, id="a file by its name without the folder"),
        pytest.param([], [], 1.0, id="nothing answers it, and nothing was found"),
        pytest.param([], [USERS], 0.0, id="nothing answers it"),
        pytest.param(["users"], [], 0.0, id="refused"),
    ],
)
def test_f1_over_logical_tables(gold: list[str], found: list[TableId], f1: float) -> None:
    scored = score_of(asked(*gold), record(*found))
    assert scored.f1 == pytest.approx(f1)
    assert scored.tables == len(found)


def test_without_families_nothing_changes() -> None:
    question = Question("1", "what?", (E22, USERS))
    assert score_of(question, record(E22, E23)) == score([E22, E23], [E22, USERS])


def test_sets_are_measured_beside_precision_and_recall() -> None:
    questions = [
        asked("users", "churn", alternative_gold=[["users"]]),
        asked("events_2022"),
        asked("users"),
        asked(),
        asked(),
    ]
    records = [
        record(USERS),
        record(OLD, alternatives=(("erp::events_2023",), ("erp::users",))),
        record(),
        record(),
        record(USERS),
    ]
    found = set_measures(questions, records)
    assert (found.exact, found.lenient_exact) == (0.2, 0.4)
    assert found.lenient_f1 == pytest.approx((1 + 0 + 0 + 1 + 0) / 5)
    assert (found.exact_any, found.pr_any) == (0.4, 0.4)
    assert (found.unanswerable, found.abstained) == (2, 0.5)
    assert found.refused == pytest.approx(1 / 3)
    assert set_measures(questions[:1], records[:1]).abstained is None


def test_a_table_is_of_one_family() -> None:
    with pytest.raises(DatasetError, match="member of two families"):
        Directory(TABLES, {"one": ["events_2022"], "two": ["events_*"]})


def test_short_names_of_columns_and_questions_without_an_answer(tmp_path: Path) -> None:
    file = tmp_path / "questions.json"
    rows = [
        {"q": "Who?", "g": ["users"], "alt": [["users", "events_2022"]], "k": "easy"},
        {"q": "How many patents?", "g": []},
    ]
    file.write_text(json.dumps(rows), "utf-8")
    found: QuestionSet = read_questions(read_rows(file), ("sqlite",)).over(TABLES)
    first, second = found.questions
    assert (first.gold, first.alternative_gold) == ((USERS,), ((E22, USERS),))
    assert (first.difficulty, first.answerable, second.answerable) == ("easy", True, False)
