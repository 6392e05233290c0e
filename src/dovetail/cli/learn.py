"""The command that learns from past queries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from dovetail.cli.options import CatalogOption, JsonOption, SourceOption, open_catalog, settings_for
from dovetail.cli.output import console, note, print_json, printable
from dovetail.errors import UsageError

if TYPE_CHECKING:
    from dovetail.api.learning import LearnSummary


def learn(
    logs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="LOG...",
            help="Past queries: a .sql script; CSV, JSON or Parquet with a column sql or query "
            "(and question, calls, start_time); a postgresql:// or mysql:// URL or the label of "
            "such a source, whose statistics of statements are read.",
        ),
    ] = None,
    dialect: Annotated[
        str, typer.Option(metavar="NAME", help="Their SQL: postgres, bigquery, … [the sources'].")
    ] = "",
    source: SourceOption = None,
    keep_literals: Annotated[
        bool, typer.Option("--keep-literals", help="Keep the literals of sample queries too.")
    ] = False,
    forget: Annotated[
        bool, typer.Option("--forget", help="Forget these logs, or all that were learnt.")
    ] = False,
    catalog: CatalogOption = None,
    as_json: JsonOption = False,
) -> None:
    """Learn from past queries which tables are used, and how people join them.

    A log that was learnt before counts once; one that changed takes its older self's place.
    """
    from dovetail.api.learning import LearnOptions, forget_logs
    from dovetail.api.learning import learn as learn_logs

    opened, settings = open_catalog(catalog), settings_for(catalog)
    if forget:
        summary, _ = forget_logs(opened, logs or (), settings)
    elif logs:
        options = LearnOptions(dialect, tuple(source or ()), keep_literals)
        summary, _ = learn_logs(opened, logs, settings, options)
    else:
        raise UsageError("name a log of queries to learn from, or --forget what was learnt")
    if as_json:
        print_json({"catalog": str(opened.folder), **summary.to_dict()})
    else:
        _print(summary)
    if summary.failed:
        raise typer.Exit(1)


def _print(summary: LearnSummary) -> None:
    from dovetail.catalog.usage import queries

    screen = console()
    for log in summary.learnt:
        counts = {
            "other statement": log.others,
            "broken one": log.broken,
            "join": len(log.joins),
            "example": len(log.examples),
        }
        parts = [f"{count:,} {what}{'s' * (count != 1)}" for what, count in counts.items() if count]
        tables = f"{len(log.tables):,} table{'s' * (len(log.tables) != 1)}"
        line = ", ".join([f"{log.name}: {queries(log.queries)} over {tables}", *parts])
        screen.print(printable(line), soft_wrap=True)
    for name in summary.unchanged:
        screen.print(printable(f"{name}: learnt before, and counted once"), soft_wrap=True)
    for name in summary.forgotten:
        screen.print(printable(f"{name}: forgotten"), soft_wrap=True)
    for line in summary.failed:
        note(line)
