"""The page: plain files, served as they are in the package, to anybody.

There is no data in them; what it shows it asks the REST interface for, with the token of whoever
looks at it. Nothing is fetched from elsewhere, and no script runs that is not a file here. Its
modules and styles are two files, so that a browser on a slow line asks twice and not thirty times;
each module stays a scope of its own.
"""

from __future__ import annotations

import gzip
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from fastapi import FastAPI, Request
from fastapi.responses import FileResponse, Response
from starlette.exceptions import HTTPException

from dovetail.errors import DovetailError
from dovetail.serve.guarded import PAGE_PREFIX

_PAGE = Path(__file__).parent / "page"
_STYLES = ("theme.css", "base.css", "ask.css", "pile.css")
_IMPORT = re.compile(r'^import \{ ([^}]*) \} from "\./(\w+)\.js";$', re.MULTILINE)
_EXPORT = re.compile(r"^export ((?:async )?(?:function\*?|class|const) (\w+))", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Bundle:
    """A file as it goes over the line: compressed, with a tag that says whether it has changed."""

    body: bytes
    media_type: str
    etag: str

    @classmethod
    def of(cls, text: str, media_type: str) -> Bundle:
        """Compress a text; the same text gives the same bytes."""
        data = text.encode()
        return cls(
            gzip.compress(data, mtime=0), media_type, f'"{hashlib.sha256(data).hexdigest()}"'
        )


@cache
def _bundles() -> dict[str, Bundle]:
    """The page's script and its style, by the names under which they are served."""
    styles = "".join((_PAGE / name).read_text("utf-8") for name in _STYLES)
    return {
        "page.js": Bundle.of(script("app"), "text/javascript"),
        "page.css": Bundle.of(styles, "text/css"),
    }


def script(first: str) -> str:
    """A module and all that it imports as one script, those first that others import."""
    return '"use strict";\n' + "".join(_modules(first, {}))


def _modules(name: str, seen: dict[str, bool]) -> Iterator[str]:
    """A module behind those that it imports, each once; `seen` has those begun, and ended."""
    text = (_PAGE / f"{name}.js").read_text("utf-8")
    seen[name] = False
    for _, other in _IMPORT.findall(text):
        if other not in seen:
            yield from _modules(other, seen)
        elif not seen[other]:
            raise DovetailError(f"the page's modules {name} and {other} import each other")
    seen[name] = True
    given = ", ".join(found[1] for found in _EXPORT.findall(text))
    text = _EXPORT.sub(r"\1", _IMPORT.sub(r"const { \1 } = $\2;", text))
    yield f"const ${name} = (() => {{\n{text}return {{ {given} }};\n}})();\n"


def add_page(app: FastAPI) -> None:
    """Serve the page at `/`, its script and its style in one file each, and its icon."""

    @app.get("/", include_in_schema=False)
    def page() -> FileResponse:
        return FileResponse(_PAGE / "index.html")

    @app.get(PAGE_PREFIX + "{name}", include_in_schema=False)
    def file(request: Request, name: str) -> Response:
        if name == "icon.svg":
            return FileResponse(_PAGE / name)
        if (bundle := _bundles().get(name)) is None:
            raise HTTPException(404)
        headers = {"etag": bundle.etag, "vary": "accept-encoding"}
        if request.headers.get("if-none-match") == bundle.etag:
            return Response(status_code=304, headers=headers)
        packed = "gzip" in request.headers.get("accept-encoding", "")
        body = bundle.body if packed else gzip.decompress(bundle.body)
        headers |= {"content-encoding": "gzip"} if packed else {}
        return Response(body, media_type=bundle.media_type, headers=headers)
