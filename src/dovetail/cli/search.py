"""The command that ranks tables: search."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from dovetail.cli.options import (
    CatalogOption,
    EmbedderOption,
    JsonOption,
    open_catalog,
    settings_for,
)
from dovetail.cli.output import console, print_json, printable, rich_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dovetail.domain import Candidate
    from dovetail.search.searcher import Searcher

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
    from dovetail.errors import UsageError
    from dovetail.search.searcher import open_searcher

    if not question.strip():
        raise UsageError("the question is empty; say what the tables should be about")
    settings = settings_for(catalog, embedder=embedder)
    searcher = open_searcher(open_catalog(catalog), settings)
    query = searcher.analyse(question)
    found = searcher.search(query, k)
    reasons = searcher.reasons(query, [one.id for one in found])
    rows = [
        {
            "id": str(one.id),
            "name": one.id.name,
            "source": one.id.source,
            "relevance": round(one.relevance, 4),
            "signals": {name: round(value, 4) for name, value in one.signals.items()},
            "reasons": why,
        }
        for one, why in zip(found, reasons, strict=True)
    ]
    if as_json:
        print_json({"question": question, "embedder": _embedder(searcher), "tables": rows})
        return
    if explain:
        _print_explained(found, reasons)
        return
    listing = rich_table("table", "relevance", "why")
    for one, why in zip(found, reasons, strict=True):
        listing.add_row(*map(printable, [str(one.id), f"{one.relevance:.2f}", "; ".join(why)]))
    console().print(listing)


def _print_explained(found: Sequence[Candidate], reasons: Sequence[Sequence[str]]) -> None:
    screen = console()
    for rank, (one, why) in enumerate(zip(found, reasons, strict=True), start=1):
        signals = ", ".join(f"{name} {value:.2f}" for name, value in one.signals.items())
        lines = [
            f"{rank}. {one.id}  {one.relevance:.2f}",
            f"   {signals}",
            *(f"   {w}" for w in why),
        ]
        for line in lines:
            screen.print(printable(line), highlight=False, markup=False, soft_wrap=True)


def _embedder(searcher: Searcher) -> str | None:
    return searcher.embedder.model_id if searcher.embedder else None
