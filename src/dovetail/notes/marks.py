"""What notes say tables are, over the families that were found: a person's word counts."""

from __future__ import annotations

from dataclasses import replace

from dovetail.domain import TableId
from dovetail.families.family import Families, Family, FamilyMember, Role, family_with, stand_for
from dovetail.notes.notes import CANONICAL, COPY, Notes

_WHY = "your notes say so"


def marked_families(families: Families, notes: Notes) -> Families:
    """The families with the tables that notes call canonical, or copies of others.

    A canonical table stands for its family, or alone if it was taken for a copy of a table that
    is canonical too. A copy joins the family of the table it is a copy of.
    """
    marks = [mark for mark in notes.marks if mark.role in (CANONICAL, COPY)]
    if not marks:
        return families
    found = {family.canonical: family for family in families}
    for mark in marks:
        if mark.role == CANONICAL:
            stand_for(found, mark.table, _WHY)
    for mark in marks:
        if mark.role == COPY and mark.of is not None and mark.of != mark.table:
            _copy_of(found, mark.table, mark.of)
    return Families(found[key] for key in sorted(found))


def _copy_of(found: dict[TableId, Family], table: TableId, of: TableId) -> None:
    old = family_with(found, table)
    if old is not None:
        del found[old.canonical]
        left = tuple(one for one in old.members if one.id != table)
        if len([one for one in left if one.role is not Role.TWIN]) > 1 and old.canonical != table:
            found[old.canonical] = replace(old, members=left)
        elif old.canonical == table and len(left) > 1:
            found[left[0].id] = Family(old.name, left[0].id, left)
    family = family_with(found, of)
    if family is None:
        family = Family(of.name, of, (FamilyMember(of, Role.TABLE),))
    member = FamilyMember(table, Role.COPY, evidence=_WHY)
    found[family.canonical] = replace(family, members=(*family.members, member))
