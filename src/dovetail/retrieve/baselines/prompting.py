"""Prompts out of their files, tables as prompts show them, and replies read strictly."""

from __future__ import annotations

import json
import re
from functools import cache
from importlib.resources import files

from dovetail.domain import Table

_FENCED = re.compile(r"\{.*\}", re.DOTALL)
_WIDTH = 40
_MOST_COLUMNS = 60


@cache
def prompt(name: str) -> str:
    """A prompt by the name of its file."""
    return files("dovetail").joinpath("prompts", f"{name}.md").read_text("utf-8").strip()


def shown(number: int, table: Table, purpose: str = "") -> str:
    """A table as one line of a prompt: its number, its name, and columns with an example each."""
    parts = []
    for place, column in enumerate(table.columns[:_MOST_COLUMNS]):
        example = next((row[place] for row in table.sample if row[place]), None)
        parts.append(column.name if example is None else f"{column.name} = {_cell(example)}")
    if len(table.columns) > _MOST_COLUMNS:
        parts.append(f"and {len(table.columns) - _MOST_COLUMNS} more")
    said = f" -- {purpose}" if purpose else ""
    return f"[{number}] {table.name}({'; '.join(parts)}){said}"


def _cell(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _WIDTH else f"{line[: _WIDTH - 1]}…"


def object_in(text: str) -> dict[str, object]:
    """The JSON object in a reply, whatever stands around it; empty where there is none.

    >>> object_in('Sure: {"tables": [1, 2]} Anything else?')
    {'tables': [1, 2]}
    >>> object_in("I cannot say.")
    {}
    """
    found = _FENCED.search(text)
    if found is None:
        return {}
    try:
        read = json.loads(found.group())
    except (ValueError, RecursionError):
        return {}
    return read if isinstance(read, dict) else {}


def strings_in(text: str, key: str) -> list[str]:
    """The non-empty strings of a list in a reply, each once."""
    listed = object_in(text).get(key)
    if not isinstance(listed, list):
        return []
    stripped = (item.strip() for item in listed if isinstance(item, str))
    return list(dict.fromkeys(item for item in stripped if item))


def numbers_in(text: str, key: str) -> list[int]:
    """The whole numbers of a list in a reply, each once.

    >>> numbers_in('{"tables": [3, "1", true, 3, 2.5]}', "tables")
    [3, 1]
    """
    listed = object_in(text).get(key)
    if not isinstance(listed, list):
        return []
    found = (
        int(item)
        for item in listed
        if (isinstance(item, int) and not isinstance(item, bool))
        or (isinstance(item, str) and item.strip().isdecimal())
    )
    return list(dict.fromkeys(found))
