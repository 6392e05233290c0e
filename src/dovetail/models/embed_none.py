"""`none`: search without vectors."""

from __future__ import annotations

from dovetail.errors import UsageError


def open_none(argument: str = "") -> None:
    """No embedder."""
    if argument:
        raise UsageError(f"embedder 'none' takes no argument, not {argument!r}")
