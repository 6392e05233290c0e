"""The report: what the page holds, how tables read in each form, and that it can be made again."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dovetail.cli import app
from dovetail.settings import Settings
from dovetail_bench.datasets import Dataset
from dovetail_bench.joins import bench_joins
from dovetail_bench.programs.results import (
    AGAINST,
    EMBEDDERS,
    PAGES,
    WANTED,
    read_chapters,
    unmarked,
)
from dovetail_bench.questions import QuestionFilter
from dovetail_bench.reporting.report import Chapter, Options, make_report
from dovetail_bench.reporting.tabular import (
    HIGH,
    LOW,
    Cell,
    Column,
    Row,
    Table,
    cells,
    text_of,
)
from dovetail_bench.reporting.writing import figures, table_markdown, write_report
from dovetail_bench.retrieval import bench_retrieval
from dovetail_bench.run import RunConfig
from runs import asked, record, write_run

HOSTILE = "<script>alert(1)</script>|_&"
TABLE = Table(
    "small",
    "A small table",
    (Column("system"), Column("F1", HIGH), Column("tables", LOW)),
    (
        Row((Cell("one_a"), Cell(50.04, "b"), Cell(5.0)), runs=(1,)),
        Row(cells("two", 40.0, 4.0), runs=(2,)),
        Row(cells("three", 30.0, None), runs=(1, 2)),
        Row(cells("theirs", 99.0, 1.0), published="a model"),
    ),
)


def test_markdown() -> None:
    assert table_markdown(TABLE).splitlines() == [
        "### A small table",
        "",
        "| system | F1 | tables | run |",
        "| --- | ---: | ---: | --- |",
        "| one\\_a | **50.0**<sup>b</sup> | <ins>5.0</ins> | 1 |",
        "| two | <ins>40.0</ins> | **4.0** | 2 |",
        "| three | 30.0 | \N{EN DASH} | 1, 2 |",
        "| theirs | 99.0 | 1.0 | published: a model |",
    ]


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """A report of two runs on a dataset whose names are out for harm, beside published figures."""
    questions = [asked(number, "ab" if number % 2 else "a") for number in range(8)]
    for name, found in (("dense", "abxy"), (f"mine:{HOSTILE}", "a")):
        records = [record(question.id, found) for question in questions]
        write_run(tmp_path / "runs", name, questions, records, dataset="bird_dev")
    write_report(make_report([tmp_path / "runs"]), tmp_path / "report")
    return tmp_path / "report"


def test_names_are_text(written: Path) -> None:
    text = re.sub("`.*?`", "", (written / "report.md").read_text("utf-8"))
    assert "<script>alert" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;\\|\\_&amp;@4" in text


def test_published_figures_are_labelled_and_are_no_results(written: Path) -> None:
    text = (written / "report.md").read_text("utf-8")
    assert "| published: UAE-Large-V1, Qwen-2.5-7B-Instruct |" in text
    (chapter,) = json.loads((written / "figures.json").read_text("utf-8")).values()
    assert [row["system"] for row in chapter["selection"]] == ["dense@4", f"mine:{HOSTILE}@4"]


def test_the_command(written: Path, tmp_path: Path) -> None:
    into = tmp_path / "again"
    arguments = ["bench", "report", str(tmp_path / "runs"), "-o", str(into)]
    done = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert done.output.startswith(f"{into}/report.md: ")
    assert done.output.rstrip().endswith("over 1 datasets")
    for name in ("report.md", "figures.json"):
        assert (into / name).read_bytes() == (written / name).read_bytes()


@pytest.mark.slow
def test_two_runs_give_the_same_figures(sample_dataset: Dataset, tmp_path: Path) -> None:
    made = []
    for name in ("one", "other"):
        config = RunConfig(tmp_path / name, Settings(), workers=1 if name == "one" else 3)
        bench_retrieval(sample_dataset, ["search", "graph"], [5], QuestionFilter(limit=30), config)
        made.append(figures(make_report([tmp_path / name])))
    assert json.dumps(made[0]) == json.dumps(made[1])
    assert [row["questions"] for row in made[0]["sample"]["selection"]] == [30, 30]


# JAR's program stops after some seconds: the one row that a busy machine may change.
SLOW = "jar"


@pytest.mark.slow
def test_the_committed_figures_are_those_of_a_fresh_run(
    sample_dataset: Dataset, tmp_path: Path
) -> None:
    committed = committed_figures("sample")
    shown = {label for label in committed["Table-selection performance"] if SLOW not in label}
    # A label may go on with what a system runs without.
    assert {f"{name}@{k}" for name, ks in WANTED.items() for k in ks if k <= 10} == {
        label.partition(", ")[0] for label in committed["Table-selection performance"]
    }, "make bench DATA=sample"
    systems: dict[str, set[int]] = {}
    for label in shown | set(committed["Rankings at several k"]):
        name, _, k = label.partition(", ")[0].partition("@")
        systems.setdefault(name, set()).add(int(k))
    config = RunConfig(tmp_path / "runs", Settings())
    for name, ks in systems.items():
        bench_retrieval(sample_dataset, [name], sorted(ks), QuestionFilter(), config)
    for scoring in ("foreign_key", "paper", "jar"):
        document = {**bench_joins(sample_dataset, scoring, embedder=EMBEDDERS.get(scoring, "none"))}
        (tmp_path / "runs" / f"{scoring}.json").write_text(json.dumps(document))
    (chapter,) = make_report([tmp_path / "runs"], Options(against=AGAINST))
    compared = 0
    for table in fresh_tables(chapter):
        for label, values in table_figures(table):
            assert committed[table.title][label] == values, f"{table.title}: make bench DATA=sample"
            compared += 1
    assert compared >= 30


def fresh_tables(chapter: Chapter) -> Iterator[Table]:
    """The tables whose rows do not depend on which other systems there are."""
    for table in chapter.filled:
        if table.name in ("selection", "depth", "strata", "joinability"):
            yield table


def table_figures(table: Table) -> Iterator[tuple[str, list[str]]]:
    """The rows of a table: label, and the numbers as they are shown."""
    for row in table.rows:
        shown = [
            text_of(cell, column) for cell, column in zip(row.cells, table.columns, strict=True)
        ]
        if table.name == "selection":
            shown = shown[1:]
        if table.name == "joinability":
            shown = [f"{shown[0]}, {shown[1]}", *shown[2:]]
        if table.name == "strata":
            shown = shown[:-1]
        yield shown[0], shown[1:]


def committed_figures(dataset: str) -> dict[str, dict[str, list[str]]]:
    """What a page says of a dataset: by table and row, the numbers without their marks."""
    found: dict[str, dict[str, list[str]]] = {}
    for title, rows in read_chapters(PAGES)[dataset].items():
        cells = [[unmarked(cell)[0] for cell in row.values()] for row in rows]
        if title == "Table-selection performance":
            cells = [row[1:] for row in cells]
        if title == "Joinability":
            cells = [[f"{row[0]}, {row[1]}", *row[2:]] for row in cells]
        if title.startswith("F1 by difficulty"):
            cells = [row[:-1] for row in cells]
        found[title] = {row[0]: row[1:-1] for row in cells}
    return found
