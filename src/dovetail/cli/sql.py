"""The command that runs a query of one's own, under the guard that generated ones run under."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dovetail.cli.options import CatalogOption, JsonOption, open_catalog, settings_for
from dovetail.cli.output import console, plain, print_json, rich_table
from dovetail.errors import UsageError

if TYPE_CHECKING:
    from dovetail.answer.answer import Answer

_SHOWN = 50


def sql(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="One SELECT statement.")],
    tables: Annotated[
        str,
        typer.Option(metavar="A,B", help="The tables it may read: by name, or as source::name."),
    ],
    engine: Annotated[
        str, typer.Option(metavar="NAME", help="Where it runs: duckdb or sqlite.")
    ] = "duckdb",
    limit_rows: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Return at most so many rows [100000].")
    ] = None,
    timeout: Annotated[
        float | None, typer.Option(min=0.1, metavar="SECONDS", help="Run at most so long [60].")
    ] = None,
    csv: Annotated[bool, typer.Option("--csv", help="Print the rows as CSV.")] = False,
    parquet: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the rows to a Parquet file.")
    ] = None,
    catalog: CatalogOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run a query over tables of the catalog; it can read them, and nothing else."""
    from dovetail.answer.answer import execute
    from dovetail.answer.execute import Executor
    from dovetail.answer.results import Limits

    if csv + as_json + (parquet is not None) > 1:
        raise UsageError("--json, --csv and --parquet: choose one")
    settings = settings_for(catalog, query_seconds=timeout, query_rows=limit_rows)
    opened = open_catalog(catalog)
    chosen = [opened[name.strip()] for name in tables.split(",") if name.strip()]
    with Executor(opened, limits=Limits.of(settings), workers=1) as executor:
        found = execute(executor, query, chosen, engine=engine)
    if as_json:
        print_json(answer_json(found))
    elif csv:
        _write_csv(found)
    elif parquet is not None:
        _write_parquet(found, parquet)
    else:
        print_answer(found)


def answer_json(found: Answer) -> dict[str, Any]:
    """An answer as a JSON document."""
    joins = [
        {
            "left": str(join.left),
            "right": str(join.right),
            "columns": [list(p) for p in join.columns],
        }
        for join in found.joins
    ]
    rows = [[_json_value(cell) for cell in row] for row in _rows(found)]
    return {
        "sql": found.sql,
        "ran": found.ran,
        "tables": [str(table) for table in found.tables],
        "names": {str(table): name for table, name in found.names.items()},
        "joins": joins,
        "columns": list(found.columns),
        "rows": rows,
        "truncated": found.truncated,
        "warnings": list(found.warnings),
        "tokens_in": found.tokens_in,
        "tokens_out": found.tokens_out,
        "seconds": {stage: round(taken, 4) for stage, taken in found.seconds.items()},
    }


def print_answer(found: Answer) -> None:
    """The rows as a table, what to know about them below."""
    screen = console()
    for table, name in found.names.items():
        if name != table.name:
            screen.print(plain(f"{table} is called {name} here"), highlight=False)
    listing = rich_table(*found.columns)
    for row in _rows(found)[:_SHOWN]:
        listing.add_row(*(plain("" if cell is None else str(cell)) for cell in row))
    screen.print(listing)
    count = found.rows.num_rows
    shown = f", the first {_SHOWN} shown" if count > _SHOWN else ""
    screen.print(f"{count:,} rows{shown} ({sum(found.seconds.values()):.2f} s)", highlight=False)
    for warning in found.warnings:
        screen.print(plain(f"Note: {warning}"), highlight=False, soft_wrap=True)


def _rows(found: Answer) -> list[tuple[Any, ...]]:
    columns = [column.to_pylist() for column in found.rows.columns]
    return list(zip(*columns, strict=True)) if columns else []


def _json_value(cell: Any) -> Any:
    if cell is None or isinstance(cell, (bool, int, str)):
        return cell
    if isinstance(cell, float):  # JSON has no NaN
        return cell if cell - cell == 0 else str(cell)
    return cell.hex() if isinstance(cell, bytes) else str(cell)


def _write_csv(found: Answer) -> None:
    import csv

    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(found.columns)
    writer.writerows(
        ["" if cell is None else cell.hex() if isinstance(cell, bytes) else cell for cell in row]
        for row in _rows(found)
    )
    _note(found)


def _write_parquet(found: Answer, file: Path) -> None:
    import pyarrow.parquet as pq

    from dovetail.answer.answer import plain_rows

    try:
        pq.write_table(plain_rows(found.rows), file)
    except OSError as error:
        raise UsageError(f"cannot write {file}: {error.strerror or error}") from None
    _note(found)


def _note(found: Answer) -> None:
    for warning in found.warnings:
        sys.stderr.write(f"dovetail: {warning}\n")
