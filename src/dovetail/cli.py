"""The command line. Commands import what they need when they run, so that help comes at once."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dovetail.errors import DovetailError, UsageError

if TYPE_CHECKING:
    from rich.table import Table as RichTable

    from dovetail.catalog.reader import Catalog
    from dovetail.domain import Column, Table
    from dovetail.offline.build import Progress, Report, Watch
    from dovetail.settings import Settings

app = typer.Typer(
    name="dovetail",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Point it at a pile of tables and learn which of them fit together.",
)

CatalogOption = Annotated[
    Path | None,
    typer.Option(
        "-C",
        "--catalog",
        metavar="FOLDER",
        readable=False,
        help="The catalog's folder [.dovetail].",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
QuietOption = Annotated[bool, typer.Option("-q", "--quiet", help="No progress bar, no summary.")]


def _print_version(wanted: bool) -> None:
    if wanted:
        from dovetail import __version__

        sys.stdout.write(f"dovetail {__version__}\n")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    del version


@app.command()
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
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Build a catalog, or bring it up to date: only what changed is read."""
    from dovetail.offline.build import update

    settings = _settings(
        catalog,
        include=_some(include),
        exclude=_some(exclude),
        views=views,
        comparison=comparison,
        engine=engine,
        ray_address=ray_address,
        workers=workers,
    )
    with _progress_bar(show=not (quiet or as_json)) as watch:
        report = update(
            sources or settings.sources,
            into=settings.catalog,
            settings=settings,
            forget=forget or (),
            check=check,
            watch=watch,
        )
    if as_json:
        _print_json(_report_json(report))
    elif not quiet:
        _print_summary(report)
    if any(not skip.table for skip in report.skipped):
        raise typer.Exit(1)


@app.command()
def tables(catalog: CatalogOption = None, as_json: JsonOption = False) -> None:
    """List the tables of a catalog."""
    opened = _open(catalog)
    if as_json:
        rows = [
            {**_id_json(table), "rows": table.rows, "columns": len(table.columns)}
            for table in opened
        ]
        _print_json({"catalog": str(opened.path), "tables": rows})
        return
    listing = _rich_table("source", "table", "rows", "columns", "keys")
    for table in opened:
        unique = [column.name for column in table.columns if column.profile.unique]
        keys = ", ".join(unique[:3]) + (" …" if len(unique) > 3 else "")
        cells = [table.id.source, table.name, f"{table.rows:,}", str(len(table.columns)), keys]
        listing.add_row(*map(_plain, cells))
    _console().print(listing)


@app.command()
def show(
    table: Annotated[
        str, typer.Argument(metavar="TABLE", help="A table by name, or as source::name.")
    ],
    catalog: CatalogOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show a table: its columns, their profiles and a few rows."""
    found = _open(catalog)[table]
    if as_json:
        _print_json(_table_json(found))
        return
    console = _console()
    title = _printable(f"{found.id}  {found.rows:,} rows")
    console.print(title, highlight=False, markup=False, soft_wrap=True)
    columns = _rich_table("column", "type", "nulls", "distinct", "range", "examples")
    for column in found.columns:
        columns.add_row(*_column_cells(column))
    console.print(columns)
    if found.sample:
        rows = _rich_table(*(column.name for column in found.columns))
        for cells in found.sample:
            rows.add_row(*(_plain("" if cell is None else cell) for cell in cells))
        console.print(rows)


@app.command()
def demo(
    into: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Where the sample corpus and its catalog go.")
    ] = Path("dovetail-demo"),
    quiet: QuietOption = False,
) -> None:
    """Index the bundled sample corpus and show what is in it: no key, no network."""
    from dovetail.offline.build import update
    from dovetail.sample import write_corpus

    corpus, folder = into / "corpus", into / "catalog"
    if not corpus.exists():
        unfinished = into / "corpus.new"
        write_corpus(unfinished)
        unfinished.rename(corpus)
    with _progress_bar(show=not quiet) as watch:
        sources = [f"{path.name}={path}" for path in sorted(corpus.iterdir())]
        report = update(sources, into=folder, watch=watch)
    _print_overview(report)
    _console().print(
        f"\nLook closer:  dovetail tables -C {folder}\n"
        f"              dovetail show order_items -C {folder}",
        highlight=False,
    )


def main() -> None:
    """Run the command line; every error of ours is one line and an exit code."""
    try:
        app()
    except DovetailError as error:
        sys.stderr.write(f"dovetail: {_printable(str(error))}\n")
        sys.exit(2 if isinstance(error, UsageError) else 1)
    except SystemExit as end:
        if end.code == 130:  # typer makes this of a Ctrl-C, and says nothing
            sys.stderr.write("dovetail: interrupted; finished tables are kept for the next run\n")
        raise
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(1)


def _settings(catalog: Path | None, **given: Any) -> Settings:
    from dovetail.settings import load_settings

    return load_settings().but(catalog=str(catalog) if catalog else None, **given)


def _some(values: list[str] | None) -> tuple[str, ...] | None:
    return tuple(values) if values else None


def _open(catalog: Path | None) -> Catalog:
    from dovetail.catalog.reader import Catalog

    return Catalog.open(_settings(catalog).catalog)


@contextmanager
def _progress_bar(*, show: bool) -> Iterator[Watch | None]:
    """A bar on standard error, where that is a terminal."""
    if not (show and sys.stderr.isatty()):
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[detail]}", markup=False),
    )
    names = {"look": "Looking at sources", "read": "Reading tables", "write": "Writing the catalog"}
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(names["look"], total=None, detail="")

        def watch(progress: Progress) -> None:
            bar.update(
                task,
                description=names[progress.phase],
                completed=progress.done,
                total=progress.total,
                detail=progress.detail[:60],
            )

        yield watch


def _print_summary(report: Report) -> None:
    counts = {
        "new": len(report.added),
        "changed": len(report.changed),
        "dropped": len(report.dropped),
        "unchanged": report.unchanged,
    }
    console = _console()
    total = f"{len(report.catalog)} tables in {report.catalog.path}"
    if not (report.added or report.changed or report.dropped):
        console.print(f"Nothing to do: {total} are up to date.", highlight=False)
    else:
        parts = ", ".join(f"{count} {name}" for name, count in counts.items() if count)
        console.print(f"{total}: {parts} ({report.seconds:.1f} s).", highlight=False)
    for skip in report.skipped:
        line = _printable(f"Skipped {skip}")
        console.print(line, highlight=False, markup=False, soft_wrap=True)
    if report.kept:
        console.print(f"{len(report.kept)} of these are still in the catalog as they were before.")


def _print_overview(report: Report) -> None:
    from collections import Counter

    _print_summary(report)
    tables = list(report.catalog)
    names = Counter(table.name for table in tables)
    listing = _rich_table("source", "tables", "rows", "columns", "unique columns", "empty tables")
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
    console = _console()
    console.print(listing)
    shared = ", ".join(f"{name} ({count})" for name, count in sorted(names.items()) if count > 1)
    console.print(f"Names that several tables share: {shared}", highlight=False)


def _console() -> Any:
    from rich.console import Console

    return Console()


def _rich_table(*headers: str) -> RichTable:
    from rich import box
    from rich.table import Table as RichTable
    from rich.text import Text

    table = RichTable(box=box.SIMPLE_HEAD, pad_edge=False)
    for header in headers:
        right = header in ("rows", "columns", "nulls", "distinct", "tables", "unique columns")
        table.add_column(Text(header), justify="right" if right else "left", overflow="fold")
    return table


def _plain(text: str) -> str:
    """Text for a table's cell: not read as markup, nothing in it steers the terminal."""
    from rich.markup import escape

    return escape(_printable(text))


def _printable(text: str) -> str:
    """Text in which nothing steers the terminal or ends the line."""
    return "".join(char if char.isprintable() else "�" for char in text)


def _column_cells(column: Column) -> list[str]:
    profile = column.profile
    span = f"{_short(profile.minimum)} … {_short(profile.maximum)}" if profile.distinct else ""
    examples = ", ".join(_short(example) for example in profile.examples[:3])
    distinct = f"{profile.distinct:,}" + (" unique" if profile.unique else "")
    cells = [column.name, column.type, f"{profile.nulls:,}", distinct, span, examples]
    return [_plain(cell) for cell in cells]


def _short(text: str | None) -> str:
    text = text or ""
    return text if len(text) <= 24 else text[:23] + "…"


def _print_json(document: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(document, ensure_ascii=False, indent=1) + "\n")


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


def _report_json(report: Report) -> dict[str, Any]:
    return {
        "catalog": str(report.catalog.path),
        "tables": len(report.catalog),
        "added": [str(table) for table in report.added],
        "changed": [str(table) for table in report.changed],
        "dropped": [str(table) for table in report.dropped],
        "kept": [str(table) for table in report.kept],
        "unchanged": report.unchanged,
        "skipped": [asdict(skip) for skip in report.skipped],
        "seconds": round(report.seconds, 3),
    }
