"""Prompts out of their files, tables as prompts show them, and replies read strictly."""

from __future__ import annotations

import json
import re
from functools import cache
from importlib.resources import files

from dovetail.domain import Table
from dovetail.ports import Message

_SECTION = re.compile(r"^# (system|user|assistant)\n", re.MULTILINE)
_SLOT = re.compile(r"\{\{(\w+)\}\}")
_THOUGHTS = re.compile(r"<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL)
_FENCED = re.compile(r"\{.*\}", re.DOTALL)
_WIDTH = 40
_MOST_COLUMNS = 60


def prompt(name: str, **data: str) -> list[Message]:
    """A prompt by the name of its file, with data in its slots."""
    return [
        Message(role, _SLOT.sub(lambda slot: data[slot[1]], content))
        for role, content in _sections(name)
    ]


@cache
def _sections(name: str) -> tuple[tuple[str, str], ...]:
    text = files("dovetail").joinpath("prompts", f"{name}.md").read_text("utf-8")
    _, *parts = _SECTION.split(text)
    return tuple((role, part.strip()) for role, part in zip(parts[::2], parts[1::2], strict=True))


def without_thoughts(text: str) -> str:
    """A reply without the thinking aloud that some models put before it."""
    return _THOUGHTS.sub("", text).strip()


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
    found = _FENCED.search(without_thoughts(text))
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
