"""Finds the families of a catalog: blocks by names and columns, then contents, then who leads.

No two tables are compared that do not share a stem and like columns, or have equal columns, rows
and counts of distinct values; so the work grows with the number of tables, not with its square.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dovetail.catalog.reader import CatalogReader
from dovetail.domain import TableId
from dovetail.families.across import (
    Use,
    across_homes,
    equal_tables,
    home_pairs,
    region_slices,
)
from dovetail.families.assemble import assemble
from dovetail.families.columns import by_columns
from dovetail.families.contents import Contents
from dovetail.families.family import Families
from dovetail.families.links import Link, home_links, narrow_histories
from dovetail.families.name_parts import name_parts
from dovetail.families.tables import FamilyTable, family_tables
from dovetail.joins.distributed.distributed_columns import ValuePasses
from dovetail.joins.graph import JOINABLE, JoinGraph
from dovetail.joins.stored import StoredEdges


def find_families(
    catalog: CatalogReader, joins: JoinGraph, passes: ValuePasses | None = None
) -> Families:
    """The families of a catalog's tables; `joins` says which of several copies is in use.

    With `passes`, workers compare large columns.
    """
    tables = family_tables(catalog)
    contents = Contents(catalog, passes)
    joined = join_counts(joins)
    use = Use(_ranks(tables, joined), joined)
    links = _links(tables, contents, use)
    while contents.count_noted():
        links = _links(tables, contents, use)
    return assemble(links, joined)


def _links(tables: list[FamilyTable], contents: Contents, use: Use) -> list[Link]:
    """All links, as far as contents are known."""
    return [
        *_named_alike(tables, contents, use),
        *equal_tables(tables, contents, use),
        *region_slices(tables, contents),
    ]


def join_counts(joins: JoinGraph) -> dict[TableId, int]:
    """With how many tables of its own home each one joins, by joins likelier than not."""
    edges = joins.edges
    scored: Iterable[tuple[tuple[TableId, TableId], float]]
    if isinstance(edges, StoredEdges):  # of many edges none need be made
        scored = zip(edges.ends, edges.scores, strict=True)
    else:
        scored = (((edge.left, edge.right), edge.score) for edge in edges)
    counts: dict[TableId, int] = {}
    for ends, score in scored:
        if score <= JOINABLE:
            break  # the surest stand first
        if _home(ends[0]) == _home(ends[1]):
            for end in set(ends):
                counts[end] = counts.get(end, 0) + 1
    return counts


def _home(table: TableId) -> tuple[object, ...]:
    """Where a table stands: its source, and the schema or folder in it."""
    return table.source, name_parts(table.name).space


def _ranks(tables: Iterable[FamilyTable], joined: dict[TableId, int]) -> dict[TableId, int]:
    """The place of each table among all, those in use first: most joined, most rows, by name."""
    order = sorted(tables, key=lambda table: (-joined.get(table.id, 0), -table.rows, table.id))
    return {table.id: place for place, table in enumerate(order)}


def _named_alike(tables: Iterable[FamilyTable], contents: Contents, use: Use) -> Iterator[Link]:
    """The links among tables that are about the same thing and have like columns."""
    blocks: dict[object, list[FamilyTable]] = {}
    for table in tables:
        parts = table.parts
        blocks.setdefault(parts.stem or (table.id.source, parts.space), []).append(table)
    for block in blocks.values():
        if len(block) > 1:
            yield from _block_links(block, contents, use)


def _block_links(block: list[FamilyTable], contents: Contents, use: Use) -> Iterator[Link]:
    """The links within each home, and then across homes by a table of each group of columns."""
    homes: dict[object, list[FamilyTable]] = {}
    for table in block:
        homes.setdefault(table.home, []).append(table)
    heads = []
    for home in homes.values():
        for group in by_columns(home):
            if len(group) > 1:
                yield from home_links(group, contents)
            heads.append(min(group, key=lambda table: _head(table, use)))
        yield from narrow_histories(home, contents)
    for group in by_columns(heads):
        for one, other in home_pairs(group):
            link = across_homes(one, other, contents, use)
            if link:
                yield link


def _head(table: FamilyTable, use: Use) -> tuple[object, ...]:
    """A home is compared by its plain table, the one most in use."""
    return bool(table.parts.markers), bool(table.parts.slots), not table.rows, use.rank[table.id]
