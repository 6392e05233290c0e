"""The command that measures answers: dovetail bench sql."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dovetail.cli.bench_options import (
    DataArgument,
    EvidenceOption,
    KOption,
    LimitOption,
    PurposesOption,
    RunsOption,
    SeedOption,
    ShareOption,
    SkipBadOption,
    SourceOption,
    WorkersOption,
    named,
    numbers,
    share_of,
)
from dovetail.cli.options import CatalogOption, JsonOption, LLMOption, settings_for
from dovetail.cli.output import console, note, plain, print_json, rich_table
from dovetail.cli.progress import progress_bar

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


def bench_sql(
    data: DataArgument,
    retriever: Annotated[
        str,
        typer.Option(
            metavar="NAMES",
            help="Retrievers, separated by commas; oracle stands for the gold tables.",
        ),
    ],
    k: KOption = "5",
    llm: LLMOption = None,
    purposes: PurposesOption = False,
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
    evidence: EvidenceOption = False,
    share: ShareOption = "1",
    seed: SeedOption = 42,
    limit: LimitOption = None,
    source: SourceOption = "",
    skip_bad: SkipBadOption = False,
    catalog: CatalogOption = None,
    runs: RunsOption = Path("runs"),
    workers: WorkersOption = 1,
    as_json: JsonOption = False,
) -> None:
    """Hold the rows of SQL that a model writes against those of the gold SQL."""
    from dovetail.bench.datasets import open_dataset
    from dovetail.bench.question_filter import QuestionFilter
    from dovetail.bench.retrieval import RunConfig
    from dovetail.bench.sql import bench_sql as measure

    question_filter = QuestionFilter(
        evidence, share_of(share), seed, limit, skip_bad, tuple(named(source)), purposes
    )
    settings = settings_for(catalog, llm=llm, sql_repair=repair)
    with progress_bar(show=not as_json) as watch:
        config = RunConfig(runs, settings, workers, watch, note, str(data))
        dataset = open_dataset(data, catalog=catalog)
        result = measure(
            dataset, named(retriever), numbers(k), question_filter, config, engine=engine
        )
    if as_json:
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
        name = plain(f"{row['retriever']}@{row['k']}")
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
    for line in said:
        screen.print(line, highlight=False)
