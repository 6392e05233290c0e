"""The command that serves agents over the Model Context Protocol."""

from __future__ import annotations

from typing import Annotated

import typer

from dovetail.cli.options import CatalogOption, settings_for


def mcp(
    http: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT", help="Serve over HTTP here (/mcp) instead of standard input."
        ),
    ] = None,
    tables: Annotated[
        list[str] | None,
        typer.Option(metavar="PATTERN", help="Tables that may be seen; repeatable. [all]"),
    ] = None,
    catalog: CatalogOption = None,
) -> None:
    """Serve a catalog to agents over the Model Context Protocol.

    Its tools find, search, describe and sample tables, find join paths and run SQL; all only read.
    """
    from dovetail.serve.live_catalog import LiveCatalog
    from dovetail.serve.mcp import serve_mcp

    settings = settings_for(catalog)
    serve_mcp(LiveCatalog(settings.catalog, settings, tables or ()), http)
