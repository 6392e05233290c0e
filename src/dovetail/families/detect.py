"""Finds the families of a catalog: blocks by names and columns, then contents, then who leads.

No two tables are compared that do not share a stem and like columns, or have equal columns, rows
and counts of distinct values; so the work grows with the number of tables, not with its square.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dovetail.catalog.reader import CatalogReader
from dovetail.domain import TableId
from dovetail.families.across import across_homes, equal_tables, home_pairs, region_slices
from dovetail.families.assemble import assemble
from dovetail.families.columns import by_columns
from dovetail.families.contents import Contents
from dovetail.families.family import Families
from dovetail.families.links import Link, home_links
from dovetail.families.tables import FamilyTable, family_tables
from dovetail.joins.graph import JOINABLE, JoinGraph


def find_families(catalog: CatalogReader, joins: JoinGraph) -> Families:
    """The families of a catalog's tables; `joins` says which of several copies is in use."""
    tables = family_tables(catalog)
    contents = Contents(catalog)
    joined = join_counts(joins)
    rank = _ranks(tables, joined)
    links = [
        *_named_alike(tables, contents, rank),
        *equal_tables(tables, contents, rank),
        *region_slices(tables, contents),
    ]
    return assemble(links, joined)


def join_counts(joins: JoinGraph) -> dict[TableId, int]:
    """With how many tables of its own source each one joins, by joins likelier than not."""
    counts: dict[TableId, int] = {}
    for edge in joins.edges:
        if edge.score <= JOINABLE:
            break  # the surest stand first
        if edge.left.source == edge.right.source:
            for end in {edge.left, edge.right}:
                counts[end] = counts.get(end, 0) + 1
    return counts


def _ranks(tables: Iterable[FamilyTable], joined: dict[TableId, int]) -> dict[object, int]:
    """The place of each table among all, those in use first: most joined, most rows, by name."""
    order = sorted(tables, key=lambda table: (-joined.get(table.id, 0), -table.rows, table.id))
    return {table.id: place for place, table in enumerate(order)}


def _named_alike(
    tables: Iterable[FamilyTable], contents: Contents, rank: dict[object, int]
) -> Iterator[Link]:
    """The links among tables that are about the same thing and have like columns."""
    blocks: dict[object, list[FamilyTable]] = {}
    for table in tables:
        parts = table.parts
        blocks.setdefault(parts.stem or (table.id.source, parts.space), []).append(table)
    for block in blocks.values():
        if len(block) > 1:
            yield from _block_links(block, contents, rank)


def _block_links(
    block: list[FamilyTable], contents: Contents, rank: dict[object, int]
) -> Iterator[Link]:
    """The links within each home, and then across homes by a table of each group of columns."""
    homes: dict[object, list[FamilyTable]] = {}
    for table in block:
        homes.setdefault((table.id.source, table.parts.space), []).append(table)
    heads = []
    for home in homes.values():
        for group in by_columns(home):
            if len(group) > 1:
                yield from home_links(group, contents)
            heads.append(min(group, key=lambda table: _head(table, rank)))
    for group in by_columns(heads):
        for one, other in home_pairs(group):
            link = across_homes(one, other, contents, rank)
            if link:
                yield link


def _head(table: FamilyTable, rank: dict[object, int]) -> tuple[object, ...]:
    """A home is compared by its plain table, the one most in use."""
    return bool(table.parts.markers), bool(table.parts.slots), not table.rows, rank[table.id]
