"""Finds the families of a catalog: blocks by names and columns, then contents, then who leads.

No two tables are compared that do not share a stem and like columns, or have equal columns, rows
and counts of distinct values; so the work grows with the number of tables, not with its square.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from dovetail.catalog.reader import CatalogReader
from dovetail.domain import TableId
from dovetail.families.across import (
    Pair,
    across_homes,
    equal_tables,
    home_pairs,
    pair_of,
    region_slices,
)
from dovetail.families.assemble import assemble
from dovetail.families.columns import by_columns
from dovetail.families.contents import Contents
from dovetail.families.family import Families
from dovetail.families.links import Link, home_links, narrow_histories
from dovetail.families.tables import FamilyTable, family_tables
from dovetail.families.use import Use, use_of
from dovetail.joins.column_arrays import CatalogPasses
from dovetail.joins.graph import JoinGraph


def find_families(
    catalog: CatalogReader, joins: JoinGraph, passes: CatalogPasses | None = None
) -> Families:
    """The families of a catalog's tables; `joins` says which of several copies is in use.

    With `passes`, workers compare large columns.
    """
    tables = family_tables(catalog)
    contents = Contents(catalog, passes)
    rank = _ranks(tables, use_of(tables, joins))
    blocks = list(_blocks(tables, rank))
    found = _compared(tables, blocks, contents, rank)
    while contents.count_noted():
        found = _compared(tables, blocks, contents, rank)
    links, pairs, slices = found
    use = use_of(
        tables,
        joins,
        equal=[(pair.table, pair.of) for pair in pairs if pair.equal],
        alike=[
            *((link.table, link.of) for link in links),
            *((pair.table, pair.of) for pair in pairs if pair.may_be_equal),
        ],
    )
    return assemble([*links, *across_homes(pairs, use), *slices], use)


def _ranks(tables: Iterable[FamilyTable], use: Use) -> dict[TableId, int]:
    """The place of each table among all, those in use first: most joined, most rows, by name."""
    order = sorted(tables, key=lambda table: (-use.joined(table.id), -table.rows, table.id))
    return {table.id: place for place, table in enumerate(order)}


@dataclass(frozen=True, slots=True)
class _Block:
    """Tables that are about the same thing: by home, and there in groups of like columns."""

    homes: Sequence[Sequence[FamilyTable]]
    groups: Sequence[Sequence[FamilyTable]]
    heads: Sequence[FamilyTable]  # of each group the table by which it is compared with others


def _blocks(tables: Iterable[FamilyTable], rank: Mapping[TableId, int]) -> Iterator[_Block]:
    """The tables by what they are about, where these are several."""
    stems: dict[object, list[FamilyTable]] = {}
    for table in tables:
        parts = table.parts
        stems.setdefault(parts.stem or (table.id.source, parts.schema), []).append(table)
    for block in stems.values():
        if len(block) < 2:
            continue
        homes: dict[object, list[FamilyTable]] = {}
        for table in block:
            homes.setdefault(table.home, []).append(table)
        groups = [group for home in homes.values() for group in by_columns(home)]
        heads = [min(group, key=lambda table: _head(table, rank)) for group in groups]
        yield _Block(list(homes.values()), groups, heads)


def _head(table: FamilyTable, rank: Mapping[TableId, int]) -> tuple[object, ...]:
    """A home is compared by its plain table, the one most in use."""
    return bool(table.parts.markers), bool(table.parts.slots), not table.rows, rank[table.id]


def _compared(
    tables: Sequence[FamilyTable],
    blocks: Sequence[_Block],
    contents: Contents,
    rank: Mapping[TableId, int],
) -> tuple[list[Link], list[Pair], list[Link]]:
    """The links within homes, pairs across them, and slices, as far as contents are known."""
    links = [link for block in blocks for link in _home_links(block, contents)]
    pairs = [pair for block in blocks for pair in _home_pairs(block, contents, rank)]
    pairs += equal_tables(tables, contents, rank)
    return links, pairs, list(region_slices(tables, contents))


def _home_links(block: _Block, contents: Contents) -> Iterator[Link]:
    """The links within each home."""
    for group in block.groups:
        if len(group) > 1:
            yield from home_links(group, contents)
    for home in block.homes:
        yield from narrow_histories(home, contents)


def _home_pairs(block: _Block, contents: Contents, rank: Mapping[TableId, int]) -> Iterator[Pair]:
    """The tables that are compared across homes, by a table of each group of columns."""
    for group in by_columns(block.heads):
        for one, other in home_pairs(group):
            yield pair_of(one, other, contents, rank)
