"""The nouns of families: which tables are one logical table, and which of them stands for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from dovetail.domain import HasId, TableId
from dovetail.ports import Json


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
    """Tables that are one logical table; `canonical` is the one that stands for it.

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

    def to_dict(self, table: TableId | None = None) -> Json:
        """The family as JSON has it; with a table, what that one is in it stands there too."""
        own = next((one.to_dict() for one in self.members if one.id == table), {})
        return {
            "name": self.name,
            "canonical": str(self.canonical),
            **{key: own[key] for key in ("role", "label", "evidence") if key in own},
            "members": [member.to_dict() for member in self.members],
        }


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
        """The family that a table belongs to, None where it stands alone."""
        return self._of.get(table)

    def canonical(self, table: TableId) -> TableId:
        """The table that stands for a table's family; the table itself where it stands alone."""
        family = self._of.get(table)
        return table if family is None else family.canonical

    def to_list(self) -> list[Json]:
        """All families as JSON has them."""
        return [family.to_dict() for family in self._families]
