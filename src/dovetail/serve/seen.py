"""What a route is given: the catalog as its caller may see it."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request

from dovetail.api.catalog import Catalog
from dovetail.serve.live_catalog import LiveCatalog


def seen(request: Request) -> Catalog:
    """As much of the server's catalog as the caller may see."""
    live: LiveCatalog = request.app.state.live
    return live.current(request.state.caller.tables)


Seen = Annotated[Catalog, Depends(seen)]
