"""Finds the families of a catalog: tables that are one logical table.

Tables of one stem are blocked by their columns, then compared by their contents; links make
families, and the joins say which member represents each.

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
    equal_tables,
    links_across,
    pair_of,
    region_slices,
    schema_pairs,
)
from dovetail.families.assemble import assemble
from dovetail.families.contents import Contents, FamilyTable, alike, family_tables
from dovetail.families.family import Families
from dovetail.families.links import Link, narrow_histories, schema_links
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
    links = [link for block in blocks for link in _links_within(block, contents)]
    pairs = [pair for block in blocks for pair in _pairs_across(block, contents, rank)]
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
    return assemble([*links, *links_across(pairs, use), *slices], use)


def _ranks(tables: Iterable[FamilyTable], use: Use) -> dict[TableId, int]:
    """The rank of each table, those in use first: most joined, most rows, by name."""
    order = sorted(tables, key=lambda table: (-use.joined(table.id), -table.rows, table.id))
    return {table.id: rank for rank, table in enumerate(order)}


@dataclass(frozen=True, slots=True)
class _Block:
    """Tables that are about the same thing: by schema, and in each in groups of like columns."""

    schemas: Sequence[Sequence[FamilyTable]]
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
        schemas: dict[object, list[FamilyTable]] = {}
        for table in block:
            schemas.setdefault(table.schema, []).append(table)
        groups = [group for schema in schemas.values() for group in by_columns(schema)]
        heads = [min(group, key=lambda table: _head(table, rank)) for group in groups]
        yield _Block(list(schemas.values()), groups, heads)


def _head(table: FamilyTable, rank: Mapping[TableId, int]) -> tuple[object, ...]:
    """A schema is compared by its plain table, the one most in use."""
    return bool(table.parts.markers), bool(table.parts.slots), not table.rows, rank[table.id]


def _links_within(block: _Block, contents: Contents) -> Iterator[Link]:
    """The links within each schema."""
    for group in block.groups:
        if len(group) > 1:
            yield from schema_links(group, contents)
    for schema in block.schemas:
        yield from narrow_histories(schema, contents)


def _pairs_across(block: _Block, contents: Contents, rank: Mapping[TableId, int]) -> Iterator[Pair]:
    """The tables that are compared across schemas, by a table of each group of columns."""
    for group in by_columns(block.heads):
        for one, other in schema_pairs(group):
            yield pair_of(one, other, contents, rank)


def by_columns(tables: Iterable[FamilyTable]) -> list[list[FamilyTable]]:
    """The tables in groups, each connected by sets of columns that are alike.

    Two alike sets share most columns of the smaller one, so among its rarest few at least one is
    shared: a set is compared only with larger ones that have one of these.
    """
    members: dict[frozenset[str], list[FamilyTable]] = {}
    for table in tables:
        members.setdefault(table.names, []).append(table)
    if len(members) == 1:
        return list(members.values())
    frequency = Counter(name for names in members for name in names)
    ordered = sorted(members, key=lambda names: (-len(names), sorted(names)))
    components = Components(range(len(ordered)))
    by_name: dict[str, list[int]] = {}
    for index, names in enumerate(ordered):
        rarest = sorted(names, key=lambda name: (frequency[name], name))
        probe = rarest[: int(_LACKING * len(names)) + 1]
        near = sorted({at for name in probe for at in by_name.get(name, ())})
        for at in near:
            if components.root(at) != components.root(index) and alike(names, ordered[at]):
                components.unite(at, index)
        for name in names:
            by_name.setdefault(name, []).append(index)
    groups = ([t for at in group for t in members[ordered[at]]] for group in components.groups())
    return [sorted(group, key=lambda table: table.id) for group in groups]
