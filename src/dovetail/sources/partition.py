"""Partition columns: what folders say of the rows in them (`year=2024/month=03`)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import date, datetime
from urllib.parse import unquote

from dovetail.domain.sql import literal
from dovetail.sources.projection import Field

# How Hive spells a missing value in the name of a folder.
_NULL = "__HIVE_DEFAULT_PARTITION__"
_WHOLE = re.compile(r"-?\d{1,18}")
_DECIMAL = re.compile(r"-?\d{1,15}\.\d{1,15}")

# The partition values of a part: the columns in the order of its folders.
Values = dict[str, str | None]


def is_partition(folder: str) -> bool:
    """Whether a folder's name gives the value of a column.

    >>> is_partition("year=2024"), is_partition("=2024"), is_partition("2024")
    (True, False, False)
    """
    return folder.find("=") > 0


def values_of(folders: Sequence[str]) -> Values:
    """The values that folders give, as they are written there.

    >>> values_of(["year=2024", "inner", "city=S%C3%A3o%20Paulo"])
    {'year': '2024', 'city': 'São Paulo'}
    """
    found: Values = {}
    for folder in filter(is_partition, folders):
        name, _, value = folder.partition("=")
        found[unquote(name)] = None if value in ("", _NULL) else unquote(value)
    return found


def partition_types(parts: Iterable[Values]) -> dict[str, str]:
    """The partition columns of a table with the type that all their values fit."""
    values: dict[str, list[str]] = {}
    for part in parts:
        for name, value in part.items():
            values.setdefault(name, []).extend([value] if value is not None else [])
    return {name: _type(found) for name, found in values.items()}


def partition_fields(values: Values, types: dict[str, str]) -> list[Field]:
    """The partition columns of a part, as constants."""
    return [
        Field(name, kind, f"CAST({_constant(values.get(name))} AS {kind})")
        for name, kind in types.items()
    ]


def _constant(value: str | None) -> str:
    return "NULL" if value is None else literal(value)


def _type(values: list[str]) -> str:
    if not values:
        return "VARCHAR"
    if all(_WHOLE.fullmatch(value) for value in values):
        return "BIGINT"
    if all(_WHOLE.fullmatch(value) or _DECIMAL.fullmatch(value) for value in values):
        return "DOUBLE"
    if all(_reads_as(date, value) and len(value) == 10 for value in values):
        return "DATE"
    return "TIMESTAMP" if all(_is_moment(value) for value in values) else "VARCHAR"


def _is_moment(value: str) -> bool:
    return len(value) >= 16 and not value.endswith("Z") and _reads_as(datetime, value)


def _reads_as(kind: type[date], value: str) -> bool:
    try:
        kind.fromisoformat(value)
    except ValueError:
        return False
    return True
