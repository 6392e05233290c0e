"""The explorer: one page of plain files, served as they are in the package, to anybody.

There is no data in them; what the page shows it asks the REST interface for, with the token of
whoever looks at it. Nothing is fetched from elsewhere, and no script runs that is not a file here.
"""

from __future__ import annotations

from pathlib import Path

from fastapi import FastAPI
from fastapi.responses import FileResponse
from starlette.staticfiles import StaticFiles

_FOLDER = Path(__file__).parent / "page"
_PREFIX = "/page/"
PAGE_HEADERS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cache-control": "no-cache",
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
}


def is_page(path: str) -> bool:
    """Whether a path is the page's or one of its files'."""
    return path == "/" or path.startswith(_PREFIX)


def add_page(app: FastAPI) -> None:
    """Serve the page at `/` and its files beside it."""

    @app.get("/", include_in_schema=False)
    def page() -> FileResponse:
        return FileResponse(_FOLDER / "index.html")

    app.mount(_PREFIX.rstrip("/"), StaticFiles(directory=_FOLDER), name="page")
