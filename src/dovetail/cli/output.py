"""What goes to the terminal: tables, lines and JSON documents."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dovetail.errors import UsageError

if TYPE_CHECKING:
    from rich.table import Table as RichTable

_PIPE = 4_000
_NUMBERS = (
    "rows", "columns", "nulls", "distinct", "tables", "unique columns", "count", "match rate",
)  # fmt: skip


def print_json(document: dict[str, Any], to: Path | None = None) -> None:
    """One JSON document on standard output or in a file, and nothing else there.

    Characters that steer a terminal are written as `\\u` escapes: any reader of JSON gets them
    back, and a person who looks at the document is not fooled.
    """
    text = json.dumps(document, ensure_ascii=False, indent=1)
    if not text.replace("\n", "").isprintable():
        text = "".join(c if c.isprintable() or c == "\n" else json.dumps(c)[1:-1] for c in text)
    write(text + "\n", to)


def write(text: str, to: Path | None = None) -> None:
    """A text on standard output, or in a file."""
    if to is None:
        sys.stdout.write(_lines(text) if sys.stdout.isatty() else text)
        return
    try:
        to.write_text(text, encoding="utf-8", newline="")
    except OSError as error:
        raise UsageError(f"cannot write {to}: {error.strerror or error}") from None


def console() -> Any:
    """Where results are shown: text is never read as markup, and never steers the terminal."""
    from rich.console import Console

    class Screen(Console):
        def print(self, *objects: Any, **options: Any) -> None:
            super().print(
                *(_lines(one) if isinstance(one, str) else one for one in objects), **options
            )

    # A pipe has no width: what reads it gets every line whole.
    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else _PIPE
    return Screen(markup=False, highlight=False, emoji=False, width=width)


def rich_table(*headers: str, wrap: bool = True) -> RichTable:
    """An empty table with these headers; its cells are shown as they are, less what is not text.

    Without `wrap` every row takes one line, and what is too long for the terminal is cut.
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    class Listing(Table):
        def add_row(self, *cells: Any, **options: Any) -> None:
            shown = (Text(printable(cell)) if isinstance(cell, str) else cell for cell in cells)
            super().add_row(*shown, **options)

    table = Listing(box=box.SIMPLE_HEAD, pad_edge=False)
    for header in headers:
        right = header in _NUMBERS
        shown = Text(printable(header))
        table.add_column(
            shown,
            justify="right" if right else "left",
            overflow="fold" if wrap else "ellipsis",
            no_wrap=not wrap,
            min_width=len(header) if right else None,
        )
    return table


def _lines(text: str) -> str:
    return "\n".join(map(printable, text.split("\n")))


def printable(text: str) -> str:
    """Text in which nothing steers the terminal or ends the line."""
    return "".join(char if char.isprintable() else "�" for char in text)


def print_lines(text: str) -> None:
    """A text of several lines as it is, but for what steers the terminal."""
    screen = console()
    for line in text.splitlines():
        screen.print(printable(line), highlight=False, markup=False, soft_wrap=True)


def note(text: str) -> None:
    """A line on standard error: what the user should know and the result does not say."""
    sys.stderr.write(f"dovetail: {printable(text)}\n")
