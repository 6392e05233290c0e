"""Names, strings and file names as DuckDB's SQL spells them."""

from __future__ import annotations

from collections.abc import Sequence

from dovetail.errors import SourceError


def identifier(name: str) -> str:
    """Quote a name.

    >>> identifier('say "when"')
    '"say ""when\"""'
    """
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Quote a string.

    >>> literal("it's")
    "'it''s'"
    """
    try:
        text.encode()
    except UnicodeEncodeError:  # so it is the name of a file, which may be any bytes
        raise SourceError("its name is not valid UTF-8; rename it") from None
    return "'" + text.replace("'", "''") + "'"


def file_pattern(file: str) -> str:
    """Quote a file's name so that the wildcards in it are taken literally.

    >>> file_pattern("a*.csv")
    "'a[*].csv'"
    """
    return literal("".join(f"[{char}]" if char in "*?[" else char for char in file))


def file_list(files: Sequence[str]) -> str:
    """Quote the names of several files."""
    return "[" + ", ".join(map(file_pattern, files)) + "]"
