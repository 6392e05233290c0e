"""The command that shows families, and what other commands say of them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dovetail.cli.options import CatalogOption, JsonOption, open_catalog, settings_for
from dovetail.cli.output import console, print_json, printable, rich_table

if TYPE_CHECKING:
    from dovetail.catalog.reader import CatalogReader
    from dovetail.domain import TableId
    from dovetail.families.family import Families
    from dovetail.settings import Settings


def families(
    table: Annotated[
        str | None, typer.Argument(metavar="[TABLE]", help="Only the family of this table.")
    ] = None,
    catalog: CatalogOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show which tables are one logical table: partitions, copies, histories, views, and twins."""
    opened = open_catalog(catalog)
    known = opened_families(opened, settings_for(catalog), always=True)
    wanted = list(known)
    if table is not None:
        found = known.of(opened[table].id)
        wanted = [] if found is None else [found]
    if as_json:
        listed = [family.to_dict() for family in wanted]
        print_json({"catalog": str(opened.folder), "families": listed})
        return
    screen = console()
    if not wanted:
        line = f"{opened[table].id} stands alone." if table else "No table is part of another."
        screen.print(printable(line), highlight=False, soft_wrap=True)
        return
    listing = rich_table("family", "table", "role", "label", "why")
    for family in wanted:
        for place, member in enumerate(family.members):
            name = family.name if place == 0 else ""
            role = f"{member.role.value} *" if place == 0 else member.role.value
            cells = [name, str(member.id), role, member.label, member.evidence]
            listing.add_row(*map(printable, cells))
    screen.print(listing)
    members = sum(len(family.tables) for family in wanted)
    screen.print(
        f"{len(wanted):,} families of {members:,} tables; * stands for the family", highlight=False
    )


def opened_families(
    catalog: CatalogReader, settings: Settings, *, always: bool = False
) -> Families:
    """The families of a catalog; none where the settings leave them out, unless `always`."""
    from dovetail.families.family import Families
    from dovetail.families.stored import read_families
    from dovetail.notes.apply import marked_families
    from dovetail.notes.notes import read_notes

    if not (settings.families or always):
        return Families()
    return marked_families(read_families(catalog), read_notes(catalog))


def family_notes(known: Families, table: TableId) -> str:
    """What a table is in its family, in a few words; nothing for one that stands alone."""
    family = known.of(table)
    if family is None:
        return ""
    role = family.role(table)
    if table != family.canonical:
        return f"{role.value} of {family.canonical.name}"
    counts = Counter(member.role.value for member in family.members[1:])
    plurals = {"copy": "copies", "history": "histories"}
    return ", ".join(
        f"{count} {role if count == 1 else plurals.get(role, role + 's')}"
        for role, count in counts.items()
    )


def family_json(known: Families, table: TableId) -> dict[str, Any] | None:
    """What a table is in its family, as JSON has it."""
    family = known.of(table)
    if family is None:
        return None
    member = next(one for one in family.members if one.id == table)
    more = {key: member.to_dict()[key] for key in ("role", "label", "evidence")}
    return {"name": family.name, "canonical": str(family.canonical), **more}
