"""The columns of a relation as expressions of plain types, the parts of records apart.

Arrow and hashes would spell some types differently from one source to the next: decimals and floats
become doubles, records become one column for each of their parts (`address.city`), the rest text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import duckdb

from dovetail.domain.sql import identifier, literal

# DuckDB types that Arrow arrays of the same values come out of, as they are.
PLAIN = {
    "BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER",
    "UBIGINT", "DOUBLE", "VARCHAR", "BLOB", "DATE", "TIMESTAMP",
}  # fmt: skip
_WHOLE = {kind for kind in PLAIN if kind.endswith("INT")} | {"INTEGER", "UINTEGER"}
# Types whose text is a number.
_WRITTEN_NUMBERS = {"HUGEINT", "UHUGEINT", "BIGNUM"}
# Decimals of so many digits are exact as doubles.
DOUBLE_DIGITS = 15
# A record that nests deeper, or has more parts, is left as text: it is a document, not a row.
_DEEPEST, _MOST_PARTS = 8, 500

# The names and types of a relation's columns.
Columns = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Field:
    """A column to read: its name, its type in the source, and an expression of a plain type."""

    name: str
    type: str
    expression: str

    @property
    def written_number(self) -> bool:
        """Whether its values are numbers that arrive as text."""
        return _written_number(self.type)


def fields_of(columns: Columns) -> list[Field]:
    """What to read of a relation that has these columns.

    >>> fields = fields_of([("id", "BIGINT"), ("at", "STRUCT(x DOUBLE, y DOUBLE)")])
    >>> [field.name for field in fields]
    ['id', 'at.x', 'at.y']
    """
    taken = {name.casefold() for name, kind in columns if not _is_record(kind)}
    fields: list[Field] = []
    for name, kind in columns:
        parts = _parts_of_record(name, kind) if _is_record(kind) else []
        for part in parts:
            fields.append(replace(part, name=_free(part.name, taken)))
            taken.add(fields[-1].name.casefold())
        if not parts:
            fields.append(Field(name, kind, _plain(identifier(name), kind)))
    return fields


def plain_type(kind: str) -> str:
    """The type that values of a type arrive in."""
    if kind in PLAIN:
        return kind
    if kind == "FLOAT" or (kind.startswith("DECIMAL") and not _written_number(kind)):
        return "DOUBLE"
    return "TIMESTAMP" if kind.startswith("TIMESTAMP") else "VARCHAR"


def common_type(kinds: Iterable[str]) -> str | None:
    """The type that holds the values of several plain types; None for bytes beside others.

    >>> common_type(["INTEGER", "DOUBLE"]), common_type(["DATE", "TIMESTAMP"])
    ('DOUBLE', 'TIMESTAMP')
    >>> common_type(["BIGINT", "VARCHAR"]), common_type(["BLOB", "VARCHAR"])
    ('VARCHAR', None)
    """
    distinct = set(kinds)
    if len(distinct) == 1:
        return distinct.pop()
    if "BLOB" in distinct:
        return None
    if distinct <= _WHOLE:
        signed = any(not kind.startswith("U") for kind in distinct)
        return "VARCHAR" if "UBIGINT" in distinct and signed else "BIGINT"
    if distinct <= _WHOLE | {"DOUBLE"}:
        return "DOUBLE"
    return "TIMESTAMP" if distinct == {"DATE", "TIMESTAMP"} else "VARCHAR"


def _parts_of_record(name: str, kind: str) -> list[Field]:
    """A column for each part of a record; none where it stays one column of text."""
    try:
        record = duckdb.sqltype(kind)
    except duckdb.Error:  # a part has a type of its database's own
        return []
    if not all(part for part, _ in record.children):
        return []
    inside = list(_parts(name, identifier(name), record, 1))
    return inside if len(inside) <= _MOST_PARTS else []


def _parts(name: str, expression: str, kind: Any, depth: int) -> Iterator[Field]:
    for part, inner in kind.children:
        below = f"{name}.{part}"
        value = f"struct_extract({expression}, {literal(part)})"
        if inner.id == "struct" and depth < _DEEPEST and all(name for name, _ in inner.children):
            yield from _parts(below, value, inner, depth + 1)
        else:
            yield Field(below, str(inner), _plain(value, str(inner)))


def _free(name: str, taken: set[str]) -> str:
    """A name that no other column has."""
    number, free = 1, name
    while free.casefold() in taken:
        number += 1
        free = f"{name}_{number}"
    return free


def _is_record(kind: str) -> bool:
    return kind.startswith("STRUCT(") and kind.endswith(")")


def _plain(value: str, kind: str) -> str:
    if kind in PLAIN:
        return value
    if kind == "FLOAT":  # by way of its shortest text, so that 0.1 is the double 0.1
        return f"CAST(CAST({value} AS VARCHAR) AS DOUBLE)"
    if kind.startswith("DECIMAL") and not _written_number(kind):
        return f"CAST({value} AS DOUBLE)"
    if kind == "TIMESTAMP WITH TIME ZONE":
        return f"make_timestamp(epoch_us({value}))"
    if kind.startswith("TIMESTAMP_"):
        return f"CAST({value} AS TIMESTAMP)"
    return f"CAST({value} AS VARCHAR)"


def _written_number(kind: str) -> bool:
    digits = re.match(r"DECIMAL\((\d+)", kind)
    return kind in _WRITTEN_NUMBERS or (digits is not None and int(digits[1]) > DOUBLE_DIGITS)
