"""In-sample figures are marked: by the data, in every table of a report, on the committed pages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dovetail_bench.in_sample import CHOSEN, FITTED, MARKS, NOTES, in_sample, mark_of
from dovetail_bench.programs.results import PAGES, read_chapters, unmarked
from dovetail_bench.reporting.report import make_report, marked
from dovetail_bench.reporting.tabular import Column, Row, Table, cells
from dovetail_bench.reporting.writing import write_report
from runs import asked, record, write_run

PUBLIC = ("spider_dev", "bird_dev", "mmqa", "beaver")


@pytest.mark.parametrize(
    ("retriever", "dataset", "kind"),
    [
        ("graph", "mmqa", FITTED),
        ("graph:0.4", "mmqa", FITTED),
        ("core-t:paper+0.3", "mmqa", ""),
        *(("search", dataset, CHOSEN) for dataset in PUBLIC),
        *(("graph", dataset, CHOSEN) for dataset in PUBLIC if dataset != "mmqa"),
        *(("dense", dataset, "") for dataset in PUBLIC),
        ("graph", "sample", ""),
        ("another", "mmqa", ""),
    ],
)
def test_what_has_seen_which_corpus(retriever: str, dataset: str, kind: str) -> None:
    assert in_sample(retriever, dataset) == kind


def test_a_table_marks_its_rows_and_says_what_the_marks_mean() -> None:
    rows = (Row(cells("dense@5", 1.0)), Row(cells("graph@5, dense@5", 2.0)))
    theirs = Row(cells("graph@5", 3.0), published="a model")
    table = Table("t", "t", (Column("pair"), Column("F1")), (*rows, theirs), note="First.")
    found = marked(table, "mmqa")
    assert [row.cells[0].mark for row in found.rows] == ["", MARKS[FITTED], ""]
    assert found.note == f"First. {NOTES[FITTED]}"
    assert marked(table, "sample") == table


def test_reports_carry_the_marks(tmp_path: Path) -> None:
    questions = [asked(number, "ab") for number in range(4)]
    for name in ("dense", "graph", "search"):
        records = [record(question.id, "ab") for question in questions]
        write_run(tmp_path / "runs", name, questions, records, dataset="mmqa")
    write_report(make_report([tmp_path / "runs"]), tmp_path / "report")
    figures = json.loads((tmp_path / "report" / "figures.json").read_text("utf-8"))
    kinds = {row["system"]: row["in_sample"] for row in figures["mmqa"]["selection"]}
    assert kinds == {"dense@4": None, "graph@4": FITTED, "search@4": CHOSEN}
    text = (tmp_path / "report" / "report.md").read_text("utf-8")
    assert f"| graph@4<sup>{MARKS[FITTED]}</sup> |" in text
    assert NOTES[CHOSEN] in text
    assert NOTES[FITTED] in text


def test_the_committed_tables_are_marked() -> None:
    checked = 0
    for name, tables in read_chapters(PAGES).items():
        corpus = name.partition(" with ")[0]
        for title, row in ((title, row) for title, rows in tables.items() for row in rows):
            subject = title.partition(": ")[0]
            dataset = subject if subject in PUBLIC else corpus
            column = next((each for each in ("system", "systems", "pair") if each in row), None)
            if column and not row.get("run", "").startswith("published"):
                label, mark = unmarked(row[column])
                assert mark == mark_of(label, dataset), f"{name}: {label}"
                checked += 1
    assert checked > 100
