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
    rich_table,
)
from dovetail.domain import PERSON
from dovetail.text import cut

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
    details = opened[table]
    family = opened.families().of(details.id)
    in_dbt = opened.reader.dbt.tables.get(details.id)
    lines = [
        f"{details.id}  {details.rows:,} rows",
        _estimated(details),
        details.comment,
        _described_by(opened.description(details)),
        *_wide_keys(details.keys),
        *(f"your note: {each}" for each in shown["notes"]),
        *(in_dbt.lines if in_dbt else ()),
        *opened.reader.usage.lines(details.id),
        family.words(details.id) if family else "",
    ]
    for line in filter(None, lines):
        print_line(line)
    screen = console()
    extra = [*(["key"] if details.keys else []), *(["comment"] if _commented(details) else [])]
    columns = rich_table("column", "type", *extra, "nulls", "distinct", "range", "examples")
    for column in details.columns:
        about = {"key": _key_of(details.keys, column.name), "comment": column.comment}
        columns.add_row(*_column_cells(column, [about[name] for name in extra]))
    screen.print(columns)
    if details.sample:
        rows = rich_table(*(column.name for column in details.columns))
        for cells in details.sample:
            rows.add_row(*(cell or "" for cell in cells))
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
    every = opened.families()
    wanted = list(every)
    if table is not None:
        family = every.of(opened[table].id)
        wanted = [] if family is None else [family]
    if as_json:
        listed = [family.to_dict() for family in wanted]
        print_json({"catalog": str(opened.folder), "families": listed})
        return
    if not wanted:
        print_line(f"{opened[table].id} stands alone." if table else "No table is part of another.")
        return
    listing = rich_table("family", "table", "role", "label", "why")
    for family in wanted:
        for number, member in enumerate(family.members):
            name = "" if number else family.name
            role = member.role.value if number else f"{member.role.value} *"
            listing.add_row(name, str(member.id), role, member.label, member.evidence)
    console().print(listing)
    members = sum(len(family.tables) for family in wanted)
    print_line(f"{len(wanted):,} families of {members:,} tables; * stands for the family")


def _column_cells(column: Column, extra: Sequence[str]) -> list[str]:
    profile = column.profile
    span = f"{_short(profile.minimum)} … {_short(profile.maximum)}" if profile.distinct else ""
    examples = ", ".join(_short(example) for example in profile.examples[:3])
    distinct = f"{profile.distinct:,}" + (" unique" if profile.unique else "")
    return [column.name, column.type, *extra, f"{profile.nulls:,}", distinct, span, examples]


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
    return cut(text or "", 24)


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
