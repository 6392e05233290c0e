"""Writes tables as lines of a prompt, and reads lists from replies."""

from __future__ import annotations

from dovetail.domain import Table
from dovetail.models.chat import parse_json
from dovetail.text import one_line

_WIDTH = 40
_MOST_COLUMNS = 60


def shown(number: int, table: Table) -> str:
    """Write a table as one line: its number, its name, columns with an example each, and what is
    said of it."""
    parts = []
    for place, column in enumerate(table.columns[:_MOST_COLUMNS]):
        example = next((row[place] for row in table.sample if row[place]), None)
        name = one_line(column.name)
        parts.append(name if example is None else f"{name} = {_cell(example)}")
    if len(table.columns) > _MOST_COLUMNS:
        parts.append(f"and {len(table.columns) - _MOST_COLUMNS} more")
    said = f" -- {one_line(table.comment)}" if table.comment else ""
    return f"[{number}] {one_line(table.name)}({'; '.join(parts)}){said}"


def _cell(text: str) -> str:
    line = one_line(" ".join(text.split()))
    return line if len(line) <= _WIDTH else f"{line[: _WIDTH - 1]}…"


def _listed(text: str, key: str) -> object:
    read = parse_json(text)
    return read.get(key) if isinstance(read, dict) else None


def strings_in(text: str, key: str) -> list[str]:
    """Read the non-empty strings of a list in a reply, each once."""
    listed = _listed(text, key)
    if not isinstance(listed, list):
        return []
    stripped = (item.strip() for item in listed if isinstance(item, str))
    return list(dict.fromkeys(item for item in stripped if item))


def numbers_in(text: str, key: str) -> list[int]:
    """Read the whole numbers of a list in a reply, each once.

    >>> numbers_in('{"tables": [3, "1", true, 3, 2.5]}', "tables")
    [3, 1]
    """
    listed = _listed(text, key)
    if not isinstance(listed, list):
        return []
    found = (
        int(item)
        for item in listed
        if (isinstance(item, int) and not isinstance(item, bool))
        or (isinstance(item, str) and item.strip().isdecimal())
    )
    return list(dict.fromkeys(found))
