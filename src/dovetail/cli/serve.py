"""The commands that serve a catalog: to people and programs over HTTP, to agents over MCP."""

from __future__ import annotations

import ctypes
import os
from typing import Annotated

import typer

from dovetail.cli import options
from dovetail.cli.output import settings_for
from dovetail.errors import MissingExtraError, UsageError

# How the C library's mallopt calls the number of its stores.
_ARENAS = -8


def serve(
    host: Annotated[str, typer.Option(metavar="ADDRESS", help="Where to listen.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(metavar="PORT", min=1, max=65_535)] = 8000,
    tokens: options.Tokens = None,
    tables: options.SeenTables = None,
    per_minute: options.PerMinute = 600,
    at_once: options.AtOnce = 16,
    processes: options.Processes = 1,
    notes: options.Notes = False,
    catalog: options.Catalog = None,
) -> None:
    """Serve a catalog over HTTP: a page for people at /, JSON for programs at /api.

    It only reads, unless --notes lets notes and descriptions be written.
    Beyond this machine it needs tokens: a file, or DOVETAIL_TOKENS (name=sha256,name=sha256).
    """
    try:
        import uvicorn
    except ImportError:
        raise MissingExtraError("the REST server", "server") from None
    _prepare_process()
    from dovetail.serve import is_this_machine
    from dovetail.serve.asking import Asking
    from dovetail.serve.connections import bounded
    from dovetail.serve.guarded import RequestLimits, read_access
    from dovetail.serve.live_catalog import LiveCatalog
    from dovetail.serve.rest import rest_app

    access = read_access(tokens, os.environ)
    if not access.callers and not is_this_machine(host):
        raise UsageError(
            f"{host} can be reached from other machines: say who may ask with --tokens FILE or "
            "DOVETAIL_TOKENS, or leave the address at 127.0.0.1"
        )
    settings = settings_for(catalog)
    live = LiveCatalog(settings.catalog, settings, tables or ())
    # Without tokens it is for this machine: nobody comes by another name with good reason.
    hosts = frozenset() if access.callers else frozenset(("localhost", "127.0.0.1", "::1", host))
    limits = RequestLimits(per_minute=per_minute, at_once=at_once)
    asking = Asking(live, processes)
    app = rest_app(live, access, limits, hosts=hosts, notes=notes, asking=asking)
    shown = f"[{host}]" if ":" in host else host
    typer.echo(
        f"dovetail serves {len(live.current()):,} tables at http://{shown}:{port}/ "
        f"(the page) and http://{shown}:{port}/api",
        err=True,
    )
    try:
        uvicorn.run(
            app, host=host, port=port, log_level="warning", access_log=False,
            server_header=False, timeout_graceful_shutdown=10, **bounded(),
        )  # fmt: skip
    finally:
        asking.close()


def mcp(
    http: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT", help="Serve over HTTP here (/mcp) instead of standard input."
        ),
    ] = None,
    tables: options.SeenTables = None,
    notes: Annotated[
        bool,
        typer.Option(
            "--notes", help="Let the agent describe tables and write notes, for everybody."
        ),
    ] = False,
    catalog: options.Catalog = None,
) -> None:
    """Serve a catalog to agents over the Model Context Protocol.

    Its tools find, search, show and sample tables, find join paths and run SQL; all only read,
    unless --notes lets the agent write what tables hold.
    """
    if notes and tables:
        raise UsageError("--notes lets all tables be described: leave out --tables, or --notes")
    _prepare_process()
    from dovetail.serve.live_catalog import LiveCatalog
    from dovetail.serve.mcp import serve_mcp

    settings = settings_for(catalog)
    serve_mcp(LiveCatalog(settings.catalog, settings, tables or ()), http, notes=notes)


def _prepare_process() -> None:
    """Set up libraries, before they are loaded, for a process that answers in threads for weeks.

    NumPy's starts threads for products as small as a question's, which wait for work by turning
    round: that took as much of the processor as all else together. The C library keeps what is
    freed apart for each thread, and Arrow has its own store: with one for all, what a generation
    of the catalog leaves behind is room for the next.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    if (mallopt := getattr(ctypes.CDLL(None), "mallopt", None)) is not None:
        mallopt(_ARENAS, 2)
