"""The command that measures answers: dovetail bench sql."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from dovetail.cli.output import console, print_json, progress_bar, rich_table
from dovetail_bench.cli.options import (
    DataArgument,
    KOption,
    RunOptions,
    mark_notes,
    marked_name,
    named,
    numbers,
    with_run_options,
)

if TYPE_CHECKING:
    from dovetail.ports import Json

_ERRORS = {
    "recall": "recall",
    "precision": "precision",
    "schema": "schema_linking",
    "format": "formatting",
    "fails": "execution",
    "timeout": "timeout",
    "other": "result",
}
_SHARES = ("f1", "pr", "ex_all", "ex_mt", "ex_pr", "ex_given_pr")


@with_run_options
def bench_sql(
    data: DataArgument,
    options: RunOptions,
    retriever: Annotated[
        str,
        typer.Option(
            metavar="NAMES",
            help="Retrievers, separated by commas; oracle stands for the gold tables.",
        ),
    ],
    k: KOption = "5",
    engine: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Where SQL runs: duckdb or sqlite [sqlite where all sources are SQLite files].",
        ),
    ] = None,
    repair: Annotated[
        bool | None,
        typer.Option(
            "--repair/--no-repair",
            show_default=False,
            help="Send SQL that cannot run back once [as the setting sql_repair says].",
        ),
    ] = None,
) -> None:
    """Hold the rows of SQL that a model writes against those of the gold SQL."""
    from dovetail_bench.sql import bench_sql as measure

    question_filter = options.question_filter()
    with progress_bar(show=not options.as_json) as on_progress:
        config = options.run_config(data, on_progress, sql_repair=repair)
        result = options.measured(
            data,
            lambda corpus: measure(
                corpus, named(retriever), numbers(k), question_filter, config, engine=engine
            ),
        )
    if options.as_json:
        print_json(result)
    else:
        _print(result)


def _print(result: Json) -> None:
    listing = rich_table(
        "retriever", "tables", "F1", "PR", "EX", "MT", "and PR", "if PR", "tokens",
    )  # fmt: skip
    wrong = rich_table("retriever", *_ERRORS)
    said = []
    for row in result["results"]:
        name = f"{marked_name(row)}@{row['k']}"
        listing.add_row(
            name,
            f"{row['avg_tables']:.1f}",
            *(f"{100 * row[name]:.1f}" for name in _SHARES),
            f"{row['tokens_in'] + row['tokens_out']:,.0f}",
        )
        wrong.add_row(name, *(str(row["errors"][error]) for error in _ERRORS.values()))
        said.append(
            f"{name}: {row['scored']} scored, {row['pending']} pending; "
            f"{row['repairs']['tried']} sent back, of which {row['repairs']['right']} right then"
        )
    screen = console()
    first = result["results"][0]
    left_out = f", {first['unusable']} without usable gold SQL" if first["unusable"] else ""
    screen.print(
        f"{result['dataset']}: {result['questions']} questions over {result['tables']} tables"
        f"{left_out}; {first['settings']['sql_model']}, {first['settings']['sql_engine']}",
        highlight=False,
    )
    screen.print(listing)
    screen.print(wrong)
    for line in [*said, *mark_notes(result["results"])]:
        screen.print(line, highlight=False)
