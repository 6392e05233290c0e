"""Draws docs/terminal.svg, what the first commands print: python -m tests.docs.recording.

The commands run for real, over the sample corpus, with the embedder; `make recording` does that.
"""

from __future__ import annotations

import io
import os
import tempfile
from contextlib import chdir
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import DIMMED_MONOKAI
from rich.text import Text
from typer.testing import CliRunner

from dovetail.cli import app
from dovetail_bench.corpora import write_corpus

FILE = Path(__file__).parents[2] / "docs" / "terminal.svg"
WIDTH = 112
COMMANDS = (
    ("index", "shop.sqlite", "civic.sqlite", "hospital.db", "warehouse.duckdb", "exports"),
    ("ask", "Which suppliers delivered late to schools in Riverside?"),
    ("joins", "--path", "suppliers", "schools"),
)


def shown(command: tuple[str, ...]) -> str:
    """A command as one types it."""
    return " ".join(f'"{word}"' if " " in word else word for word in ("dovetail", *command))


def printed(commands: tuple[tuple[str, ...], ...]) -> list[tuple[str, str]]:
    """What some commands print on a terminal of our width, each beside the command."""
    os.environ.update(COLUMNS=str(WIDTH), FORCE_COLOR="1")
    return [(shown(one), CliRunner().invoke(app, list(one), color=True).stdout) for one in commands]


def recording() -> str:
    """The picture of the commands and their output."""
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        write_corpus(Path())
        lines = printed(COMMANDS)
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)
    for command, output in lines:
        console.print(Text(f"$ {command}", style="bold"))
        console.print(Text.from_ansi(output.strip("\n")))
        console.print()
    return without_fonts(
        console.export_svg(title="dovetail", theme=DIMMED_MONOKAI, unique_id="dovetail")
    )


def without_fonts(picture: str) -> str:
    """The picture without the fonts that rich would load from a server."""
    while "@font-face" in picture:
        start = picture.index("@font-face")
        picture = picture[:start] + picture[picture.index("}", start) + 1 :]
    return picture.replace("font-family: Fira Code, monospace", "font-family: monospace")


if __name__ == "__main__":
    FILE.write_text(recording(), encoding="utf-8")
