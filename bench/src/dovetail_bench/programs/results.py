"""All that can be measured without a language model, and the pages of results: make bench.

    dovetail bench run results [DATA ...] [--only NAMES] [--runs .bench] [--report report]

DATA are corpora: `sample`, or folders in the layout of evaluation.md; by default the sample and
whatever lies in .bench/data. `--only` names retrievers and scorings of joins. What is on disk
already is not asked again. The chapter of each corpus
that was measured is written anew on its page in docs/lab/results; results.md takes its figures from
there.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shlex
from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from fractions import Fraction
from importlib.metadata import version
from pathlib import Path

import dovetail
from dovetail.ports import Json
from dovetail.settings import Settings
from dovetail_bench.datasets import SAMPLE, Dataset, open_dataset
from dovetail_bench.joins import bench_joins
from dovetail_bench.programs.pages import PAGES, write_chapters, write_headlines
from dovetail_bench.questions import QuestionFilter
from dovetail_bench.reporting.report import Chapter, make_report
from dovetail_bench.reporting.writing import table_markdown, write_report
from dovetail_bench.retrieval import bench_retrieval
from dovetail_bench.retrievers import retriever_names
from dovetail_bench.run import RunConfig

# Rankings are asked once, deep enough for the curve over k; JAR's program is slow beyond 5.
WANTED = {
    "dense": (5, 10, 15), "search": (5, 10, 15), "graph": (5, 10), "rear": (5, 10), "jar": (5,),
}  # fmt: skip
SCORINGS = ("foreign_key", "paper", "jar")
# The paper's sample of MMQA: a third of each number of gold tables.
SHARES = {"mmqa": Fraction(1, 3)}
SHOWN = ("selection", "depth", "paired", "strata", "joinability")


def measure(
    data: str, into: Path, settings: Settings, only: Collection[str] = (*WANTED, *SCORINGS)
) -> list[Path]:
    """Run retrievers and scorings on a corpus; returns the files of the runs."""
    dataset = open_dataset(data)
    config = RunConfig(into / "runs", settings, note=print, corpus=data)
    question_filter = QuestionFilter(share=SHARES.get(dataset.name, Fraction(1)))
    rows = [
        row
        for name in sorted(WANTED.keys() & set(retriever_names()) & set(only))
        for row in print_rows(
            bench_retrieval(dataset, [name], WANTED[name], question_filter, config)
        )
    ]
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
    words = ["dovetail", "bench", "joins", data, "--scoring", scoring]
    result = {**bench_joins(dataset, scoring), "command": shlex.join([*words, "--json"])}
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{dataset.name}-{scoring}.json"
    file.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return file


def environment() -> str:
    """When, on which machine and with which versions it was measured."""
    made = datetime.now(UTC).date().isoformat()
    versions = ", ".join(f"{name} {version(name)}" for name in ("numpy", "faiss-cpu", "duckdb"))
    processor = f"{os.cpu_count()} cores, {platform.machine()}"
    return (
        f"Measured on {made}: {processor}, {platform.system()}, Python "
        f"{platform.python_version()}, dovetail {dovetail.__version__}, {versions}."
    )


def chapter_text(chapter: Chapter, shown: Collection[str] = SHOWN) -> str:
    """A chapter of the page: when and where it was measured, the tables, the commands."""
    if unknown := set(shown) - {table.name for table in chapter.tables}:
        raise ValueError(f"no report has a table {', '.join(sorted(unknown))}")
    tables = [table for table in chapter.filled if table.name in shown]
    commands = [f"{origin.number}. `{origin.command}`" for origin in chapter.origins]
    parts = [
        environment() + "\n",
        *map(table_markdown, tables),
        "### Runs\n",
        "\n".join(commands) + "\n",
    ]
    return "\n".join(parts)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", nargs="*")
    parser.add_argument("--only", default=",".join((*WANTED, *SCORINGS)), help="by commas")
    parser.add_argument("--runs", type=Path, default=Path(".bench"))
    parser.add_argument("--report", type=Path, default=Path("report"))
    parser.add_argument("--pages", type=Path, default=PAGES, help="a folder")
    given = parser.parse_args(arguments)
    found = sorted(str(file.parent) for file in Path(".bench/data").glob("*/questions.json"))
    if not given.data and not found:
        print("no corpora in .bench/data (make bench-data unpacks them): the sample alone")
    chapters: dict[str, str] = {}
    files: list[Path] = []
    for data in given.data or [SAMPLE, *found]:
        made = measure(data, given.runs, Settings(), given.only.split(","))
        (chapter,) = make_report(made).chapters
        chapters[chapter.dataset] = chapter_text(chapter)
        files += made
        write_chapters(given.pages, chapters)
    if given.pages == PAGES:
        write_headlines()
    print(write_report(make_report(files), given.report)[0])


if __name__ == "__main__":
    main()
