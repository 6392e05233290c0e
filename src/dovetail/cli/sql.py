"""The command that runs a query of one's own, under the guard that generated ones run under."""

from __future__ import annotations

from typing import Annotated

import typer

from dovetail.cli.options import (
    CatalogOption,
    CsvOption,
    JsonOption,
    LimitRowsOption,
    OutputOption,
    ParquetOption,
    TimeoutOption,
    open_catalog,
    settings_for,
)
from dovetail.cli.output import print_json
from dovetail.cli.rows import Form, answer_json, give


def sql(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="One SELECT statement.")],
    tables: Annotated[
        str,
        typer.Option(metavar="A,B", help="The tables it may read: by name, or as source::name."),
    ],
    engine: Annotated[
        str, typer.Option(metavar="NAME", help="Where it runs: duckdb or sqlite.")
    ] = "duckdb",
    limit_rows: LimitRowsOption = None,
    timeout: TimeoutOption = None,
    csv: CsvOption = False,
    parquet: ParquetOption = None,
    output: OutputOption = None,
    catalog: CatalogOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run a query over tables of the catalog; it can read them, and nothing else."""
    from dovetail.answer.answer import execute
    from dovetail.answer.execute import Executor
    from dovetail.answer.results import Limits

    form = Form(csv, as_json, parquet, output)
    settings = settings_for(catalog, query_seconds=timeout, query_rows=limit_rows)
    opened = open_catalog(catalog)
    chosen = [opened[name.strip()] for name in tables.split(",") if name.strip()]
    with Executor(opened, limits=Limits.of(settings), workers=1) as executor:
        found = execute(executor, query, chosen, engine=engine)
    if form.json:
        print_json(answer_json(found), form.to)
    else:
        give(found, form)
