"""The command that shows what dovetail does, on two bundled corpora."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dovetail.cli.options import QuietOption
from dovetail.cli.output import console
from dovetail.cli.progress import progress_bar

if TYPE_CHECKING:
    from dovetail.api.update_summary import UpdateSummary

_QUESTION = "Which suppliers delivered late to schools in Riverside?"
# Of a company's pile: parts of one table, tables that two systems have, and what nobody recorded.
_PILE_QUESTIONS = (
    "How did the order total develop from 2021 to 2023?",
    "How many open orders does each customer of the segment festival have?",
    "Which employees have a forklift licence?",
)


def demo(
    into: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Where the sample corpora and catalogs go.")
    ] = Path("dovetail-demo"),
    quiet: QuietOption = False,
) -> None:
    """Index two bundled sample corpora and ask them a few questions.

    One is 77 tables of nine domains; the other a company's pile, most of it copies, parts and
    versions. This needs no key and no network.
    """
    from dovetail.sample import write_corpus
    from dovetail.sample.brewery import write_brewery

    first = _indexed(into, "corpus", "catalog", write_corpus, quiet)
    _ask(first, (_QUESTION,))
    console().print("\nA company's pile:", highlight=False)
    second = _indexed(into, "brewery", "pile", write_brewery, quiet)
    families = second.catalog.families()
    many = sum(len(family.tables) for family in families)
    console().print(
        f"{many} of its tables are copies, parts and versions of {len(families)}: "
        f"{_program()} families -C {into / 'pile'}",
        highlight=False,
    )
    _ask(second, _PILE_QUESTIONS)
    folder, program = into / "catalog", _program()
    console().print(
        f"\nLook closer:  {program} ask '…' -C {folder}\n"
        f"              {program} show order_items -C {folder}\n"
        f"              {program} joins -C {folder}\n"
        f"On a page:    {program} serve -C {folder}, then http://127.0.0.1:8000/ "
        "(needs the extra: pip install 'dovetail[server]')\n"
        f"Your tables:  {program} index FILES FOLDERS URLS -C catalog",
        highlight=False,
    )


def _program() -> str:
    """How a reader starts dovetail: by its name, or as it was started where that is not found."""
    return "dovetail" if shutil.which("dovetail") else sys.argv[0]


def _indexed(
    into: Path, corpus: str, catalog: str, write: Callable[[Path], object], quiet: bool
) -> UpdateSummary:
    """Write a corpus, unless it is there, and index it."""
    from dovetail.api.building import update
    from dovetail.cli.catalog import print_overview
    from dovetail.settings import Settings

    place = into / corpus
    if not place.exists():
        unfinished = into / f"{corpus}.new"
        write(unfinished)
        unfinished.rename(place)
    with progress_bar(show=not quiet) as on_progress:
        sources = [f"{path.name}={path}" for path in sorted(place.iterdir())]
        summary = update(sources, into=into / catalog, settings=Settings(), on_progress=on_progress)
    print_overview(summary)
    return summary


def _ask(summary: UpdateSummary, questions: tuple[str, ...]) -> None:
    from dovetail.cli.ask import print_set

    for question in questions:
        console().print(f"\n{question}", highlight=False)
        print_set(summary.catalog.ask(question, selector="graph"))
