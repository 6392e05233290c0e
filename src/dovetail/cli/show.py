"""The command that shows a table: what it is for, what it declares, its columns and some rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dovetail.cli.options import CatalogOption, JsonOption, open_catalog, settings_for
from dovetail.cli.output import console, print_json, printable, rich_table

if TYPE_CHECKING:
    from dovetail.domain import Column, DeclaredKeys, Table
    from dovetail.notes.notes import Remark


def show(
    table: Annotated[
        str, typer.Argument(metavar="TABLE", help="A table by name, or as source::name.")
    ],
    catalog: CatalogOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show a table: purpose, columns with their profiles, a few rows."""
    from dovetail.catalog.purposes import purposes
    from dovetail.cli.families import family_json, family_notes, opened_families
    from dovetail.notes.notes import read_notes

    opened = open_catalog(catalog)
    found = opened[table]
    purpose = purposes(opened).get(found.id)
    known = opened_families(opened, settings_for(catalog))
    if as_json:
        more: dict[str, Any] = {"purpose": purpose.text if purpose else None}
        more["notes"] = [_remark(each) for each in read_notes(opened).remarks_on(found.id)]
        in_dbt = opened.dbt.tables.get(found.id)
        more["dbt"] = in_dbt.to_dict() if in_dbt else None
        use = opened.usage.tables.get(found.id)
        more["queries"] = use.queries if use else (0 if opened.usage else None)
        more["last_queried"] = (use.last or None) if use else None
        print_json(_table_json(found) | more | {"family": family_json(known, found.id)})
        return
    screen = console()
    title = f"{found.id}  {found.rows:,} rows"
    lines = [
        title,
        _estimated(found),
        found.comment,
        purpose.text if purpose else "",
        *_wide_keys(found.keys),
    ]
    lines += [f"your note: {_remark(each)}" for each in read_notes(opened).remarks_on(found.id)]
    if in_dbt := opened.dbt.tables.get(found.id):
        lines += in_dbt.lines
    lines += opened.usage.lines(found.id)
    for line in filter(None, [*lines, family_notes(known, found.id)]):
        screen.print(printable(line), highlight=False, markup=False, soft_wrap=True)
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


def _column_cells(column: Column, told: Sequence[str]) -> list[str]:
    profile = column.profile
    span = f"{_short(profile.minimum)} … {_short(profile.maximum)}" if profile.distinct else ""
    examples = ", ".join(_short(example) for example in profile.examples[:3])
    distinct = f"{profile.distinct:,}" + (" unique" if profile.unique else "")
    cells = [column.name, column.type, *told, f"{profile.nulls:,}", distinct, span, examples]
    return [printable(cell) for cell in cells]


def _remark(remark: Remark) -> str:
    return f"{remark.column}: {remark.text}" if remark.column else remark.text


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


def id_json(table: Table) -> dict[str, Any]:
    """What a table is called, as JSON has it."""
    return {"id": str(table.id), "source": table.id.source, "name": table.name}


def _table_json(table: Table) -> dict[str, Any]:
    columns = [
        {
            "name": column.name,
            "type": column.type,
            **asdict(column.profile),
            "comment": column.comment,
        }
        for column in table.columns
    ]
    return {
        **id_json(table),
        "rows": table.rows,
        "digest": table.digest,
        "comment": table.comment,
        "keys": table.keys.to_dict(),
        "columns": columns,
        "sample": table.sample,
        **({"estimate": table.estimate.to_json()} if table.estimate else {}),
    }


def _estimated(table: Table) -> str:
    if table.estimate is None:
        return ""
    return f"estimated: {table.rows:,} of about {table.estimate.rows:,} rows were read"
