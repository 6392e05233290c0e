"""The command that shows joins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from dovetail.cli.output import (
    CatalogOption,
    JsonOption,
    console,
    note,
    open_catalog,
    print_json,
    print_line,
    rich_table,
)
from dovetail.domain.sql import transform_words
from dovetail.errors import NotFoundError
from dovetail.text import count

if TYPE_CHECKING:
    from dovetail.api.catalog import Catalog
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
    opened = open_catalog(catalog)
    for line in opened.notes.warnings:
        note(line)
    notes: list[str] = []
    if path is not None:
        start, end = (opened[name].id for name in path)
        edges = opened.path(start, end, least=least)
        if not edges:
            raise NotFoundError(f"no joins above {least} lead from {start} to {end}")
        notes = opened.path_notes(edges, start)
    else:
        edges = opened.joins(table, least=least)
    if as_json:
        about = {"catalog": str(opened.folder), "joins": [_json(edge, opened) for edge in edges]}
        print_json(about if path is None else {**about, "notes": notes})
        return
    listing = rich_table("score", "join", "kind", "match rate", "why")
    for edge in edges:
        pairs = " and ".join(f"{edge.left}.{a} = {edge.right}.{b}" for a, b in edge.columns)
        rate = f"{edge.match_rate:.0%}"
        why = _why(edge, opened)
        listing.add_row(f"{edge.score:.2f}", pairs, edge.cardinality, rate, why)
    console().print(listing)
    for each in notes:
        print_line(f"Note: {each}.")


def _json(edge: JoinEdge, opened: Catalog) -> dict[str, object]:
    """An edge as JSON has it, with a sample of the queries that made it."""
    use = opened.query_use(edge)
    more = {"example": use.example, "last_queried": use.last or None} if use else {}
    return {**edge.to_dict(), **more}


def _why(edge: JoinEdge, opened: Catalog) -> str:
    """The evidence that moved the score most, in a few words."""
    evidence = edge.evidence
    use = opened.query_use(edge)
    sample = f", e.g. {use.example[:_SAMPLE]}" if use and use.example else ""
    missing = evidence.get("values_without_partner", 0)
    several = evidence.get("values_with_several_partners", 0)
    orphans = 1 - evidence.get("row_containment", 1)
    words = [
        ("pinned" in evidence, "you pinned this"),
        ("declared" in evidence, "declared in dbt" if "dbt" in evidence else "declared"),
        ("queries" in evidence, f"joined in {count(evidence.get('queries', 0), 'query')}{sample}"),
        (missing > 0, f"{count(missing, 'value')} without a partner"),
        (several > 0, f"{count(several, 'value')} with several partners"),
        (bool(edge.transform), transform_words(edge.transform)),
        ("names_only" in evidence, "by name only"),
        ("composite" in evidence, "unique together only"),
        ("self" in evidence, "self-reference"),
        ("junction" in evidence, "junction table"),
        (evidence.get("name", 0) >= 0.5, "named after it"),
        (evidence.get("value", 0) >= 0.5, "distinctive values"),
        (evidence.get("key", 0) >= 0.7, "its key"),
        (orphans > 0, f"{orphans:.1%} orphans"),
        (evidence.get("competitors", 0) >= 0.5, "has competitors"),
        (evidence.get("jaccard", 0) >= 0.5, "values overlap"),
    ]
    return ", ".join(word for holds, word in words if holds)
