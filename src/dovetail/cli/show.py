"""The commands that show a table, and which tables are one logical table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from dovetail.cli.output import (
    CatalogOption,
    JsonOption,
    console,
    open_catalog,
    print_json,
    print_line,
    printable,
    rich_table,
)
from dovetail.domain import PERSON

if TYPE_CHECKING:
    from dovetail.domain import Column, DeclaredKeys, Description, Table


def show(
    table: Annotated[
        str, typer.Argument(metavar="TABLE", help="A table by name, or as source::name.")
    ],
    catalog: CatalogOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show a table: description, columns with their profiles, a few rows."""
    opened = open_catalog(catalog)
    shown = opened.show(table)
    if as_json:
        print_json(shown)
        return
    found = opened[table]
    family = opened.families().of(found.id)
    in_dbt = opened.reader.dbt.tables.get(found.id)
    lines = [
        f"{found.id}  {found.rows:,} rows",
        _estimated(found),
        found.comment,
        _described_by(opened.description(found)),
        *_wide_keys(found.keys),
        *(f"your note: {each}" for each in shown["notes"]),
        *(in_dbt.lines if in_dbt else ()),
        *opened.reader.usage.lines(found.id),
        family.words(found.id) if family else "",
    ]
    for line in filter(None, lines):
        print_line(line)
    screen = console()
    told = [*(["key"] if found.keys else []), *(["comment"] if _commented(found) else [])]
    columns = rich_table("column", "type", *told, "nulls", "distinct", "range", "examples")
    for column in found.columns:
        about = {"key": _key_of(found.keys, column.name), "comment": column.comment}
        columns.add_row(*_column_cells(column, [about[name] for name in told]))
    screen.print(columns)
    if found.sample:
        rows = rich_table(*(column.name for column in found.columns))
        for cells in found.sample:
            rows.add_row(*(printable("" if cell is None else cell) for cell in cells))
        screen.print(rows)


def families(
    table: Annotated[
        str | None, typer.Argument(metavar="[TABLE]", help="Only the family of this table.")
    ] = None,
    catalog: CatalogOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show which tables are one logical table: partitions, copies, histories, views, and twins."""
    opened = open_catalog(catalog, families=True)
    known = opened.families()
    wanted = list(known)
    if table is not None:
        found = known.of(opened[table].id)
        wanted = [] if found is None else [found]
    if as_json:
        listed = [family.to_dict() for family in wanted]
        print_json({"catalog": str(opened.folder), "families": listed})
        return
    if not wanted:
        print_line(f"{opened[table].id} stands alone." if table else "No table is part of another.")
        return
    listing = rich_table("family", "table", "role", "label", "why")
    for family in wanted:
        for place, member in enumerate(family.members):
            name = family.name if place == 0 else ""
            role = f"{member.role.value} *" if place == 0 else member.role.value
            cells = [name, str(member.id), role, member.label, member.evidence]
            listing.add_row(*map(printable, cells))
    console().print(listing)
    members = sum(len(family.tables) for family in wanted)
    print_line(f"{len(wanted):,} families of {members:,} tables; * stands for the family")


def _column_cells(column: Column, told: Sequence[str]) -> list[str]:
    profile = column.profile
    span = f"{_short(profile.minimum)} … {_short(profile.maximum)}" if profile.distinct else ""
    examples = ", ".join(_short(example) for example in profile.examples[:3])
    distinct = f"{profile.distinct:,}" + (" unique" if profile.unique else "")
    cells = [column.name, column.type, *told, f"{profile.nulls:,}", distinct, span, examples]
    return [printable(cell) for cell in cells]


def _commented(table: Table) -> bool:
    return any(column.comment for column in table.columns)


def _key_of(keys: DeclaredKeys, column: str) -> str:
    """What is declared of a column by itself, or as a part of the primary key."""
    words = []
    if column in keys.primary:
        words.append("primary" if len(keys.primary) == 1 else "primary, in part")
    elif keys.is_key(column):
        words.append("unique")
    words += [
        f"refers to {key.table}.{key.key_columns[0]}"
        for key in keys.foreign
        if key.columns == (column,)
    ]
    return ", ".join(words)


def _wide_keys(keys: DeclaredKeys) -> list[str]:
    """The declared keys of several columns, in a line each."""
    unique = [key for key in keys.unique if len(key) > 1]
    wide = [key for key in keys.foreign if len(key.columns) > 1]
    return [*(f"unique together: {', '.join(key)}" for key in unique), *map(str, wide)]


def _short(text: str | None) -> str:
    text = text or ""
    return text if len(text) <= 24 else text[:23] + "…"


def _described_by(description: Description | None) -> str:
    """Who wrote what is said of a table and its columns, where no person did."""
    if description is None or (description.author == PERSON and not description.glosses):
        return ""
    by = "" if description.author == PERSON else f"described by {description.author}"
    glossed = ", ".join(description.glosses)
    return "; ".join(filter(None, (by, glossed and f"glosses, not comments: {glossed}")))


def _estimated(table: Table) -> str:
    if table.estimate is None:
        return ""
    return f"estimated: {table.rows:,} of about {table.estimate.rows:,} rows were read"
