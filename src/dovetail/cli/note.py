"""The commands that teach: dovetail note …, dovetail feedback, and dovetail learn."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from dovetail.cli import options
from dovetail.cli.output import console, open_catalog, print_json, print_line, rich_table
from dovetail.cli.output import note as warn
from dovetail.errors import UsageError
from dovetail.text import count

if TYPE_CHECKING:
    from dovetail import LearnSummary
    from dovetail.api.catalog import Catalog

note = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Correct and define what it works out: one readable file of notes, applied at once.",
)
JoinArgument = Annotated[
    str,
    typer.Argument(
        metavar="JOIN", help="table.column = other.column; 'and' between pairs of one join."
    ),
]


@note.command()
def pin(join: JoinArgument, catalog: options.Catalog = None) -> None:
    """Say that two tables join: an edge of score 1."""
    _write(open_catalog(catalog), "joins", join, "pin")


@note.command()
def ban(join: JoinArgument, catalog: options.Catalog = None) -> None:
    """Say that a join is none; two tables without columns ban every join between them."""
    _write(open_catalog(catalog), "joins", join, "ban")


@note.command()
def mark(
    table: Annotated[str, typer.Argument(metavar="TABLE", help="A table by name.")],
    role: Annotated[
        str, typer.Argument(metavar="ROLE", help="canonical, copy, 'copy of TABLE' or ignore.")
    ],
    catalog: options.Catalog = None,
) -> None:
    """Say what a table is: the canonical one, a copy of another, or not to be considered."""
    _write(open_catalog(catalog), "tables", table, role)


@note.command()
def define(
    term: Annotated[str, typer.Argument(metavar="TERM", help="As questions say it: DSO.")],
    meaning: Annotated[str, typer.Argument(metavar="MEANING", help="In other words.")] = "",
    table: Annotated[
        list[str] | None,
        typer.Option(metavar="TABLE", help="A table, or table.column, it is about (repeatable)."),
    ] = None,
    catalog: options.Catalog = None,
) -> None:
    """Say what a term means: other words for it, tables or columns that it is about, or both."""
    about = f": {', '.join(table)}" if table else ""
    _write(open_catalog(catalog), "terms", term, f"{meaning}{about}")


@note.command()
def domain(
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", help="What the identifiers are called; or table.column."),
    ],
    master: Annotated[
        str,
        typer.Argument(
            metavar="COLUMN", help="The table.column they are made in; none for a column of none."
        ),
    ],
    catalog: options.Catalog = None,
) -> None:
    """Name a key domain and its master, or take a column out: TABLE.COLUMN none."""
    _write(open_catalog(catalog), "domains", name, master)


@note.command()
def about(
    table: Annotated[
        str, typer.Argument(metavar="TABLE", help="A table by name, or table.column.")
    ],
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What to know of it.")],
    catalog: options.Catalog = None,
) -> None:
    """Say something of a table or a column; it is searched as a comment is."""
    _write(open_catalog(catalog), "about", table, text)


@note.command()
def remove(
    key: Annotated[str, typer.Argument(metavar="KEY", help="What stands left of the = there.")],
    catalog: options.Catalog = None,
) -> None:
    """Take a note back."""
    from dovetail.api.noting import remove_note

    sections = remove_note(open_catalog(catalog), key)
    print_line(f"Removed {key!r} from [{'], ['.join(sections)}].")


@note.command("list")
def list_notes(catalog: options.Catalog = None, as_json: options.Json = False) -> None:
    """List the notes that count, and the lines that cannot be used."""
    from dovetail.api.noting import noted, notes_file

    opened = open_catalog(catalog)
    file, notes, entries = notes_file(opened), opened.notes, noted(opened)
    if as_json:
        rows = [asdict(entry) for entry in entries]
        problems = [{"line": each.line, "problem": each.text} for each in notes.problems]
        print_json({"file": str(file), "notes": rows, "problems": problems})
    else:
        listing = rich_table("section", "key", "value")
        for entry in entries:
            listing.add_row(entry.section, entry.key, entry.value)
        console().print(listing)
        for line in notes.warnings:
            print_line(line)
    if notes.problems:
        raise typer.Exit(1)


@note.command()
def suggest(
    write: Annotated[bool, typer.Option("--write", help="Note them all.")] = False,
    catalog: options.Catalog = None,
    as_json: options.Json = False,
) -> None:
    """Propose pins and definitions from the questions whose right tables were told."""
    from dovetail.api.noting import write_note

    opened = open_catalog(catalog)
    proposals = opened.proposals()
    if write:
        for each in proposals:
            write_note(opened, each.section, each.key, each.value)
    if as_json:
        print_json({"proposals": [asdict(each) for each in proposals], "written": write})
        return
    if not proposals:
        print_line("Nothing to propose: tell which tables were right with dovetail feedback.")
        return
    listing = rich_table("section", "note", "why")
    for each in proposals:
        listing.add_row(each.section, f"{each.key} = {each.value}", each.why)
    console().print(listing)


def feedback(
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="As it was asked.")],
    tables: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[TABLE]...",
            help="The tables that are right for it; without any, the set that ask finds.",
        ),
    ] = None,
    catalog: options.Catalog = None,
) -> None:
    """Record which tables were right for a question.

    They go into the file of notes; dovetail note suggest makes proposals of them.
    """
    if not question.strip():
        raise UsageError("the question is empty; give it as it was asked")
    opened = open_catalog(catalog)
    right = tables or list(map(str, opened.ask(question).ids))
    if not right:
        raise UsageError("no table was found for it; name the tables that are right")
    _write(opened, "questions", question, ", ".join(right))


def _write(opened: Catalog, section: str, key: str, value: str) -> None:
    from dovetail.api.noting import write_note

    file, doubts = write_note(opened, section, key, value)
    print_line(f"Noted in {file}: [{section}] {key} = {value}")
    for doubt in doubts:
        warn(doubt)


def learn(
    logs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="LOG...",
            help="Past queries: a .sql script; CSV, JSON or Parquet with a column sql or query "
            "(and question, calls, start_time); a postgresql:// or mysql:// URL or the label of "
            "such a source, whose statistics of statements are read.",
        ),
    ] = None,
    dialect: Annotated[
        str, typer.Option(metavar="NAME", help="Their SQL: postgres, bigquery, … [the sources'].")
    ] = "",
    source: options.Source = None,
    keep_literals: Annotated[
        bool, typer.Option("--keep-literals", help="Keep the literals of sample queries too.")
    ] = False,
    forget: Annotated[
        bool, typer.Option("--forget", help="Forget these logs, or all that were learnt.")
    ] = False,
    catalog: options.Catalog = None,
    as_json: options.Json = False,
) -> None:
    """Learn from past queries which tables are used, and how people join them.

    A log that was learnt before counts once; one that changed takes its older self's place.
    """
    opened = open_catalog(catalog)
    if forget:
        summary = opened.forget_queries(*(logs or ()))
    elif logs:
        summary = opened.learn(
            *logs, dialect=dialect, sources=source or (), keep_literals=keep_literals
        )
    else:
        raise UsageError("name a log of queries to learn from, or --forget what was learnt")
    if as_json:
        print_json({"catalog": str(opened.folder), **summary.to_dict()})
    else:
        _print_learnt(summary)
    if summary.failed:
        raise typer.Exit(1)


def _print_learnt(summary: LearnSummary) -> None:
    for log in summary.learnt:
        counts = {
            "other statement": log.others,
            "broken one": log.broken,
            "join": len(log.joins),
            "example": len(log.examples),
        }
        parts = [count(number, noun) for noun, number in counts.items() if number]
        over = f"{count(log.queries, 'query')} over {count(len(log.tables), 'table')}"
        print_line(", ".join([f"{log.name}: {over}", *parts]))
    for name in summary.unchanged:
        print_line(f"{name}: learnt before, and counted once")
    for name in summary.forgotten:
        print_line(f"{name}: forgotten")
    for line in summary.failed:
        warn(line)
