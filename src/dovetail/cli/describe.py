"""The command that has a language model describe tables; index does the same at its end."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from dovetail.cli.output import (
    CatalogOption,
    JsonOption,
    LLMOption,
    NoCacheOption,
    QuietOption,
    note,
    open_catalog,
    print_json,
    print_line,
    progress_bar,
)
from dovetail.errors import MissingModelError
from dovetail.text import count

if TYPE_CHECKING:
    from dovetail.api.catalog import Catalog
    from dovetail.offline.describe import DescribePlan
    from dovetail.offline.summary import DescribeSummary


def describe(
    catalog: CatalogOption = None,
    llm: LLMOption = None,
    no_cache: NoCacheOption = False,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Print what it would take and each request; send nothing."),
    ] = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Have a language model describe tables: a sentence each, and what cryptic columns mean.

    Only tables that it has not described yet are asked about; comments that people wrote win. It
    can be stopped: what is finished is kept, and the next run goes on. Where the model fails, the
    rest is told and the exit code is 1.
    """
    opened = open_catalog(catalog, llm=llm, llm_cache=False if no_cache else None)
    if not dry_run and not opened.settings.llm:
        raise MissingModelError("describing tables")
    if dry_run:
        plan = opened.describe_plan()
        requests = opened.preview() if opened.settings.llm else []
        if as_json:
            print_json({"catalog": str(opened.folder), "plan": asdict(plan), "requests": requests})
            return
        print_line(_plan_line(plan))
        if requests:
            print_json({"requests": requests})
        return
    summary = describe_tables(opened, show=not (quiet or as_json))
    if as_json:
        print_json({"catalog": str(opened.folder), "descriptions": asdict(summary)})
    if summary.failed:
        raise typer.Exit(1)


def describe_tables(opened: Catalog, *, show: bool) -> DescribeSummary:
    """Describe the tables of a catalog; what it will take and what it came to is shown."""
    if show:
        print_line(_plan_line(opened.describe_plan()))
    try:
        with progress_bar(show=show) as on_progress:
            summary = opened.describe(on_progress=on_progress)
    except KeyboardInterrupt:
        note(f"stopped; dovetail describe -C {opened.folder} goes on")
        raise
    if show:
        _print_summary(summary)
    elif summary.failed:
        failed = count(len(summary.failed), "table")
        note(f"{failed} not described: {summary.failed[0].reason}")
    return summary


def _plan_line(plan: DescribePlan) -> str:
    """What describing will take, in a line."""
    if not plan.tables:
        return f"All {plan.described:,} logical tables are described."
    total = plan.tables + plan.described
    cost = f", about {plan.cost:.4f} in price" if plan.cost else ""
    return (
        f"{plan.tables:,} of {total:,} logical tables to describe: {plan.requests:,} requests, "
        f"about {plan.tokens_in:,} tokens in and {plan.tokens_out:,} out{cost}."
    )


def _print_summary(summary: DescribeSummary) -> None:
    counts = {
        "written": summary.written,
        "kept": summary.reused,
        "pending": summary.pending,
        "failed": len(summary.failed),
    }
    parts = [f"{count:,} {name}" for name, count in counts.items() if count]
    tokens = f"{summary.tokens_in:,} tokens in, {summary.tokens_out:,} out"
    cost = f", cost {summary.cost:.4f}" if summary.cost else ""
    print_line(f"Described by {summary.model}: {', '.join(parts)} ({tokens}{cost}).")
    reasons: dict[str, list[str]] = {}
    for skip in summary.failed:
        reasons.setdefault(skip.reason, []).append(skip.table)
    for reason, tables in reasons.items():
        named = ", ".join(tables[:3]) + (f" and {len(tables) - 3:,} more" if tables[3:] else "")
        print_line(f"Not described: {named}: {reason}")
