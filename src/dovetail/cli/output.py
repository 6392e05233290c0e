"""What goes to the terminal: tables, lines and JSON documents."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dovetail.errors import UsageError

if TYPE_CHECKING:
    from rich.table import Table as RichTable

_NUMBERS = (
    "rows", "columns", "nulls", "distinct", "tables", "unique columns", "count", "rows kept",
)  # fmt: skip


def print_json(document: dict[str, Any], to: Path | None = None) -> None:
    """One JSON document on standard output or in a file, and nothing else there."""
    write(json.dumps(document, ensure_ascii=False, indent=1) + "\n", to)


def write(text: str, to: Path | None = None) -> None:
    """A text on standard output, or in a file."""
    if to is None:
        sys.stdout.write(text)
        return
    try:
        to.write_text(text, encoding="utf-8", newline="")
    except OSError as error:
        raise UsageError(f"cannot write {to}: {error.strerror or error}") from None


def console() -> Any:
    """Where results are shown."""
    from rich.console import Console

    return Console()


def rich_table(*headers: str) -> RichTable:
    """An empty table with these headers."""
    from rich import box
    from rich.table import Table as RichTable
    from rich.text import Text

    table = RichTable(box=box.SIMPLE_HEAD, pad_edge=False)
    for header in headers:
        right = header in _NUMBERS
        table.add_column(Text(header), justify="right" if right else "left", overflow="fold")
    return table


def plain(text: str) -> str:
    """Text for a table's cell: not read as markup, nothing in it steers the terminal."""
    from rich.markup import escape

    return escape(printable(text))


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
