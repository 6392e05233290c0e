"""Names as the engines compare and quote them, and names that nobody else can know."""

from __future__ import annotations

import secrets
from collections.abc import Mapping

from dovetail.domain.sql import identifier

_UPPER = {ord(char): char.lower() for char in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}


def fold(name: str) -> str:
    """A name as SQLite and DuckDB compare it: they take the case of ASCII letters alone for equal.

    >>> fold("Größe"), fold("ÄRA")
    ('größe', 'Ära')
    """
    return name.lower() if name.isascii() else name.translate(_UPPER)


def private_name() -> str:
    """A name that nobody can have guessed, nor any database hold."""
    return f"d{secrets.token_hex(8)}"


def reveal(text: str, originals: Mapping[str, str]) -> str:
    """A text (a query, a message, a column's name) with names of ours as they were written.

    >>> reveal('SELECT 1 FROM "d12_1", no such table: d12_1', {"d12_1": 'a"b'})
    'SELECT 1 FROM "a""b", no such table: a"b'
    """
    for name, original in originals.items():
        if name in text and name != original:
            text = text.replace(f'"{name}"', identifier(original)).replace(name, original)
    return text


def legible(name: str) -> str:
    """A name as a message can show it: in one line, of characters that can be seen.

    >>> legible("a\\nb\\x1b[31m")
    'a b\ufffd[31m'
    """
    text = " ".join(name.split())
    return "".join(char if char.isprintable() else "\ufffd" for char in text)
