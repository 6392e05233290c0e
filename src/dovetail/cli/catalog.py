"""The commands that make a catalog, have a language model describe it, and list it."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dovetail.cli import options
from dovetail.cli.output import (
    console,
    note,
    open_catalog,
    print_json,
    print_line,
    progress_bar,
    rich_table,
    settings_for,
)
from dovetail.errors import MissingModelError, UsageError
from dovetail.text import count

if TYPE_CHECKING:
    from rich.table import Table as RichTable

    from dovetail.api.catalog import Catalog
    from dovetail.domain import Skipped, Table
    from dovetail.offline.describe import DescribePlan
    from dovetail.offline.summary import DescribeSummary, UpdateSummary

# So many tables of a source that were skipped for the same reason are one line.
_MANY_SKIPPED = 5


def index(
    sources: options.Sources = None,
    catalog: options.Catalog = None,
    include: options.Include = None,
    exclude: options.Exclude = None,
    views: Annotated[bool | None, typer.Option("--views/--no-views", help="Views too.")] = None,
    sample: options.SampleRows = None,
    max_scan_bytes: options.MaxScanBytes = None,
    csv: options.ReadCsv = None,
    no_values: options.NoValues = False,
    mask_column: options.MaskColumn = None,
    forget: options.ForgetSource = None,
    dbt: options.Dbt = None,
    check: options.Check = False,
    engine: options.Engine = None,
    ray_address: options.RayAddress = None,
    workers: options.Workers = None,
    embedder: options.Embedder = None,
    llm: options.Model = None,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
) -> None:
    """Build a catalog, or bring it up to date.

    Only what changed is read. With a language model, tables are then described (dovetail describe).
    """
    from dovetail.api.building import update
    from dovetail.models.cache import open_model

    settings = settings_for(
        catalog,
        include=_if_any(include),
        exclude=_if_any(exclude),
        views=views,
        sample=sample,
        max_scan_bytes=max_scan_bytes,
        csv=csv,
        no_values=no_values or None,
        mask_columns=_if_any(mask_column),
        dbt=dbt,
        engine=engine,
        ray_address=ray_address,
        workers=workers,
        embedder=embedder,
        llm=llm,
    )
    describing = open_model(Path(settings.catalog), settings) is not None
    with progress_bar(show=not (quiet or as_json)) as on_progress:
        summary = update(
            sources or settings.sources,
            into=settings.catalog,
            settings=settings,
            forget=forget or (),
            check=check,
            describe=False,
            on_progress=on_progress,
        )
    if not (quiet or as_json):
        print_summary(summary)
    if describing:
        described = describe_tables(summary.catalog, show=not (quiet or as_json))
        summary = replace(summary, descriptions=described)
    if as_json:
        print_json(summary.to_dict())
    if any(not skip.table for skip in summary.skipped):
        raise typer.Exit(1)


def describe(
    catalog: options.Catalog = None,
    llm: options.Model = None,
    no_cache: options.NoCache = False,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Print what it would take and each request; send nothing."),
    ] = False,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
) -> None:
    """Have a language model describe tables: a sentence each, and what cryptic columns mean.

    Only tables that it has not described yet are asked about, all of its own with --no-cache;
    comments and notes that people wrote win. It
    can be stopped: what is finished is kept, and the next run goes on. Where the model fails, the
    rest is told and the exit code is 1.
    """
    opened = open_catalog(catalog, llm=llm, llm_cache=False if no_cache else None)
    if not dry_run and not opened.settings.llm:
        raise MissingModelError("describing tables")
    if dry_run:
        plan = opened.describe_plan(again=no_cache)
        requests = opened.preview(again=no_cache) if opened.settings.llm else []
        if as_json:
            print_json({"catalog": str(opened.folder), "plan": asdict(plan), "requests": requests})
            return
        print_line(_plan_line(plan))
        if requests:
            print_json({"requests": requests})
        return
    summary = describe_tables(opened, show=not (quiet or as_json), again=no_cache)
    if as_json:
        print_json({"catalog": str(opened.folder), "descriptions": asdict(summary)})
    if summary.failed:
        raise typer.Exit(1)


def describe_tables(opened: Catalog, *, show: bool, again: bool = False) -> DescribeSummary:
    """Describe the tables of a catalog; what it will take and what it came to is shown."""
    if show:
        print_line(_plan_line(opened.describe_plan(again=again)))
    try:
        with progress_bar(show=show) as on_progress:
            summary = opened.describe(on_progress=on_progress, again=again)
    except KeyboardInterrupt:
        command = shlex.join(
            ["dovetail", "describe", "-C", str(opened.folder), "--llm", opened.settings.llm or ""]
        )
        note(f"stopped; {command} goes on")
        raise
    if show:
        _print_described(summary)
    elif summary.failed:
        failed = count(len(summary.failed), "table")
        note(f"{failed} not described: {summary.failed[0].reason}")
    return summary


def tables(
    patterns: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PATTERN]...",
            help="Only tables whose name, or source::name, holds one of these; * and ? stand for "
            "any letters.",
        ),
    ] = None,
    source: options.Source = None,
    sort: Annotated[
        str, typer.Option(metavar="BY", help="Order: name, rows or columns; most first.")
    ] = "name",
    limit: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="List at most so many.")
    ] = None,
    catalog: options.Catalog = None,
    as_json: options.Json = False,
) -> None:
    """List the tables of a catalog, or those that match a pattern."""
    opened = open_catalog(catalog)
    families = opened.families()
    chosen = _in_order(opened.tables(patterns or (), sources=source), sort)
    shown = chosen[:limit]
    if as_json:
        rows = [
            {
                **table.id.to_dict(),
                "rows": table.rows,
                "columns": len(table.columns),
                "description": description and description.to_dict(),
                "family": family and family.to_dict(table.id, members=False),
            }
            for table in shown
            for family, description in [(families.of(table.id), opened.description(table))]
        ]
        print_json({"catalog": str(opened.folder), "matching": len(chosen), "tables": rows})
        return
    screen = console()
    members = [families.of(table.id) for table in shown]
    words = [one.words(table.id) if one else "" for one, table in zip(members, shown, strict=True)]
    several = len({table.source for table in opened.ids}) > 1
    screen.print(_listing(shown, words, with_source=several))
    if len(shown) < len(opened):
        screen.print(f"{len(shown):,} of {len(opened):,} tables")


def _listing(shown: Sequence[Table], families: Sequence[str], *, with_source: bool) -> RichTable:
    """Tables with a line each; in a narrow terminal keys and families are cut first."""
    more = [*(["source"] if with_source else []), *(["family"] if any(families) else [])]
    heads = ["table", "rows", "columns", *more, "keys"]
    listing = rich_table(*heads, wrap=False)
    listing.columns[0].max_width = console().width // 2
    for head, column in zip(heads, listing.columns, strict=True):
        column.no_wrap = head not in ("family", "keys")
    for table, family in zip(shown, families, strict=True):
        unique = [column.name for column in table.columns if column.profile.unique]
        keys = ", ".join(unique[:3]) + (" …" if len(unique) > 3 else "")
        cells = [table.id.source] if with_source else []
        cells += [family] if any(families) else []
        listing.add_row(table.name, f"{table.rows:,}", str(len(table.columns)), *cells, keys)
    return listing


def _in_order(listed: list[Table], sort: str) -> list[Table]:
    orders: dict[str, Callable[[Table], int]] = {
        "name": lambda _: 0,
        "rows": lambda table: -table.rows,
        "columns": lambda table: -len(table.columns),
    }
    if sort not in orders:
        raise UsageError(f"--sort {sort!r} is not known; there are: {', '.join(orders)}")
    return sorted(listed, key=orders[sort])


def _if_any(values: list[str] | None) -> tuple[str, ...] | None:
    return tuple(values) if values else None


def print_summary(summary: UpdateSummary[Catalog]) -> None:
    """What an update came to, and what to know of it."""
    counts = {
        "new": len(summary.added),
        "changed": len(summary.changed),
        "dropped": len(summary.dropped),
        "unchanged": summary.unchanged,
        "with other keys or comments": len(summary.redeclared),
    }
    screen = console()
    total = f"{count(len(summary.catalog), 'table')} in {summary.catalog.folder}"
    parts = ", ".join(f"{number} {name}" for name, number in counts.items() if number)
    if summary.added or summary.changed or summary.dropped or summary.redeclared:
        screen.print(f"{total}: {parts} ({summary.seconds:.1f} s).")
    elif summary.remade:
        remade = ", ".join(summary.remade)
        screen.print(f"{total}: none changed; made again: {remade} ({summary.seconds:.1f} s).")
    elif summary.retained:
        screen.print(f"{total}: none changed as far as they could be read.")
    else:
        verb = "is" if len(summary.catalog) == 1 else "are"
        screen.print(f"Nothing to do: {total} {verb} up to date.")
    for skipped in _skipped_lines(summary.skipped):
        print_line(f"Skipped {skipped}")
    if summary.retained:
        screen.print(
            f"{len(summary.retained)} of these are still in the catalog as they were before."
        )
    if sketched := summary.catalog.reader.sketched_columns:
        screen.print(f"Kept by sketches, large and no candidate keys: {sketched:,} columns.")
    masked = [f"{count(number, 'column')} of {kind}" for kind, number in summary.masked.items()]
    told = f"masked where values are shown: {', '.join(masked)}" if masked else ""
    for line in filter(None, (*summary.notices, told, summary.note)):
        print_line(f"Note: {line}")


def _skipped_lines(skipped: Sequence[Skipped]) -> Iterator[str]:
    """What was skipped, a line each; one for many of a source that all have the same reason."""
    alike: dict[tuple[str, str], list[str]] = {}
    for skip in skipped:
        alike.setdefault((skip.source, skip.reason), []).append(skip.table)
    reported: set[tuple[str, str]] = set()
    for skip in skipped:
        kind = (skip.source, skip.reason)
        tables = alike[kind]
        if len(tables) < _MANY_SKIPPED:
            yield str(skip)
        elif kind not in reported:
            reported.add(kind)
            named = ", ".join(tables[:3])
            yield f"{len(tables):,} tables of {skip.source} ({named}, …): {skip.reason}"


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


def _print_described(summary: DescribeSummary) -> None:
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
