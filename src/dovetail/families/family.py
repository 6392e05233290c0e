"""Families: which tables are one logical table, and the canonical one that represents it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dovetail.catalog.files import DAMAGE
from dovetail.catalog.generation import FAMILIES
from dovetail.catalog.reader import CatalogReader
from dovetail.domain import HasId, TableId
from dovetail.ports import Json

if TYPE_CHECKING:
    from dovetail.catalog.dbt import DbtProject

# Raised whenever the same catalog would give other families.
VERSION = 6
_FILE = "families.json"


class Role(StrEnum):
    """What a table is within its family.

    `table` is a table in its own right, `partition` a slice of one, `copy` a backup, staging or
    older version, `history` the earlier states of its rows, `view` a selection from it. A `twin`
    has the same shape and other contents: it is a logical table of its own, only mentioned here.

    >>> Role.PARTITION.value, Role("copy") is Role.COPY
    ('partition', True)
    """

    TABLE = "table"
    PARTITION = "partition"
    COPY = "copy"
    HISTORY = "history"
    TWIN = "twin"
    VIEW = "view"


@dataclass(frozen=True, slots=True)
class FamilyMember(HasId):
    """A table of a family: its role, and one sentence of evidence that a person can check.

    `label` is the slot that the table's name gives, normalised: `2022`, `2024-03`, `2024-03-07`,
    `2023-Q3`, `17`; empty where the name has none.

    >>> FamilyMember(TableId("erp", "orders_2022"), Role.PARTITION, "2022").label
    '2022'
    """

    id: TableId
    role: Role
    label: str = ""
    evidence: str = ""

    def to_dict(self) -> Json:
        """The member as JSON has it."""
        return {
            **self.id.to_dict(),
            "role": self.role.value,
            "label": self.label,
            "evidence": self.evidence,
        }


@dataclass(frozen=True, slots=True)
class Family:
    """Tables that are one logical table; `canonical` is the one that represents it.

    `members` holds the canonical table first, then the others in the order of roles, labels and
    names; twins come last.

    >>> orders, backup = TableId("erp", "orders"), TableId("erp", "orders_bak")
    >>> members = (FamilyMember(orders, Role.TABLE), FamilyMember(backup, Role.COPY))
    >>> family = Family("orders", orders, members)
    >>> [str(table) for table in family.tables], family.role(backup).value
    (['erp::orders', 'erp::orders_bak'], 'copy')
    """

    name: str
    canonical: TableId
    members: tuple[FamilyMember, ...]

    @property
    def tables(self) -> tuple[TableId, ...]:
        """The tables that are this logical table; twins are others."""
        return tuple(one.id for one in self.members if one.role is not Role.TWIN)

    @property
    def twins(self) -> tuple[TableId, ...]:
        """Tables of the same shape that are logical tables of their own."""
        return tuple(one.id for one in self.members if one.role is Role.TWIN)

    @property
    def partitions(self) -> tuple[FamilyMember, ...]:
        """The members that hold a slice each."""
        return tuple(one for one in self.members if one.role is Role.PARTITION)

    def role(self, table: TableId) -> Role:
        """The role of a table in this family; KeyError where it is none of its members."""
        for one in self.members:
            if one.id == table:
                return one.role
        raise KeyError(str(table))

    def words(self, table: TableId) -> str:
        """What a table is in this family, in a few words."""
        if table != self.canonical:
            return f"{self.role(table).value} of {self.canonical.name}"
        plurals = {"copy": "copies", "history": "histories"}
        counts = Counter(member.role.value for member in self.members[1:])
        return ", ".join(
            f"{count} {role if count == 1 else plurals.get(role, role + 's')}"
            for role, count in counts.items()
        )

    def to_dict(self, table: TableId | None = None, *, members: bool = True) -> Json:
        """The family as JSON has it; with a table, what that one is in it stands there too."""
        own = next((one.to_dict() for one in self.members if one.id == table), {})
        return {
            "name": self.name,
            "canonical": str(self.canonical),
            **{key: own[key] for key in ("role", "label", "evidence") if key in own},
            **({"members": [one.to_dict() for one in self.members]} if members else {}),
        }


# Members that can represent a family: a slice or an earlier state is never all of it.
_COMPLETE = (Role.TABLE, Role.COPY, Role.VIEW)


class Families:
    """The families of a catalog; a table that is in none is a logical table by itself.

    >>> orders, backup = TableId("erp", "orders"), TableId("erp", "orders_bak")
    >>> members = (FamilyMember(orders, Role.TABLE), FamilyMember(backup, Role.COPY))
    >>> families = Families([Family("orders", orders, members)])
    >>> str(families.canonical(backup)), str(families.canonical(TableId("erp", "items")))
    ('erp::orders', 'erp::items')
    >>> len(families), families.of(TableId("erp", "items"))
    (1, None)
    """

    def __init__(self, families: Iterable[Family] = ()) -> None:
        self._families = tuple(families)
        self._of = {table: family for family in self._families for table in family.tables}

    def __len__(self) -> int:
        return len(self._families)

    def __iter__(self) -> Iterator[Family]:
        return iter(self._families)

    def __repr__(self) -> str:
        return f"<Families: {len(self)} of {len(self._of)} tables>"

    def of(self, table: TableId) -> Family | None:
        """The family that a table belongs to, None where it is in none."""
        return self._of.get(table)

    def canonical(self, table: TableId) -> TableId:
        """The canonical table of a table's family; the table itself where it is in none."""
        family = self._of.get(table)
        return table if family is None else family.canonical

    def to_list(self) -> list[Json]:
        """All families as JSON has them."""
        return [family.to_dict() for family in self._families]


def by_lineage(families: Families, project: DbtProject) -> Families:
    """The families, each represented by the table that a dbt project is built to deliver.

    That is one which is not deprecated, which people look at (an exposure reads it), and which no
    other member is built from: the mart, not what it is staged from. Where two are alike in all of
    that, the family stays as it is.
    """
    if not project.tables:
        return families
    by_canonical = {family.canonical: family for family in families}
    for family in families:
        delivered = _delivered(family, project)
        if delivered is not None and delivered != family.canonical:
            represent(
                by_canonical, delivered, "dbt builds it from the others, or people look at it"
            )
    return Families(by_canonical[key] for key in sorted(by_canonical))


def _delivered(family: Family, project: DbtProject) -> TableId | None:
    complete = [one.id for one in family.members if one.role in _COMPLETE]
    known = [table for table in complete if table in project.tables]
    if len(known) < 2 or family.partitions:
        return None
    before = set().union(*(project.ancestors(table) for table in known))

    def order(table: TableId) -> tuple[bool, bool, bool]:
        built = project.tables[table]
        return not built.deprecated, bool(built.exposures), table not in before

    best = max(map(order, known))
    first = [table for table in known if order(table) == best]
    return first[0] if len(first) == 1 else None


def family_with(by_canonical: dict[TableId, Family], table: TableId) -> Family | None:
    """The family that a table belongs to, of families by their canonical tables."""
    return next((family for family in by_canonical.values() if table in family.tables), None)


def represent(by_canonical: dict[TableId, Family], table: TableId, why: str) -> None:
    """Make a table the canonical member of its family; `why` is the evidence."""
    family = family_with(by_canonical, table)
    if family is None or family.canonical == table:
        return
    first = FamilyMember(table, Role.TABLE, evidence=why)
    others = [
        replace(one, role=Role.COPY, evidence=why) if one.id == family.canonical else one
        for one in family.members
        if one.id != table
    ]
    del by_canonical[family.canonical]
    by_canonical[table] = Family(family.name, table, (first, *others))


def read_families(catalog: CatalogReader) -> Families:
    """The families of a catalog; none where it was indexed without them."""
    part = catalog.parts.get(FAMILIES)
    if part is None:
        return Families()
    stored = part.json(_FILE)
    try:
        tables = [TableId(source, name) for source, name in stored["tables"]]
        return Families(
            _family(name, tables[canonical], [(tables[at], *rest) for at, *rest in members])
            for name, canonical, members in stored["families"]
        )
    except DAMAGE as error:
        raise part.damaged(_FILE, repr(error)) from None


def write_families(families: Families, folder: Path) -> None:
    """Write families into the folder of a part; tables are numbered by a list of their own."""
    tables = sorted({member.id for family in families for member in family.members})
    number = {table: at for at, table in enumerate(tables)}
    listed = [
        [
            family.name,
            number[family.canonical],
            [[number[m.id], m.role.value, m.label, m.evidence] for m in family.members],
        ]
        for family in families
    ]
    ids = [[table.source, table.name] for table in tables]
    text = json.dumps({"tables": ids, "families": listed}, ensure_ascii=False)
    (folder / _FILE).write_text(text, "utf-8")


def _family(name: object, canonical: TableId, members: list[tuple[Any, ...]]) -> Family:
    """A family from what a file holds; ValueError where that makes none."""
    made = tuple(FamilyMember(table, Role(role), *texts) for table, role, *texts in members)
    labels = [name, *(text for one in made for text in (one.label, one.evidence))]
    if not all(isinstance(text, str) for text in labels):
        raise ValueError(name)
    family = Family(str(name), canonical, made)
    if canonical not in family.tables:
        raise ValueError(name)
    return family
