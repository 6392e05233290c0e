"""Which tables of different schemas, folders or sources are one logical table, and which are twins.

Names and columns prove little across schemas, so contents decide: a copy has the same values.
Tables of the same columns that share no values, or that are both in use in their own schemas
(use.py), are twins: each is a logical table of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from dovetail.domain import TableId
from dovetail.families.contents import Compared, Contents, FamilyTable, Verdict
from dovetail.families.family import Role
from dovetail.families.links import Link, sentence
from dovetail.families.use import Use
from dovetail.names.table_name import REGIONS, Marker

# Among more schemas only neighbours by size are compared: copies have like numbers of rows.
_ALL_PAIRS = 24
# A twin has so many columns, so many rows, and nearly the same columns.
_TWIN_COLUMNS, _TWIN_ROWS, _TWIN_SHARED = 4, 20, 0.8
_REGION_COLUMNS, _REGION_TABLES, _CODE = 4, 3, 3


@dataclass(frozen=True, slots=True)
class Pair:
    """Two tables, as a rule of different schemas, and what their contents say of each other.

    `of` would be the canonical one. `named` says that they were paired by their names, not by equal
    contents under any name and in any schema.
    """

    table: FamilyTable
    of: FamilyTable
    compared: Compared
    named: bool = True

    @property
    def marked(self) -> bool:
        """Whether the name of `table` marks it as a copy, a version or a history."""
        return bool(self.table.parts.markers - self.of.parts.markers - {Marker.VIEW})

    @property
    def equal(self) -> bool:
        """Whether the contents prove that both have the same values: a copy, or twins."""
        enough = (Verdict.SAME, Verdict.OVERLAP) if self.marked else (Verdict.SAME,)
        return self.compared.proven and self.compared.verdict in enough

    @property
    def may_be_equal(self) -> bool:
        """Whether the contents do not rule it out: they prove nothing, or of too few rows."""
        if self.compared.verdict is Verdict.UNKNOWN:
            return True
        return self.compared.verdict is Verdict.SAME and not self.compared.proven


def schema_pairs(heads: Sequence[FamilyTable]) -> Iterator[tuple[FamilyTable, FamilyTable]]:
    """The pairs of schemas to compare, by a table of each."""
    if len(heads) <= _ALL_PAIRS:
        yield from combinations(heads, 2)
        return
    ordered = sorted(heads, key=lambda table: (table.rows, table.id))
    for at, table in enumerate(ordered):
        for other in ordered[at + 1 : at + 3]:
            yield table, other


def pair_of(
    one: FamilyTable, other: FamilyTable, contents: Contents, rank: Mapping[TableId, int]
) -> Pair:
    """Two tables of like names and columns, compared; the first by `rank` would be canonical."""
    of, table = sorted((one, other), key=lambda each: (bool(each.parts.markers), rank[each.id]))
    return Pair(table, of, contents.compare(one, other))


def links_across(pairs: Sequence[Pair], use: Use) -> Iterator[Link]:
    """The links between tables of different schemas, the copies of whole schemas first."""
    shared = Counter(frozenset((pair.table.schema, pair.of.schema)) for pair in pairs if pair.equal)

    def in_common(pair: Pair) -> int:
        return shared[frozenset((pair.table.schema, pair.of.schema))]

    for pair in sorted(pairs, key=in_common, reverse=True):
        role = _role(pair, use)
        if role is not None:
            text = sentence(pair.table, pair.of, pair.compared)
            yield Link(pair.table, pair.of, role, evidence=text, equal=pair.equal)


def _role(pair: Pair, use: Use) -> Role | None:
    if pair.equal:
        apart = pair.named or pair.table.schema != pair.of.schema
        twins = apart and not pair.marked and use.both(pair.table, pair.of)
        return Role.TWIN if twins else Role.COPY
    if pair.named and not pair.marked and _twins(pair.table, pair.of, pair.compared):
        return Role.TWIN
    return None


def _twins(one: FamilyTable, other: FamilyTable, compared: Compared) -> bool:
    shared, union = len(one.names & other.names), len(one.names | other.names)
    return (
        compared.verdict is Verdict.APART
        and compared.proven
        and shared >= max(_TWIN_COLUMNS, _TWIN_SHARED * union)
        and min(one.rows, other.rows) >= _TWIN_ROWS
    )


def equal_tables(
    tables: Sequence[FamilyTable], contents: Contents, rank: Mapping[TableId, int]
) -> Iterator[Pair]:
    """Tables of any name and schema whose columns and values are equal."""
    groups: dict[object, list[FamilyTable]] = {}
    for table in tables:
        if table.rows >= _TWIN_ROWS and len(table.columns) > _TWIN_COLUMNS - 2:
            key = (table.names, table.rows, contents.distinct(table))
            groups.setdefault(key, []).append(table)
    for group in groups.values():
        first, *others = sorted(group, key=lambda each: (bool(each.parts.markers), rank[each.id]))
        for table in others:
            compared = contents.equal(table, first)
            if compared:
                yield Pair(table, first, compared, named=False)


def region_slices(tables: Sequence[FamilyTable], contents: Contents) -> Iterator[Link]:
    """Tables of one schema and the same columns whose names differ in a region's code alone."""
    groups: dict[object, list[tuple[str, FamilyTable]]] = {}
    for table in tables:
        parts = table.parts
        if len(table.columns) < _REGION_COLUMNS or parts.slots or parts.markers:
            continue
        for at in (0, len(parts.stem) - 1):
            word = parts.stem[at] if len(parts.stem) > 1 else ""
            if word in REGIONS or 2 <= len(word) <= _CODE:
                rest = (*parts.stem[:at], "", *parts.stem[at + 1 :])
                key = (table.id.source, parts.schema, rest, table.names)
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
