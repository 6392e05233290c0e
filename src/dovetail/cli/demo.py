"""First contact: the command that shows what dovetail does, and what stands there without one."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dovetail.cli import options
from dovetail.cli.output import console, progress_bar, with_short_names
from dovetail.text import count

if TYPE_CHECKING:
    from dovetail.api.catalog import Catalog
    from dovetail.offline.summary import UpdateSummary

# Tables of three sources; parts of one table; tables that two systems have; what nobody recorded.
_QUESTIONS = (
    "Which suppliers delivered late to schools in Riverside?",
    "How did the order total develop from 2021 to 2023?",
    "How many open orders does each customer of the segment festival have?",
    "Which employees have a forklift licence?",
)


def demo(
    into: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Where the sample and its catalog go.")
    ] = Path("dovetail-demo"),
    quiet: options.Quiet = False,
) -> None:
    """Index a bundled sample, a company's pile of tables, and ask it a few questions.

    Many of its tables are copies, parts and versions of others. This needs no key and no network.
    """
    from dovetail.cli.ask import print_set

    catalog = with_short_names(_indexed(into, quiet).catalog)
    folder, program, families = into / "catalog", _program(), catalog.families()
    many = sum(len(family.tables) for family in families)
    console().print(
        f"{many} of its tables are copies, parts and versions of {len(families)}: "
        f"{program} families -C {folder}",
    )
    for question in _QUESTIONS:
        console().print(f"\n{question}")
        print_set(catalog.ask(question, selector="graph"))
    console().print(
        f"\nLook closer:  {program} ask '…' --run -C {folder}    with SQL and its rows\n"
        f"              {program} show order_items -C {folder}\n"
        f"              {program} joins -C {folder}\n"
        f"On a page:    {program} serve -C {folder}, then http://127.0.0.1:8000/ "
        "(needs the extra: pip install 'dovetail-tables[server]')\n"
        f"Your tables:  {program} index FILES FOLDERS URLS -C catalog",
    )


def print_next() -> None:
    """Say what to do next: make a catalog, or ask the one that is there."""
    from dovetail.cli.output import open_catalog
    from dovetail.errors import NotFoundError

    program = _program()
    try:
        catalog = open_catalog(None)
    except NotFoundError:
        console().print(
            "There is no catalog here yet.\n"
            f"  {program} index FILES FOLDERS URLS    reads your tables, and makes one\n"
            f"  {program} demo                        shows what it does, on a sample\n"
            f"  {program} --help                      lists all commands"
        )
        return
    console().print(
        f"{count(len(catalog), 'table')} in {catalog.folder}\n"
        f"  {program} ask 'a question'    which tables answer it, how they join, and SQL\n"
        f"  {program} tables              what there is; show TABLE, joins TABLE\n"
        f"  {program} index               brings it up to date\n"
        f"  {program} --help              lists all commands"
    )


def _program() -> str:
    """How a reader starts dovetail: by its name, or as it was started where that is not found."""
    if shutil.which("dovetail"):
        return "dovetail"
    as_module = Path(sys.argv[0]).name == "__main__.py"
    return f"{Path(sys.executable).name} -m dovetail" if as_module else sys.argv[0]


def _indexed(into: Path, quiet: bool) -> UpdateSummary[Catalog]:
    """Write the sample, unless it is there, and index it."""
    from dovetail.api.building import update
    from dovetail.cli.catalog import print_summary
    from dovetail.sample import write_company
    from dovetail.settings import Settings

    sample = into / "company"
    if not sample.exists():
        unfinished = into / "company.new"
        write_company(unfinished)
        unfinished.rename(sample)
    with progress_bar(show=not quiet) as on_progress:
        sources = [f"{path.name}={path}" for path in sorted(sample.iterdir())]
        settings = Settings()
        summary = update(sources, into=into / "catalog", settings=settings, on_progress=on_progress)
    print_summary(summary)
    return summary
