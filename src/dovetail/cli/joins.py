"""The command that shows joins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from dovetail.cli.options import CatalogOption, JsonOption, open_catalog
from dovetail.cli.output import console, note, print_json, printable, rich_table
from dovetail.domain.sql import transform_words
from dovetail.errors import NotFoundError

if TYPE_CHECKING:
    from dovetail.catalog.usage import JoinUse, Usage
    from dovetail.domain import JoinEdge

# Characters of a sample query that a line shows.
_SAMPLE = 120


def joins(
    table: Annotated[
        str | None, typer.Argument(metavar="[TABLE]", help="Only the joins of this table.")
    ] = None,
    path: Annotated[
        tuple[str, str] | None,
        typer.Option(
            metavar="A B", help="The path from one table to another that a person would take."
        ),
    ] = None,
    least: Annotated[
        float, typer.Option(metavar="SCORE", help="Joins that score above this.")
    ] = 0.5,
    catalog: CatalogOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show which tables join, by which columns, how surely and why."""
    from dovetail.joins.graph import path_notes
    from dovetail.notes.apply import noted_graph
    from dovetail.notes.notes import read_notes

    opened = open_catalog(catalog)
    noted = read_notes(opened)
    for line in noted.warnings:
        note(line)
    graph = noted_graph(opened, noted)
    notes: list[str] = []
    if path is not None:
        ends = [opened[name].id for name in path]
        edges = graph.path(*ends, least=least)
        if not edges:
            raise NotFoundError(f"no joins above {least} lead from {ends[0]} to {ends[1]}")
        notes = path_notes(edges, ends[0])
    elif table is not None:
        edges = graph.joins(opened[table].id, least=least)
    else:
        edges = [edge for edge in graph.edges if edge.score > least]
    if as_json:
        found = [_json(edge, opened.usage) for edge in edges]
        about = {"catalog": str(opened.folder), "joins": found}
        print_json(about if path is None else {**about, "notes": notes})
        return
    listing = rich_table("score", "join", "kind", "match rate", "why")
    for edge in edges:
        pairs = " and ".join(f"{edge.left}.{a} = {edge.right}.{b}" for a, b in edge.columns)
        cells = [
            f"{edge.score:.2f}",
            pairs,
            edge.cardinality,
            f"{edge.match_rate:.0%}",
            _why(edge, opened.usage),
        ]
        listing.add_row(*cells)
    console().print(listing)
    for each in notes:
        console().print(printable(f"Note: {each}."), highlight=False)


def _json(edge: JoinEdge, usage: Usage) -> dict[str, object]:
    """An edge as JSON has it, with a sample of the queries that made it."""
    use = _use_of(edge, usage)
    more = {"example": use.example, "last_queried": use.last or None} if use else {}
    return {**edge.to_dict(), **more}


def _why(edge: JoinEdge, usage: Usage) -> str:
    """The evidence that moved the score most, in a few words."""
    said = edge.evidence
    use = _use_of(edge, usage)
    sample = f", e.g. {use.example[:_SAMPLE]}" if use and use.example else ""
    missing = said.get("values_without_partner", 0)
    several = said.get("values_with_several_partners", 0)
    words = [
        ("pinned" in said, "you pinned this"),
        ("declared" in said, "declared in dbt" if "dbt" in said else "declared"),
        ("queries" in said, f"joined in {_queries(said.get('queries', 0))}{sample}"),
        (missing > 0, f"{missing:,.0f} value{'s' * (missing != 1)} without a partner"),
        (several > 0, f"{several:,.0f} value{'s' * (several != 1)} with several partners"),
        (bool(edge.transform), transform_words(edge.transform)),
        ("names_only" in said, "by name only"),
        ("composite" in said, "unique together only"),
        ("self" in said, "self-reference"),
        ("junction" in said, "junction table"),
        (said.get("name", 0) >= 0.5, "named after it"),
        (said.get("value", 0) >= 0.5, "distinctive values"),
        (said.get("key", 0) >= 0.7, "its key"),
        (said.get("row_containment", 1) < 1, f"{1 - said.get('row_containment', 1):.1%} orphans"),
        (said.get("competitors", 0) >= 0.5, "has competitors"),
        (said.get("jaccard", 0) >= 0.5, "values overlap"),
    ]
    return ", ".join(word for holds, word in words if holds)


def _use_of(edge: JoinEdge, usage: Usage) -> JoinUse | None:
    if "queries" not in edge.evidence:
        return None
    from dovetail.joins.queried import use_of

    return use_of(edge, usage)


def _queries(count: float) -> str:
    return f"{count:,.0f} quer{'ies' if count != 1 else 'y'}"
