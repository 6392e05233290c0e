"""Which tables of different schemas, folders or sources are one logical table, and which twins.

Names and columns say little across homes, so contents must: a copy holds the same values. Tables of
the same shape that share no values, or that are both joined where they stand, are twins: each is a
logical table of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from dovetail.domain import TableId
from dovetail.families.contents import Compared, Contents, Verdict
from dovetail.families.evidence import sentence
from dovetail.families.family import Role
from dovetail.families.links import Link
from dovetail.families.tables import FamilyTable
from dovetail.joins.naming.markers import REGIONS, Marker

# Among more homes only neighbours by size are compared: copies have like numbers of rows.
_ALL_PAIRS = 24
# A twin has so many columns, so many rows, and nearly the same columns.
_TWIN_COLUMNS, _TWIN_ROWS, _TWIN_SHARED = 4, 20, 0.8
_REGION_COLUMNS, _REGION_TABLES, _CODE = 4, 3, 3


@dataclass(frozen=True, slots=True)
class Use:
    """Which tables are in use: their rank among all, and how many of their own home each joins."""

    rank: Mapping[TableId, int]
    joined: Mapping[TableId, int]

    def both(self, one: FamilyTable, other: FamilyTable) -> bool:
        """Whether both are joined where they stand: then neither is a copy put aside."""
        return bool(self.joined.get(one.id) and self.joined.get(other.id))


def home_pairs(heads: Sequence[FamilyTable]) -> Iterator[tuple[FamilyTable, FamilyTable]]:
    """The pairs of homes to compare, by a table of each."""
    if len(heads) <= _ALL_PAIRS:
        yield from combinations(heads, 2)
        return
    ordered = sorted(heads, key=lambda table: (table.rows, table.id))
    for place, table in enumerate(ordered):
        for other in ordered[place + 1 : place + 3]:
            yield table, other


def across_homes(one: FamilyTable, other: FamilyTable, contents: Contents, use: Use) -> Link | None:
    """The link between tables of two homes that are about the same thing; `use` says who leads."""
    compared = contents.compare(one, other)
    of, table = sorted((one, other), key=lambda each: (bool(each.parts.markers), use.rank[each.id]))
    marked = bool(table.parts.markers - of.parts.markers - {Marker.VIEW})
    twins = not marked and use.both(one, other)
    if compared.proven and (
        compared.verdict is Verdict.SAME or (marked and compared.verdict is Verdict.OVERLAP)
    ):
        role = Role.TWIN if twins else Role.COPY
        return Link(table, of, role, evidence=sentence(table, of, compared))
    if _twins(one, other, compared) and not marked:
        return Link(table, of, Role.TWIN, evidence=sentence(table, of, compared))
    return None


def _twins(one: FamilyTable, other: FamilyTable, compared: Compared) -> bool:
    shared, union = len(one.names & other.names), len(one.names | other.names)
    return (
        compared.verdict is Verdict.APART
        and compared.proven
        and shared >= max(_TWIN_COLUMNS, _TWIN_SHARED * union)
        and min(one.rows, other.rows) >= _TWIN_ROWS
    )


def equal_tables(tables: Sequence[FamilyTable], contents: Contents, use: Use) -> Iterator[Link]:
    """Tables of any name whose columns and values are equal: copies under another name."""
    groups: dict[object, list[FamilyTable]] = {}
    for table in tables:
        if table.rows >= _TWIN_ROWS and len(table.columns) > _TWIN_COLUMNS - 2:
            key = (table.names, table.rows, contents.distinct(table))
            groups.setdefault(key, []).append(table)
    for group in groups.values():
        first, *others = sorted(
            group, key=lambda each: (bool(each.parts.markers), use.rank[each.id])
        )
        for table in others:
            if first.home != table.home and use.both(first, table):
                continue
            compared = contents.equal(table, first)
            if compared:
                yield Link(table, first, Role.COPY, evidence=sentence(table, first, compared))


def region_slices(tables: Sequence[FamilyTable], contents: Contents) -> Iterator[Link]:
    """Tables of one home and the same columns whose names differ in the code of a region alone."""
    groups: dict[object, list[tuple[str, FamilyTable]]] = {}
    for table in tables:
        parts = table.parts
        if len(table.columns) < _REGION_COLUMNS or parts.slots or parts.markers:
            continue
        for place in (0, len(parts.stem) - 1):
            word = parts.stem[place] if len(parts.stem) > 1 else ""
            if word in REGIONS or 2 <= len(word) <= _CODE:
                rest = (*parts.stem[:place], "", *parts.stem[place + 1 :])
                key = (table.id.source, parts.space, rest, table.names)
                groups.setdefault(key, []).append((word, table))
    for group in groups.values():
        if len(group) < _REGION_TABLES:
            continue
        (_, first), *others = sorted(group, key=lambda each: (-each[1].rows, each[1].id))
        compared = [(word, table, contents.compare(table, first)) for word, table in others]
        if any(each.verdict is not Verdict.APART or not each.proven for _, _, each in compared):
            continue
        code = next(word for word, table in group if table is first)
        evidence = sentence(first, compared[0][1], compared[0][2])
        yield Link(first, first, Role.PARTITION, code, evidence)
        for word, table, each in compared:
            yield Link(table, first, Role.PARTITION, word, sentence(table, first, each))
