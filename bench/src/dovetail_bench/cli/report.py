"""The command that makes a report of runs: dovetail bench report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dovetail.cli.output import console
from dovetail_bench.cli.options import numbers


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
    tables = sum(len(chapter.filled) for chapter in made.chapters)
    told = f"{files[0]}: {tables} tables over {len(made.chapters)} datasets"
    console().print(told, highlight=False, markup=False, soft_wrap=True)
