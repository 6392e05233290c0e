"""Which member of a family is canonical, by what a dbt project says of how tables come about."""

from __future__ import annotations

from dataclasses import replace

from dovetail.catalog.knowledge.dbt_project import DbtProject
from dovetail.domain import TableId
from dovetail.families.family import Families, Family, FamilyMember, Role

# Members that can stand for a family: a slice or an earlier state is never all of it.
_WHOLE = (Role.TABLE, Role.COPY, Role.VIEW)


def by_lineage(families: Families, project: DbtProject) -> Families:
    """The families with the table standing for each that a project is built to deliver.

    That is one which is not deprecated, which people look at (an exposure reads it), and which no
    other member is built from: the mart, not what it is staged from. Where two are alike in all of
    that, the family stays as it was found.
    """
    if not project.tables:
        return families
    found = {family.canonical: family for family in families}
    for family in families:
        delivered = _delivered(family, project)
        if delivered is not None and delivered != family.canonical:
            stand_for(found, delivered, "dbt builds it from the others, or people look at it")
    return Families(found[key] for key in sorted(found))


def _delivered(family: Family, project: DbtProject) -> TableId | None:
    whole = [one.id for one in family.members if one.role in _WHOLE]
    known = [table for table in whole if table in project.tables]
    if len(known) < 2 or family.partitions:
        return None
    before = set().union(*(project.ancestors(table) for table in known))

    def order(table: TableId) -> tuple[bool, bool, bool]:
        told = project.tables[table]
        return not told.deprecated, bool(told.exposures), table not in before

    best = max(map(order, known))
    first = [table for table in known if order(table) == best]
    return first[0] if len(first) == 1 else None


def family_with(found: dict[TableId, Family], table: TableId) -> Family | None:
    """The family that a table belongs to, of families by their canonical tables."""
    return next((family for family in found.values() if table in family.tables), None)


def stand_for(found: dict[TableId, Family], table: TableId, why: str) -> None:
    """Have a table stand for its family, in place of the one that does; `why` is the evidence."""
    family = family_with(found, table)
    if family is None or family.canonical == table:
        return
    first = FamilyMember(table, Role.TABLE, evidence=why)
    others = [
        replace(one, role=Role.COPY, evidence=why) if one.id == family.canonical else one
        for one in family.members
        if one.id != table
    ]
    del found[family.canonical]
    found[table] = Family(family.name, table, (first, *others))
