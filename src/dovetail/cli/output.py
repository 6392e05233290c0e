"""What commands share: the catalog they open, and what goes to the terminal."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dovetail
from dovetail.domain.tables import with_source_names
from dovetail.errors import UsageError
from dovetail.text import confidence_word, printable, printable_lines

if TYPE_CHECKING:
    from rich.table import Table as RichTable

    from dovetail.api.catalog import Catalog
    from dovetail.offline.summary import Progress, ProgressCallback
    from dovetail.settings import Settings

_PIPE = 4_000
# Columns of a terminal that nobody has less of.
_NARROW = 80
# Seconds that nothing is said of waiting.
_SILENT = 3.0
# Half of a source's name that a listing shows where it is too long.
_HALF = 12
# The short names of the sources of the catalogs that were opened, by label.
_names: dict[str, str] = {}
# A text in pieces that stay on one line: words, of names the parts.
_PIECES = re.compile(r".+?(?:::|[_/]|\.(?=[^\d\s])|[^\S\n]+|$)\n?|\n", re.MULTILINE)
_NUMBERS = ("rows", "columns", "nulls", "distinct", "match rate")


def settings_for(catalog: Path | None, **given: Any) -> Settings:
    """The settings in force, with what the command line gives."""
    from dovetail.settings import load_settings

    return load_settings().but(catalog=str(catalog) if catalog else None, **given)


def open_catalog(catalog: Path | None, **given: Any) -> Catalog:
    """The catalog that the command line or the settings name, with what the command line gives."""
    settings = settings_for(catalog, **given)
    return with_short_names(dovetail.open(settings.catalog, settings))


def with_short_names(catalog: Catalog) -> Catalog:
    """A catalog whose sources go by their short names in all that is shown from now on."""
    _names.update(catalog.reader.source_names)
    return catalog


def shortened(text: str) -> str:
    """A text in which sources go by their short names, alone and before their tables."""
    if text in _names:
        return cut_middle(_names[text])
    for label, name in _names.items():
        text = text.replace(f"{label}::", f"{name}::")
    return text


def cut_middle(text: str) -> str:
    """A name without its middle, where it is longer than a column of a listing takes.

    >>> cut_middle("exports/of/the/whole/year/2024"), cut_middle("crm")
    ('exports/of/t…le/year/2024', 'crm')
    """
    return text if len(text) <= 2 * _HALF + 1 else f"{text[:_HALF]}…{text[-_HALF:]}"


def print_json(document: dict[str, Any], to: Path | None = None) -> None:
    """One JSON document on standard output or in a file, and nothing else there.

    Characters that steer a terminal are written as `\\u` escapes: any reader of JSON gets them
    back, and a person who looks at the document is not fooled.
    """
    text = json.dumps(with_source_names(document, _names), ensure_ascii=False, indent=1)
    if not text.replace("\n", "").isprintable():
        text = "".join(c if c.isprintable() or c == "\n" else json.dumps(c)[1:-1] for c in text)
    write(text + "\n", to)


def write(text: str, to: Path | None = None) -> None:
    """A text on standard output, or in a file."""
    if to is None:
        sys.stdout.write(printable_lines(text) if sys.stdout.isatty() else text)
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
                *(printable_lines(one) if isinstance(one, str) else one for one in objects),
                **options,
            )

    # A pipe has no width: what reads it gets every line whole.
    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else _PIPE
    return Screen(markup=False, highlight=False, emoji=False, width=width)


def rich_table(*headers: str, wrap: bool = True, data: bool = False) -> RichTable:
    """An empty table with these headers; its cells are shown as they are, less what is not text,
    with sources by their short names unless they are `data` of such a source.

    In a narrow terminal cells take several lines, and names go on after their dots and underscores.
    Without `wrap` every row takes one line, and what is too long for the terminal is cut.
    """
    from rich import box
    from rich.cells import cell_len
    from rich.containers import Lines
    from rich.measure import Measurement
    from rich.table import Table
    from rich.text import Text

    class Cell(Text):
        def __rich_measure__(self, console: Any, options: Any) -> Measurement:
            pieces, lines = _pieces(self.plain), self.plain.splitlines()
            return Measurement(*(max(map(cell_len, part), default=0) for part in (pieces, lines)))

        def wrap(self, console: Any, width: int, **options: Any) -> Lines:
            if not wrap:
                return super().wrap(console, width, **options | {"no_wrap": True})
            lines = Lines([Text(line) for line in filled_lines(_pieces(self.plain), width)])
            lines.justify(console, width, justify=options["justify"] or "default")
            return lines

    class Listing(Table):
        def add_row(self, *cells: Any, **options: Any) -> None:
            told = (
                shortened(cell) if isinstance(cell, str) and not data else cell for cell in cells
            )
            shown = (Cell(printable(cell)) if isinstance(cell, str) else cell for cell in told)
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


def print_rows(
    headers: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[bool] = ()
) -> None:
    """Rows as a table; one below the other where the terminal is too narrow for all columns.

    `numbers` flags the columns of numbers.
    """
    from rich.measure import Measurement

    screen, listing = console(), rich_table(*headers, data=True)
    for column, is_number in zip(listing.columns, numbers, strict=False):
        column.justify = "right" if is_number else "left"
    for row in rows:
        listing.add_row(*row)
    if Measurement.get(screen, screen.options.update(width=_PIPE), listing).minimum > screen.width:
        for number, row in enumerate(rows, start=1):
            listing = rich_table(f"row {number}", "", data=True)
            for name, cell in zip(headers, row, strict=True):
                listing.add_row(name, cell)
            screen.print(listing)
        return
    screen.print(listing)


def _pieces(text: str) -> list[str]:
    return _PIECES.findall(text)


def filled_lines(pieces: Sequence[str], width: int) -> list[str]:
    """Pieces of a text on as few lines as a width allows; a longer piece is broken.

    >>> filled_lines(_pieces("crm::stg_customers.no of 2024"), 12)
    ['crm::stg_', 'customers.no', 'of 2024']
    >>> filled_lines(_pieces("東京都 of 2024"), 5)  # each of these letters takes two cells
    ['東京', '都 of', '2024']
    """
    from rich.cells import cell_len, chop_cells

    lines = [""]
    for piece in pieces:
        if lines[-1] and cell_len(lines[-1]) + cell_len(piece.rstrip()) > width:
            lines.append("")
        lines[-1] += piece
        if cell_len(lines[-1].rstrip()) > width:
            lines[-1:] = chop_cells(lines[-1], width)
        if piece.endswith("\n"):
            lines.append("")
    return [line.rstrip() for line in lines]


# The colours of the words for how sure something is, here as on the page.
_COLOURS = {"sure": "green", "likely": "cyan", "unsure": "yellow", "guess": "red"}


def sureness(share: float) -> Any:
    """How sure something is: a word in its colour, with the number behind it, as on the page."""
    from rich.text import Text

    word = confidence_word(share)
    return Text(f"{word} {share:.2f}", style=_COLOURS[word])


def print_lines(text: str) -> None:
    """SQL or the like, line by line as it is, but for what steers the terminal."""
    for line in text.splitlines():
        console().print(printable(line), soft_wrap=True)


def note(text: str) -> None:
    """A sentence on standard error: what the user should know and the result does not say, or what
    failed. It has as many lines as the terminal needs; elsewhere it is one line."""
    told = f"dovetail: {printable(shortened(text))}"
    if sys.stderr.isatty():
        told = "\n".join(_folded(told, shutil.get_terminal_size((_NARROW, 24)).columns))
    sys.stderr.write(f"{told}\n")


def print_line(text: str) -> None:
    """A sentence, on as many lines as the terminal needs, less what steers that.

    Into a pipe its lines are those of a narrow terminal. No word is broken.
    """
    screen = console()
    width = _NARROW if screen.width == _PIPE else screen.width
    for line in _folded(printable(shortened(text)), width):
        screen.print(line, soft_wrap=True)


def _folded(text: str, width: int) -> list[str]:
    """A sentence on lines; those behind the first stand as far in as that.

    >>> _folded("  because it says so", 12)
    ['  because it', '  says so']
    """
    inset = text[: len(text) - len(text.lstrip())]
    lines = textwrap.wrap(
        text, width, subsequent_indent=inset, break_long_words=False, break_on_hyphens=False
    )
    return lines or [""]


@contextmanager
def waits_told() -> Iterator[None]:
    """After a few seconds of waiting for a model, a line on standard error that says so and goes
    again, where that is a terminal."""
    from dovetail.models.waiting import ON_WAIT

    last = 0

    def tell(seconds: float) -> None:
        nonlocal last
        if seconds >= _SILENT and int(seconds) + 1 > last:
            last = int(seconds) + 1
            sys.stderr.write(f"\r\x1b[Kwaiting for the model: {seconds:.0f} s (Ctrl-C stops)")
            sys.stderr.flush()

    token = ON_WAIT.set(tell if sys.stderr.isatty() else None)
    try:
        yield
    finally:
        ON_WAIT.reset(token)
        if last:
            sys.stderr.write("\r\x1b[K")


@contextmanager
def progress_bar(*, show: bool) -> Iterator[ProgressCallback | None]:
    """A bar on standard error, where that is a terminal."""
    if not (show and sys.stderr.isatty()):
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[detail]}", markup=False),
    )
    names = {
        "list": "Listing tables",
        "read": "Reading tables",
        "write": "Writing the catalog",
        "describe": "Describing tables",
        "ask": "Asking questions",
        "join": "Finding joins",
        "family": "Finding families",
        "embed": "Embedding names",
        "index": "Writing the search index",
    }
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(names["list"], total=None, detail="")

        def on_progress(progress: Progress) -> None:
            bar.update(
                task,
                description=names[progress.phase],
                completed=progress.done,
                total=progress.total,
                detail=printable(progress.detail[:60]),
            )

        yield on_progress
