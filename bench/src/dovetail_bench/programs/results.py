"""All that can be measured without a language model, and the pages of results: make bench.

    dovetail bench run results [DATA ...] [--only NAMES] [--runs .bench] [--report report]

DATA are corpora: `sample`, or folders in the layout of evaluation.md; by default the sample and
whatever lies in .bench/data. `--only` names retrievers and scorings of joins. What is on disk
already is not asked again. The page of each corpus that was measured, docs/lab/results/CORPUS.md,
is written anew; the tables of the headline page results.md are copied out of those pages, so its
figures cannot differ. With --headlines nothing is measured and only that is done.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from importlib.metadata import version
from pathlib import Path

import dovetail
from dovetail.ports import Json
from dovetail.settings import Settings
from dovetail_bench.baselines.jar import has_subquestions
from dovetail_bench.dataset_stats import dataset_stats
from dovetail_bench.datasets import SAMPLE, Dataset, open_dataset
from dovetail_bench.joins import bench_joins
from dovetail_bench.questions import QuestionFilter
from dovetail_bench.reporting.report import Options, make_report
from dovetail_bench.reporting.tabular import NONE
from dovetail_bench.reporting.writing import chapter_markdown, write_report
from dovetail_bench.retrieval import bench_retrieval
from dovetail_bench.retrievers import retriever_names
from dovetail_bench.run import RunConfig

# Rankings are asked once, deep enough for the curve over k; JAR's program is slow beyond 5.
WANTED = {
    "dense": (5, 10, 15), "search": (5, 10, 15), "graph": (5, 10), "rear": (5, 10), "jar": (5,),
}  # fmt: skip
# What the others are held against, whichever is best: as many candidates as the paper's systems.
AGAINST = "graph@10"
SCORINGS = ("foreign_key", "paper", "jar")
# What tells how alike headers are in meaning, which is half of how alike they are.
EMBEDDERS = {"paper": "minilm", "jar": "minilm"}
# As the paper draws its sample of MMQA: a third of each number of gold tables.
SHARES = {"mmqa": Fraction(1, 3)}
SHOWN = ("selection", "depth", "paired", "strata", "joinability")


def measure(
    data: str, into: Path, settings: Settings, only: Collection[str] = (*WANTED, *SCORINGS)
) -> list[Path]:
    """Run retrievers and scorings on a corpus; returns the files of the runs."""
    dataset = open_dataset(data)
    config = RunConfig(into / "runs", settings, note=print, corpus=data)
    question_filter = QuestionFilter(share=SHARES.get(dataset.name, Fraction(1)))
    rows: list[Json] = []
    for name in sorted(WANTED.keys() & set(retriever_names()) & set(only)):
        # The sub-questions of JAR's authors, where the corpus has them.
        called = "jar:authors" if name == "jar" and has_subquestions(dataset.home) else name
        made = bench_retrieval(dataset, [called], WANTED[name], question_filter, config)
        rows += print_rows(made)
    return run_files(rows) + [
        measure_joins(dataset, data, name, into / "joins") for name in SCORINGS if name in only
    ]


def print_rows(result: Json) -> list[Json]:
    """The rows of a result, each printed in a line."""
    rows: list[Json] = result["results"]
    for row in rows:
        means = f"F1 {row['f1']:.3f}, PR {row['pr']:.3f}"
        answers = f", EX {row['ex_all']:.3f} of {row['scored']}" if "scored" in row else ""
        print(f"{result['dataset']} {row['retriever']}@{row['k']}: {means}{answers}", flush=True)
    return rows


def run_files(rows: Sequence[Json]) -> list[Path]:
    """The files behind some rows, each once."""
    return list(dict.fromkeys(Path(row["run"]) for row in rows))


def measure_joins(dataset: Dataset, data: str, scoring: str, folder: Path) -> Path:
    """Measure joinability, in the form of `dovetail bench joins --json`."""
    embedder = EMBEDDERS.get(scoring, "none")
    words = ["dovetail", "bench", "joins", data, "--scoring", scoring, "--embedder", embedder]
    result = bench_joins(dataset, scoring, embedder=embedder)
    result["command"] = shlex.join([*words, "--json"])
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{dataset.name}-{scoring}.json"
    file.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return file


def environment() -> str:
    """When, on which machine and with which versions it was measured."""
    made = datetime.now(UTC).date().isoformat()
    versions = ", ".join(f"{name} {version(name)}" for name in ("numpy", "duckdb"))
    processor = f"{os.cpu_count()} cores, {platform.machine()}"
    return (
        f"Measured on {made}: {processor}, {platform.system()}, Python "
        f"{platform.python_version()}, dovetail {dovetail.__version__}, {versions}."
    )


def statistics(data: str) -> str:
    """What a corpus holds, as the paper's table of datasets has it."""
    found = dataset_stats(open_dataset(data))
    empty = (
        "" if found.empty_gold is None else f", {found.empty_gold:.1%} with an empty gold result"
    )
    return (
        f"{found.databases} databases, {found.tables} tables ({found.empty_tables} empty), "
        f"{found.rows_per_table:,.0f} rows and {found.columns_per_table:.1f} columns a table; "
        f"{found.questions:,} questions, {found.multi_table:.1%} over several tables{empty}, "
        f"{found.gold_per_question:.2f} gold tables a question."
    )


DOCS = Path(__file__).resolve().parents[4] / "docs" / "lab"
HEADLINES, PAGES = DOCS / "results.md", DOCS / "results"
INTRO = """# Results on {corpus}: every table

Written by `make bench`; the summary over all corpora is on the page
[results](../results.md), what the measures are on [evaluation](../evaluation.md).

Rows marked as published are the paper's, with the models named in the last column: other embedders,
its own copies of the corpora, and for its selectors a language model. Best in bold and second best
underlined are among our rows. All rows are the same in every run, times aside.
"""

Row = dict[str, str]
Tables = Mapping[str, list[Row]]


def write_chapters(folder: Path, chapters: Mapping[str, str]) -> None:
    """Write the page of each corpus."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in chapters.items():
        page = f"{INTRO.format(corpus=name)}\n## {name}\n\n{text.strip()}\n"
        (folder / f"{name}.md").write_text(page, encoding="utf-8")


def _split(text: str, level: str = "##") -> dict[str, str]:
    parts = re.split(rf"^{level} (.+)$", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def read_chapters(folder: Path) -> dict[str, Tables]:
    """By chapter and title the rows of every table, as cells without emphasis by column."""
    return {
        name: {title: list(_rows(body)) for title, body in _split(text, "###").items()}
        for page in sorted(folder.glob("*.md"))
        for name, text in _split(page.read_text("utf-8")).items()
    }


def _rows(body: str) -> Iterator[Row]:
    plain = re.sub(r"\*\*|</?ins>|\\(?=[^|])", "", body)
    lines = [line for line in plain.splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]
    for values in cells[2:]:
        yield dict(zip(cells[0], values, strict=True))


def unmarked(cell: str) -> tuple[str, str]:
    """The text of a cell and the mark above it.

    >>> unmarked("graph@5<sup>x</sup>")
    ('graph@5', 'x')
    """
    text, _, mark = cell.partition("<sup>")
    return text, mark.removesuffix("</sup>")


CORPORA = {
    "Spider": "spider_dev", "Bird": "bird_dev", "MMQA": "mmqa", "Beaver": "beaver",
    "sample": "sample",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Headline:
    """A headline table: from which complete table, which lines, and what a cell shows.

    A line is found by what its row has in the columns `names`, and by the models of a published
    one. `chapter` names the chapter that has the complete tables of some corpora, if there is one.
    `cost` is shown besides where a model was asked.
    """

    name: str
    source: str
    shown: str
    names: tuple[str, ...]
    lines: Mapping[str, tuple[str, ...]]
    chapter: str = ""
    cost: str = ""

    def markdown(self, chapters: Mapping[str, Tables]) -> str:
        """The table, filled from the complete ones."""
        corpora = {
            shown: chapters.get(self.chapter, {}).get(f"{name}: {self.source}", ())
            if self.chapter
            else chapters.get(name, {}).get(self.source, ())
            for shown, name in CORPORA.items()
            if not self.chapter or f"{name}: {self.source}" in chapters.get(self.chapter, {})
        }
        lines = [["", *corpora], ["---", *["---:"] * len(corpora)]]
        lines += [
            [shown, *(self._cell(key, rows) for rows in corpora.values())]
            for shown, key in self.lines.items()
        ]
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)

    def _cell(self, key: tuple[str, ...], rows: Sequence[Row]) -> str:
        for row in rows:
            plain = {column: unmarked(value)[0] for column, value in row.items()}
            _, published, models = row["run"].partition("published: ")
            if key == (*(plain[name] for name in self.names), *[models] * bool(published)):
                cost = self.cost if plain.get("calls", NONE) != NONE else ""
                text = self.shown + unmarked(row[self.names[0]])[1] + cost
                return text.format(**plain)
        return NONE


# Fallbacks and tokens a question.
_COST = " ({fallback %} %, {tokens in} + {tokens out})"
_QWEN = "UAE-Large-V1, Qwen-2.5-7B-Instruct"
TABLES = (
    Headline(
        "search-recall", "Rankings at several k", "{PR}", ("system",),
        {
            "`dense`, top 5": ("dense@5",),
            "`search`, top 5": ("search@5",),
            "`dense`, top 10": ("dense@10",),
            "`search`, top 10": ("search@10",),
            "DR@10, UAE-Large-V1, published": ("DR@10", "UAE-Large-V1"),
        },
    ),
    Headline(
        "sets", "Table-selection performance", "{F1} @ {PR}", ("system",),
        {
            "`search`, top 5": ("search@5",),
            "`graph`, k = 5": ("graph@5",),
            "`graph`, k = 10": ("graph@10",),
            "CORE-T, 7B model, published": ("CORE-T", _QWEN),
            "ReAct, 7B model, published": ("ReAct", _QWEN),
            "REAR, published": ("REAR", _QWEN),
        },
    ),
    Headline(
        "paper", "Table-selection performance", "{F1} @ {PR}", ("system",),
        {
            "DR@5": ("dense:paper@5",),
            "CORE-T": ("core-t:paper@10",),
            "without purposes": ("core-t:paper+no-purposes@10",),
            "without compatibility": ("core-t:paper+no-compatibility@10",),
            "without adjustment": ("core-t:paper+no-adjustment@10",),
            "REAR, no cross-encoder": ("rear:paper@5, no cross-encoder",),
            "ReAct": ("react:paper@10",),
            "ARM": ("arm:paper@10",),
            "ours, no model (`graph`)": ("graph@16",),
            "ours, looked for and chosen (`llm`)": ("llm@24",),
        },
        chapter="The strong model", cost=_COST,
    ),
    Headline(
        "paper-small", "Table-selection performance", "{F1} @ {PR}", ("system",),
        {
            "DR@5": ("dense:paper@5",),
            "CORE-T": ("core-t:paper@10",),
            "without purposes": ("core-t:paper+no-purposes@10",),
            "without compatibility": ("core-t:paper+no-compatibility@10",),
            "without adjustment": ("core-t:paper+no-adjustment@10",),
        },
        chapter="The small model", cost=_COST,
    ),
    Headline(
        "joins", "Joinability", "{F1} ({P} / {R})", ("scoring", "pairs"),
        {
            "inside databases": ("foreign_key", "inside databases"),
            "all pairs": ("foreign_key", "all pairs"),
            "inside databases, CORE-T's scoring": ("paper", "inside databases"),
            "all pairs, CORE-T's scoring": ("paper", "all pairs"),
            "inside databases, JAR's scoring": ("jar", "inside databases"),
            "all pairs, JAR's scoring": ("jar", "all pairs"),
        },
    ),
)  # fmt: skip


def with_headlines(text: str, folder: Path) -> str:
    """The headline page with its tables as the complete pages have them.

    A table that the page has no place for is left out.
    """
    chapters = read_chapters(folder)
    for table in TABLES:
        begin, end = f"<!-- {table.name} -->", f"<!-- end of {table.name} -->"
        before, found, rest = text.partition(f"{begin}\n")
        _, closed, after = rest.partition(end)
        if not found:
            continue
        if not closed:
            raise ValueError(f"the headline page has {begin} without {end}")
        text = f"{before}{begin}\n{table.markdown(chapters)}\n{end}{after}"
    return text


def write_headlines() -> None:
    """Fill the tables of the headline page from the complete pages."""
    text = with_headlines(HEADLINES.read_text("utf-8"), PAGES)
    HEADLINES.write_text(text, encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", nargs="*")
    parser.add_argument("--only", default=",".join((*WANTED, *SCORINGS)), help="by commas")
    parser.add_argument("--runs", type=Path, default=Path(".bench"))
    parser.add_argument("--report", type=Path, default=Path("report"))
    parser.add_argument("--pages", type=Path, default=PAGES, help="a folder")
    parser.add_argument("--headlines", action="store_true", help="measure nothing")
    given = parser.parse_args(arguments)
    if not given.headlines:
        measure_all(given)
    if given.pages == PAGES:
        write_headlines()


def measure_all(given: argparse.Namespace) -> None:
    """Measure corpora, and write their pages and a report of all."""
    found = sorted(str(file.parent) for file in Path(".bench/data").glob("*/questions.json"))
    if not given.data and not found:
        print("no corpora in .bench/data (make bench-data unpacks them): the sample alone")
    chapters: dict[str, str] = {}
    files: list[Path] = []
    only = given.only.split(",")
    against = AGAINST if "graph" in only else ""
    for data in given.data or [SAMPLE, *found]:
        made = measure(data, given.runs, Settings(), only)
        (chapter,) = make_report(made, Options(against=against))
        head = f"{environment()}\n\n{statistics(data)}"
        chapters[chapter.dataset] = f"{head}\n\n{chapter_markdown(chapter, SHOWN)}"
        files += made
        write_chapters(given.pages, chapters)
    print(write_report(make_report(files, Options(against=against)), given.report)[0])


if __name__ == "__main__":
    main()
