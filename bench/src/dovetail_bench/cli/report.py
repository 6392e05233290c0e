"""The command that makes a report of runs: dovetail bench report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dovetail.cli.output import console
from dovetail.errors import NotFoundError, UsageError
from dovetail_bench.cli.options import numbers

if TYPE_CHECKING:
    from dovetail_bench.reporting.costs import Price


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
    prices: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="TOML: a million tokens per model, in and out, for the cost."
        ),
    ] = None,
    quantile: Annotated[
        float,
        typer.Option(
            min=0, max=1, metavar="SHARE", help="Gold tables of the least relevance are connectors."
        ),
    ] = 0.2,
) -> None:
    """Make a page of runs: every table, plot and test, beside the published figures."""
    from dovetail_bench.reporting.report import Options, make_report
    from dovetail_bench.reporting.writing import write_report

    listed = read_prices(prices) if prices else {}
    made = make_report(runs, Options(tuple(numbers(k)), against, listed, quantile))
    files = write_report(made, into)
    tables = sum(len(chapter.filled) for chapter in made.chapters)
    told = f"{files[0]}: {tables} tables over {len(made.chapters)} datasets"
    console().print(told, highlight=False, markup=False, soft_wrap=True)


def read_prices(file: Path) -> dict[str, Price]:
    """A price list: `"model" = { in = 0.15, out = 0.60 }`, for a million tokens each."""
    import tomllib

    from dovetail_bench.reporting.costs import Price

    if not file.is_file():
        raise NotFoundError(f"there is no price list {file}")
    try:
        listed = tomllib.loads(file.read_text("utf-8"))
        return {
            name: Price(float(price["in"]), float(price["out"])) for name, price in listed.items()
        }
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError(
            f'{file} is no price list: {error}; it has lines like "model" = {{in = 1, out = 2}}'
        ) from None
