"""The column names of a file at a glance, from its first bytes or its footer."""

from __future__ import annotations

import json
import re

import pyarrow as pa
import pyarrow.parquet as pq

_GLANCE = 1 << 16
_NAME = re.compile(r"[^\W\d]")


def column_names(path: str, kind: str) -> frozenset[str]:
    """What the columns of a file are called; empty where a glance does not tell."""
    if "://" in path:  # a look at a file far away is no glance
        return frozenset()
    try:
        if kind == "parquet":
            return frozenset(pq.read_schema(path).names)
        with pa.input_stream(path) as stream:
            head = bytes(stream.read(_GLANCE)).decode("utf-8", "replace")
    except (OSError, UnicodeError, pa.ArrowException):
        return frozenset()
    return _keys(head) if kind == "json" else _cells(head)


def _cells(head: str) -> frozenset[str]:
    """The cells of the first line, if they read as names: a file may have no header."""
    lines = head.lstrip("\ufeff").splitlines()
    cells = [cell.strip(" \"'") for cell in re.split(r"[,;\t|]", lines[0])] if lines else []
    named = all(_NAME.match(cell) for cell in cells)
    return frozenset(cells) if named else frozenset()


def _keys(head: str) -> frozenset[str]:
    """The keys of the first object of a JSON file."""
    try:
        first, _ = json.JSONDecoder().raw_decode(head, head.index("{"))
    except (ValueError, RecursionError):
        return frozenset()
    return frozenset(first)
