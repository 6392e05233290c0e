"""Finds the families of a catalog: blocks by names and columns, then contents, then who leads.

No two tables are compared that do not share a stem and like columns, or have equal columns, rows
and counts of distinct values; so the work grows with the number of tables, not with its square.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from dovetail.catalog.reader import CatalogReader
from dovetail.components import Components
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
from dovetail.families.contents import Contents, FamilyTable, alike, family_tables
from dovetail.families.family import Families
from dovetail.families.links import Link, home_links, narrow_histories
from dovetail.families.use import Use, use_of
from dovetail.joins.graph import JoinGraph

# The share of its columns that a set may lack in one it is like: 1 - 0.7 (see `alike`).
_LACKING = 0.3


def find_families(catalog: CatalogReader, joins: JoinGraph) -> Families:
    """The families of a catalog's tables; `joins` says which of several copies is in use."""
    tables = family_tables(catalog)
    contents = Contents(catalog)
    rank = _ranks(tables, use_of(tables, joins))
    blocks = list(_blocks(tables, rank))
    links = [link for block in blocks for link in _home_links(block, contents)]
    pairs = [pair for block in blocks for pair in _home_pairs(block, contents, rank)]
    pairs += equal_tables(tables, contents, rank)
    slices = region_slices(tables, contents)
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


def by_columns(tables: Iterable[FamilyTable]) -> list[list[FamilyTable]]:
    """The tables in groups, each connected by sets of columns that are alike.

    Two alike sets share most columns of the smaller one, so among its rarest few at least one is
    shared: a set is compared only with larger ones that hold one of these.
    """
    members: dict[frozenset[str], list[FamilyTable]] = {}
    for table in tables:
        members.setdefault(table.names, []).append(table)
    if len(members) == 1:
        return list(members.values())
    often = Counter(name for names in members for name in names)
    ordered = sorted(members, key=lambda names: (-len(names), sorted(names)))
    components = Components(range(len(ordered)))
    holding: dict[str, list[int]] = {}
    for place, names in enumerate(ordered):
        rarest = sorted(names, key=lambda name: (often[name], name))
        probe = rarest[: int(_LACKING * len(names)) + 1]
        near = sorted({at for name in probe for at in holding.get(name, ())})
        for at in near:
            if components.root(at) != components.root(place) and alike(names, ordered[at]):
                components.unite(at, place)
        for name in names:
            holding.setdefault(name, []).append(place)
    groups = ([t for at in group for t in members[ordered[at]]] for group in components.groups())
    return [sorted(group, key=lambda table: table.id) for group in groups]
