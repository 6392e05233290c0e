"""The report: what the page holds, how tables read in each form, and that it can be made again."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dovetail.cli import app
from dovetail.settings import Settings
from dovetail_bench.datasets import Dataset
from dovetail_bench.joins import bench_joins
from dovetail_bench.programs.pages import PAGES, read_chapters, unmarked
from dovetail_bench.programs.results import WANTED
from dovetail_bench.question_filter import QuestionFilter
from dovetail_bench.reporting.as_latex import table_latex
from dovetail_bench.reporting.as_markdown import table_markdown
from dovetail_bench.reporting.plots import figure
from dovetail_bench.reporting.report import Chapter, Origin, make_report
from dovetail_bench.reporting.tabular import (
    HIGH,
    LOW,
    Cell,
    Column,
    Line,
    Plot,
    Row,
    Table,
    cells,
    text_of,
)
from dovetail_bench.reporting.writing import figures, write_report
from dovetail_bench.retrieval import bench_retrieval
from dovetail_bench.run_config import RunConfig
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


def test_latex() -> None:
    text = table_latex(TABLE, "toy", (Origin(1, Path("a.jsonl"), "dovetail x"),))
    lines = text.splitlines()
    assert lines[0] == "% run 1: a.jsonl: dovetail x"
    assert r"one\_a & \textbf{50.0}$^{\mathrm{b}}$ & \underline{5.0} & 1 \\" in lines
    assert r"two & \underline{40.0} & \textbf{4.0} & 2 \\" in lines
    assert lines[lines.index(r"\bottomrule") - 2] == r"\midrule"
    assert lines[lines.index(r"\bottomrule") - 1] == r"theirs & 99.0 & 1.0 & published: a model \\"
    assert r"\begin{tabular}{lrrl}" in lines
    assert text.count("{") == text.count("}")
    told = Table("t", "t", (Column("question"), Column("F1")), (Row(cells("why " * 20, 1.0)),))
    assert r"\begin{tabular}{p{0.3\linewidth}rl}" in table_latex(told, "toy", ())


def test_a_plot_puts_points_where_they_belong() -> None:
    drawn = figure(Plot("t", "x", "y", (Line("one", ((0, 0), (10, 100))),)))
    points = re.findall(r'class="point s0" cx="([\d.]+)" cy="([\d.]+)" r="3.5"><title>', drawn)
    # Corners of the frame: left and bottom, right and top.
    assert points == [("52.0", "296.0"), ("470.0", "16.0")]
    assert '<path class="line s0" d="M52.0 296.0L470.0 16.0"/>' in drawn
    assert [*re.findall(r'text-anchor="end">([^<]+)<', drawn)] == [
        "0",
        "20",
        "40",
        "60",
        "80",
        "100",
    ]


class Page(HTMLParser):
    """What a page holds: ids, links, and the links of cells with numbers."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.unlinked = 0
        self._published = self._number = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.tags.add(tag)
        self.attributes |= given.keys()
        if tag == "tr":
            self._published = given.get("class") == "published"
        if tag == "td" and "data-value" in given and not self._published:
            self._number = True
            self.unlinked += 1
        if tag == "a":
            self.links.append(given["href"] or "")
            self.unlinked -= self._number
            self._number = False
        if "id" in given:
            self.ids.append(given["id"] or "")


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """A report of two runs on a dataset whose names are out for harm, beside published figures."""
    questions = [asked(number, "ab" if number % 2 else "a") for number in range(8)]
    for name, found in (("dense", "abxy"), (f"mine:{HOSTILE}", "a")):
        records = [record(question.id, found) for question in questions]
        write_run(tmp_path / "runs", name, questions, records, dataset="bird_dev")
    write_report(make_report([tmp_path / "runs"]), tmp_path / "report")
    return tmp_path / "report"


def test_every_number_of_the_page_leads_to_its_run(written: Path) -> None:
    page = Page((written / "index.html").read_text("utf-8"))
    assert page.unlinked == 0
    assert len(page.ids) == len(set(page.ids))
    inner = {link.removeprefix("#") for link in page.links if link.startswith("#")}
    assert {"run-1", "run-2", "bird-dev"} <= inner <= set(page.ids)
    outer = [link for link in page.links if not link.startswith("#")]
    assert len(outer) == 2
    assert all((written / link).is_file() for link in outer)


def test_numbers_stay_in_line_where_some_have_marks(tmp_path: Path) -> None:
    questions = [asked(number, "ab") for number in range(30)]
    for name, found in (("dense", "ax"), ("mine", "ab")):
        records = [record(question.id, found) for question in questions]
        write_run(tmp_path / "runs", name, questions, records)
    write_report(make_report([tmp_path / "runs"]), tmp_path / "report")
    page = (tmp_path / "report" / "index.html").read_text("utf-8")
    (section,) = re.findall(r'id="toy-selection">(.*?)</section>', page, re.DOTALL)
    assert re.findall(r'<td class="([^"]*m2)"[^>]*>.*?<sup>(.*?)</sup></td>', section) == [
        ("number second m2", ""), ("number best m2", "a"),
    ]  # fmt: skip
    assert '<th scope="col" class="number m2"><button>F1</button><sup></sup></th>' in section


def test_the_page_asks_for_nothing_else(written: Path) -> None:
    text = (written / "index.html").read_text("utf-8")
    page = Page(text)
    assert page.tags & {"img", "link", "iframe", "object", "embed", "video", "audio"} == set()
    assert page.attributes & {"src", "srcset", "data", "style", "onclick"} == set()
    assert not re.search(r"https?:|@import|url\(|fetch\(|XMLHttp", text)
    assert "default-src 'none'" in text


def test_names_are_text_in_every_form(written: Path) -> None:
    page = (written / "index.html").read_text("utf-8")
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;|_&amp;" in page
    text = re.sub("`.*?`", "", (written / "report.md").read_text("utf-8"))
    assert "<script>alert" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;\\|\\_&amp;@4" in text
    latex = (written / "tables" / "bird_dev-selection.tex").read_text("utf-8")
    shown = "".join(line for line in latex.splitlines() if not line.startswith("%"))
    assert r"\textless{}script\textgreater{}alert(1)" in shown
    assert r"\textbar{}\_\&@4" in shown


def test_published_figures_are_labelled_and_are_no_results(written: Path) -> None:
    page = (written / "index.html").read_text("utf-8")
    assert "<td>published: UAE-Large-V1, Qwen-2.5-7B-Instruct</td>" in page
    (chapter,) = json.loads((written / "figures.json").read_text("utf-8")).values()
    assert [row["system"] for row in chapter["selection"]] == ["dense@4", f"mine:{HOSTILE}@4"]
    assert "per-question" not in chapter


def test_tables_sort_in_a_browser(written: Path) -> None:
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("there is no chromium to try it in")
    file = written / "index.html"
    click = (
        "<script>document.querySelectorAll('#bird-dev-selection th button')[6].click();"
        "document.title = Array.from(document.querySelectorAll('#bird-dev-selection tbody tr'))"
        ".map(row => row.cells[6].dataset.value || 'none').join(' ');</script></body>"
    )
    tried = written / "tried.html"
    tried.write_text(file.read_text("utf-8").replace("</body>", click), encoding="utf-8")
    done = subprocess.run(
        [
            browser, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
            "--disable-background-networking", "--disable-component-update", "--disable-sync",
            f"--user-data-dir={written / 'profile'}", "--dump-dom", tried.as_uri(),
        ],
        capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    title = re.search(r"<title>([^<]*)</title>", done.stdout)
    assert title
    shown = [float(value) for value in title[1].split()]
    assert len(shown) > 10
    assert shown == sorted(shown, reverse=True)


def test_the_command(written: Path, tmp_path: Path) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text('"some/model" = { in = 1, out = 2 }\n')
    into = tmp_path / "again"
    arguments = [
        "bench",
        "report",
        str(tmp_path / "runs"),
        "-o",
        str(into),
        "--prices",
        str(prices),
    ]
    done = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert done.output.startswith(f"{into}/index.html: ")
    assert done.output.rstrip().endswith("over 1 datasets")
    for name in ("report.md", "figures.json", "tables/bird_dev-paired.tex"):
        assert (into / name).read_bytes() == (written / name).read_bytes()
    prices.write_text("nothing = 3\n")
    refused = CliRunner().invoke(app, arguments)
    assert "is no price list" in str(refused.exception)


@pytest.mark.slow
def test_two_runs_give_the_same_figures(sample_dataset: Dataset, tmp_path: Path) -> None:
    made = []
    for name in ("one", "other"):
        config = RunConfig(tmp_path / name, Settings(), workers=1 if name == "one" else 3)
        bench_retrieval(
            sample_dataset, ["search", "steiner"], [5], QuestionFilter(limit=30), config
        )
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
        document = {**bench_joins(sample_dataset, scoring), "command": ""}
        (tmp_path / "runs" / f"{scoring}.json").write_text(json.dumps(document))
    (chapter,) = make_report([tmp_path / "runs"]).chapters
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
    """What docs/results says of a dataset: by table and row, the numbers without their marks."""
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
