"""What a route is given: the catalog as its caller may see it, and the server's one."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request

from dovetail.api.catalog import Catalog
from dovetail.serve.live_catalog import LiveCatalog


async def served(request: Request) -> LiveCatalog:
    """The catalog that the server answers from."""
    live: LiveCatalog = request.app.state.live
    return live


def seen(request: Request) -> Catalog:
    """As much of it as the caller may see."""
    live: LiveCatalog = request.app.state.live
    return live.current(request.state.caller.tables)


Served = Annotated[LiveCatalog, Depends(served)]
Seen = Annotated[Catalog, Depends(seen)]
