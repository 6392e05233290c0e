"""The command that runs a query of one's own."""

from __future__ import annotations

from typing import Annotated

import typer

from dovetail.cli import options
from dovetail.cli.output import open_catalog, print_json
from dovetail.cli.rows import Form, give


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
    limit_rows: options.LimitRows = None,
    timeout: options.Timeout = None,
    as_csv: options.Csv = False,
    parquet: options.Parquet = None,
    output: options.Output = None,
    catalog: options.Catalog = None,
    as_json: options.Json = False,
) -> None:
    """Run a query over tables of the catalog.

    It can read them, and nothing else.
    """
    form = Form(as_csv, as_json, parquet, output)
    given = None if tables is None else [n.strip() for n in tables.split(",") if n.strip()]
    with open_catalog(catalog, query_seconds=timeout, query_rows=limit_rows) as opened:
        answer = opened.sql(query, given, engine=engine)
    if form.json:
        print_json(answer.to_dict(), form.to)
    else:
        give(answer, form)
