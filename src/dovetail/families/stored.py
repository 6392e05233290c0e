"""Families as a part of the generation that they were detected in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from dovetail.catalog.files import DAMAGE
from dovetail.catalog.generation import FAMILIES
from dovetail.catalog.reader import CatalogReader
from dovetail.domain import TableId
from dovetail.families.family import Families, Family, FamilyMember, Role

# Raised whenever the same catalog would give other families.
VERSION = 6
_FILE = "families.json"


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
    said = [name, *(text for one in made for text in (one.label, one.evidence))]
    if not all(isinstance(text, str) for text in said):
        raise ValueError(name)
    family = Family(str(name), canonical, made)
    if canonical not in family.tables:
        raise ValueError(name)
    return family
