"""The commands that make and show a catalog: index, tables, show, demo."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dovetail.cli.options import (
    CatalogOption,
    EmbedderOption,
    JsonOption,
    LLMOption,
    QuietOption,
    open_catalog,
    settings_for,
)
from dovetail.cli.output import console, plain, print_json, printable, rich_table
from dovetail.cli.progress import progress_bar

if TYPE_CHECKING:
    from dovetail.domain import Column, Table
    from dovetail.offline.build import UpdateSummary
    from dovetail.offline.purpose import PurposeSummary
    from dovetail.settings import Settings


_DEMO_QUESTION = "Which suppliers delivered late to schools in Riverside?"


def index(
    sources: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="SOURCE...",
            help="SQLite or DuckDB file; CSV, TSV, Parquet or JSON file; a folder or glob of them; "
            "postgresql:// or mysql:// URL. NAME=SOURCE gives it a label. Without any, all sources "
            "of the catalog are brought up to date.",
        ),
    ] = None,
    catalog: CatalogOption = None,
    include: Annotated[
        list[str] | None,
        typer.Option(metavar="PATTERN", help="Only tables that match the pattern (repeatable)."),
    ] = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option(metavar="PATTERN", help="No tables that match the pattern (repeatable)."),
    ] = None,
    views: Annotated[bool | None, typer.Option("--views/--no-views", help="Views too.")] = None,
    comparison: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="How values compare: coerced, string or typed [coerced]."
        ),
    ] = None,
    forget: Annotated[
        list[str] | None,
        typer.Option(metavar="LABEL", help="Drop a source by its label (repeatable)."),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Read every table again, whatever its source says.")
    ] = False,
    engine: Annotated[
        str | None, typer.Option(metavar="NAME", help="Where to work: local or ray [local].")
    ] = None,
    ray_address: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="The Ray cluster to use.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Worker processes [as many as pay off].")
    ] = None,
    embedder: EmbedderOption = None,
    llm: LLMOption = None,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Build a catalog, or bring it up to date: only what changed is read.

    With a language model, tables that have no purpose yet are given one.
    """
    from dovetail.offline.build import searchable, update
    from dovetail.offline.purpose import Prices, write_purposes
    from dovetail.retrieve.opening import open_model

    settings = settings_for(
        catalog,
        include=_some(include),
        exclude=_some(exclude),
        views=views,
        comparison=comparison,
        engine=engine,
        ray_address=ray_address,
        workers=workers,
        embedder=embedder,
        llm=llm,
    )
    model = open_model(Path(settings.catalog), settings)
    with progress_bar(show=not (quiet or as_json)) as on_progress:
        report = update(
            sources or settings.sources,
            into=settings.catalog,
            settings=settings,
            forget=forget or (),
            check=check,
            search=model is None,
            on_progress=on_progress,
        )
        described = model and write_purposes(
            report.catalog,
            model,
            on_progress=on_progress,
            workers=settings.llm_workers,
            prices=Prices(settings.llm_price_in, settings.llm_price_out),
        )
        if model is not None:  # what search reads has purposes in it now
            report = searchable(report, settings, on_progress=on_progress)
    if as_json:
        purposes = {"purposes": _purposes_json(described)} if described else {}
        print_json(_report_json(report) | purposes)
    elif not quiet:
        _print_summary(report)
        if described:
            _print_purposes(described)
    if any(not skip.table for skip in report.skipped):
        raise typer.Exit(1)


def tables(catalog: CatalogOption = None, as_json: JsonOption = False) -> None:
    """List the tables of a catalog."""
    opened = open_catalog(catalog)
    if as_json:
        rows = [
            {**_id_json(table), "rows": table.rows, "columns": len(table.columns)}
            for table in opened
        ]
        print_json({"catalog": str(opened.path), "tables": rows})
        return
    listing = rich_table("source", "table", "rows", "columns", "keys")
    for table in opened:
        unique = [column.name for column in table.columns if column.profile.unique]
        keys = ", ".join(unique[:3]) + (" …" if len(unique) > 3 else "")
        cells = [table.id.source, table.name, f"{table.rows:,}", str(len(table.columns)), keys]
        listing.add_row(*map(plain, cells))
    console().print(listing)


def show(
    table: Annotated[
        str, typer.Argument(metavar="TABLE", help="A table by name, or as source::name.")
    ],
    catalog: CatalogOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show a table: its purpose, its columns, their profiles and a few rows."""
    from dovetail.catalog.purposes import purposes

    opened = open_catalog(catalog)
    found = opened[table]
    purpose = purposes(opened).get(found.id)
    if as_json:
        print_json(_table_json(found) | {"purpose": purpose.text if purpose else None})
        return
    screen = console()
    title = f"{found.id}  {found.rows:,} rows"
    for line in (title, purpose.text) if purpose and purpose.text else (title,):
        screen.print(printable(line), highlight=False, markup=False, soft_wrap=True)
    columns = rich_table("column", "type", "nulls", "distinct", "range", "examples")
    for column in found.columns:
        columns.add_row(*_column_cells(column))
    screen.print(columns)
    if found.sample:
        rows = rich_table(*(column.name for column in found.columns))
        for cells in found.sample:
            rows.add_row(*(plain("" if cell is None else cell) for cell in cells))
        screen.print(rows)


def demo(
    into: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Where the sample corpus and its catalog go.")
    ] = Path("dovetail-demo"),
    quiet: QuietOption = False,
) -> None:
    """Index the bundled sample corpus and ask it a question: no key, no network."""
    from dovetail.offline.build import update
    from dovetail.sample import write_corpus
    from dovetail.settings import Settings

    settings = Settings()
    corpus, folder = into / "corpus", into / "catalog"
    if not corpus.exists():
        unfinished = into / "corpus.new"
        write_corpus(unfinished)
        unfinished.rename(corpus)
    with progress_bar(show=not quiet) as on_progress:
        sources = [f"{path.name}={path}" for path in sorted(corpus.iterdir())]
        report = update(sources, into=folder, settings=settings, on_progress=on_progress)
    _print_overview(report)
    _print_asked(report, settings)
    console().print(
        f"\nLook closer:  dovetail ask '…' -C {folder}\n"
        f"              dovetail show order_items -C {folder}\n"
        f"              dovetail joins -C {folder}",
        highlight=False,
    )


def _print_asked(report: UpdateSummary, settings: Settings) -> None:
    from dovetail.api import Catalog
    from dovetail.cli.ask import print_set

    found = Catalog.over(report.catalog, settings).ask(_DEMO_QUESTION, selector="graph")
    console().print(f"\n{_DEMO_QUESTION}", highlight=False)
    print_set(found)


def _some(values: list[str] | None) -> tuple[str, ...] | None:
    return tuple(values) if values else None


def _print_summary(report: UpdateSummary) -> None:
    counts = {
        "new": len(report.added),
        "changed": len(report.changed),
        "dropped": len(report.dropped),
        "unchanged": report.unchanged,
    }
    screen = console()
    total = f"{len(report.catalog)} tables in {report.catalog.path}"
    if not (report.added or report.changed or report.dropped):
        screen.print(f"Nothing to do: {total} are up to date.", highlight=False)
    else:
        parts = ", ".join(f"{count} {name}" for name, count in counts.items() if count)
        screen.print(f"{total}: {parts} ({report.seconds:.1f} s).", highlight=False)
    for skip in report.skipped:
        line = printable(f"Skipped {skip}")
        screen.print(line, highlight=False, markup=False, soft_wrap=True)
    if report.retained:
        screen.print(
            f"{len(report.retained)} of these are still in the catalog as they were before."
        )
    if report.note:
        screen.print(f"Note: {report.note}", highlight=False, markup=False, soft_wrap=True)


def _print_purposes(report: PurposeSummary) -> None:
    screen = console()
    counts = {"written": report.written, "kept": report.reused, "pending": report.pending}
    parts = [f"{count} {name}" for name, count in counts.items() if count]
    parts += [f"{len(report.failed)} failed"] if report.failed else []
    tokens = f"{report.tokens_in:,} tokens in, {report.tokens_out:,} out"
    cost = f", cost {report.cost:.4f}" if report.cost else ""
    line = f"Purposes by {report.model}: {', '.join(parts)} ({tokens}{cost})."
    screen.print(printable(line), highlight=False, markup=False, soft_wrap=True)
    for skip in report.failed:
        line = printable(f"No purpose for {skip}")
        screen.print(line, highlight=False, markup=False, soft_wrap=True)


def _print_overview(report: UpdateSummary) -> None:
    _print_summary(report)
    tables = list(report.catalog)
    names = Counter(table.name for table in tables)
    listing = rich_table("source", "tables", "rows", "columns", "unique columns", "empty tables")
    sources = sorted({table.id.source for table in tables})
    for source in sources:
        mine = [table for table in tables if table.id.source == source]
        columns = [column for table in mine for column in table.columns]
        listing.add_row(
            source,
            str(len(mine)),
            f"{sum(table.rows for table in mine):,}",
            str(len(columns)),
            str(sum(column.profile.unique for column in columns)),
            ", ".join(table.name for table in mine if not table.rows),
        )
    screen = console()
    screen.print(listing)
    shared = ", ".join(f"{name} ({count})" for name, count in sorted(names.items()) if count > 1)
    screen.print(f"Names that several tables share: {shared}", highlight=False)


def _column_cells(column: Column) -> list[str]:
    profile = column.profile
    span = f"{_short(profile.minimum)} … {_short(profile.maximum)}" if profile.distinct else ""
    examples = ", ".join(_short(example) for example in profile.examples[:3])
    distinct = f"{profile.distinct:,}" + (" unique" if profile.unique else "")
    cells = [column.name, column.type, f"{profile.nulls:,}", distinct, span, examples]
    return [plain(cell) for cell in cells]


def _short(text: str | None) -> str:
    text = text or ""
    return text if len(text) <= 24 else text[:23] + "…"


def _id_json(table: Table) -> dict[str, Any]:
    return {"id": str(table.id), "source": table.id.source, "name": table.name}


def _table_json(table: Table) -> dict[str, Any]:
    columns = [
        {"name": column.name, "type": column.type, **asdict(column.profile)}
        for column in table.columns
    ]
    return {
        **_id_json(table),
        "rows": table.rows,
        "digest": table.digest,
        "columns": columns,
        "sample": table.sample,
    }


def _purposes_json(report: PurposeSummary) -> dict[str, Any]:
    return asdict(report) | {"kept": report.reused}  # the older name of `reused`


def _report_json(report: UpdateSummary) -> dict[str, Any]:
    return {
        "catalog": str(report.catalog.path),
        "tables": len(report.catalog),
        "added": [str(table) for table in report.added],
        "changed": [str(table) for table in report.changed],
        "dropped": [str(table) for table in report.dropped],
        "retained": [str(table) for table in report.retained],
        "kept": [str(table) for table in report.retained],  # the older name of `retained`
        "unchanged": report.unchanged,
        "skipped": [asdict(skip) for skip in report.skipped],
        "note": report.note,
        "seconds": round(report.seconds, 3),
    }
