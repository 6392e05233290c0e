"""The commands about corpora and runs: dovetail bench data, report."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from dovetail.cli.options import Catalog as CatalogOption
from dovetail.cli.options import Json as JsonOption
from dovetail.cli.output import console, print_json, progress_bar, rich_table, settings_for
from dovetail.text import printable
from dovetail_bench.cli.options import DataArgument, numbers

_SHOWN = 10


def data(data: DataArgument, catalog: CatalogOption = None, as_json: JsonOption = False) -> None:
    """Count a corpus: its tables, its questions, and what is wrong with some of them."""
    from dovetail_bench.dataset_stats import dataset_stats
    from dovetail_bench.datasets import open_dataset

    with progress_bar(show=not as_json) as on_progress:
        counted = dataset_stats(
            open_dataset(data, catalog=catalog), settings_for(catalog), on_progress
        )
    if as_json:
        print_json(asdict(counted))
        return
    listing = rich_table(
        "dataset", "DBs", "tables", "empty", "rows/T", "cols/T", "questions", "MT%", "EG%",
        "gold",
    )  # fmt: skip
    empty_gold = "" if counted.empty_gold is None else f"{100 * counted.empty_gold:.1f}"
    listing.add_row(
        counted.dataset,
        f"{counted.databases}",
        f"{counted.tables:,}",
        f"{counted.empty_tables:,}",
        f"{counted.rows_per_table:,.0f}",
        f"{counted.columns_per_table:.1f}",
        f"{counted.questions:,}",
        f"{100 * counted.multi_table:.1f}",
        empty_gold,
        f"{counted.gold_per_question:.2f}",
    )
    screen = console()
    screen.print(listing)
    for title, found in (
        ("cannot be scored", counted.problems),
        ("have SQL and gold that differ", counted.disagreements),
    ):
        if found:
            screen.print(f"{len(found)} questions {title}, among them:", highlight=False)
        for problem in found[:_SHOWN]:
            screen.print(f"  {printable(str(problem))}", highlight=False, markup=False)


def report(
    runs: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUNS...",
            help="Run files, JSON of dovetail bench joins, or folders with either.",
        ),
    ],
    into: Annotated[
        Path, typer.Option("-o", "--into", metavar="FOLDER", help="Where the report is written.")
    ] = Path("report"),
    k: Annotated[
        str, typer.Option("--k", metavar="NUMBERS", help="Where rankings are cut.")
    ] = "5,10",
    against: Annotated[
        str,
        typer.Option(metavar="SYSTEM", help="What others are held against; else the best F1."),
    ] = "",
    quantile: Annotated[
        float,
        typer.Option(
            min=0, max=1, metavar="SHARE", help="Gold tables of the least relevance are connectors."
        ),
    ] = 0.2,
) -> None:
    """Make a report of runs: every table and test, beside the published figures."""
    from dovetail_bench.reporting.report import Options, make_report
    from dovetail_bench.reporting.writing import write_report

    made = make_report(runs, Options(tuple(numbers(k)), against, quantile))
    files = write_report(made, into)
    tables = sum(len(chapter.filled) for chapter in made)
    told = f"{files[0]}: {tables} tables over {len(made)} datasets"
    console().print(told, highlight=False, markup=False, soft_wrap=True)
