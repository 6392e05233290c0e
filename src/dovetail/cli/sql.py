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
    settings_for,
)
from dovetail.cli.output import print_json
from dovetail.cli.rows import Form, answer_json, give


def sql(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="One SELECT statement.")],
    tables: Annotated[
        str | None,
        typer.Option(
            metavar="A,B",
            help="The tables it may read, by name or as source::name [those it names].",
        ),
    ] = None,
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
    """Run a query over tables of the catalog.

    It can read them, and nothing else.
    """
    from dovetail.api.catalog import Catalog

    form = Form(csv, as_json, parquet, output)
    settings = settings_for(catalog, query_seconds=timeout, query_rows=limit_rows)
    given = None if tables is None else [n.strip() for n in tables.split(",") if n.strip()]
    with Catalog.open(settings.catalog, settings) as opened:
        found = opened.sql(query, given, engine=engine)
    if form.json:
        print_json(answer_json(found), form.to)
    else:
        give(found, form)
