"""The command that ranks tables: search."""

from __future__ import annotations

from typing import Annotated

import typer

from dovetail.cli.output import (
    CatalogOption,
    EmbedderOption,
    JsonOption,
    console,
    open_catalog,
    print_json,
    print_line,
    rich_table,
)
from dovetail.errors import UsageError

QuestionArgument = Annotated[str, typer.Argument(metavar="QUESTION", help="In your own words.")]


def search(
    question: QuestionArgument,
    k: Annotated[int, typer.Option("-k", "--k", min=1, metavar="N", help="Tables to list.")] = 10,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show the signals of each score, and why.")
    ] = False,
    catalog: CatalogOption = None,
    embedder: EmbedderOption = None,
    as_json: JsonOption = False,
) -> None:
    """Rank the tables of a catalog for a question.

    No language model is asked.
    """
    if not question.strip():
        raise UsageError("the question is empty; say what the tables should be about")
    opened = open_catalog(catalog, embedder=embedder)
    candidates = opened.search(question, k, explain=True)
    if as_json:
        rows = [candidate.to_dict() for candidate in candidates]
        print_json({"question": question, "embedder": opened.embedder, "tables": rows})
        return
    if explain:
        for rank, one in enumerate(candidates, start=1):
            print_line(f"{rank}. {one.id}  {one.relevance:.2f}")
            print_line(
                f"   {', '.join(f'{name} {value:.2f}' for name, value in one.signals.items())}"
            )
            for why in one.reasons:
                print_line(f"   {why}")
        return
    listing = rich_table("table", "relevance", "why")
    for one in candidates:
        listing.add_row(str(one.id), f"{one.relevance:.2f}", "; ".join(one.reasons))
    console().print(listing)
