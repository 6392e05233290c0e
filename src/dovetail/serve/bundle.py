"""The page's modules and styles as two files, so that a browser on a slow line asks twice and not
thirty times; each module stays a scope of its own.
"""

from __future__ import annotations

import gzip
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from dovetail.errors import DovetailError

PAGE = Path(__file__).parent / "page"
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
def bundles() -> dict[str, Bundle]:
    """The page's script and its style, by the names under which they are served."""
    styles = "".join((PAGE / name).read_text("utf-8") for name in _STYLES)
    return {
        "page.js": Bundle.of(script("app"), "text/javascript"),
        "page.css": Bundle.of(styles, "text/css"),
    }


def script(first: str) -> str:
    """A module and all that it imports as one script, those first that others import."""
    return '"use strict";\n' + "".join(_modules(first, {}))


def _modules(name: str, seen: dict[str, bool]) -> Iterator[str]:
    """A module behind those that it imports, each once; `seen` has those begun, and ended."""
    text = (PAGE / f"{name}.js").read_text("utf-8")
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
