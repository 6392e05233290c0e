"""Keys as a source declares them: what somebody wrote down about a table, no matter its rows."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class DeclaredForeignKey:
    """A declared foreign key: columns that refer to columns of a table of the same source.

    The table may be missing: excluded, dropped, or never there where nobody enforces keys. A key
    that was not declared by the source says who did (`by`, such as `dbt`), and may refer to a table
    of another `source`.

    >>> str(DeclaredForeignKey(("customer_id",), "customers", ("id",)))
    'customer_id refers to customers(id)'
    """

    columns: tuple[str, ...]
    table: str
    key_columns: tuple[str, ...]
    source: str = ""
    by: str = ""

    def __str__(self) -> str:
        return f"{', '.join(self.columns)} refers to {self.table}({', '.join(self.key_columns)})"

    def to_dict(self) -> dict[str, Any]:
        """The key as JSON has it."""
        more = {"source": self.source, "by": self.by}
        return {
            "columns": list(self.columns),
            "table": self.table,
            "key_columns": list(self.key_columns),
            **{name: text for name, text in more.items() if text},
        }

    @classmethod
    def from_dict(cls, key: Mapping[str, Any]) -> DeclaredForeignKey:
        """The key that `to_dict` wrote."""
        columns, key_columns = _names(key["columns"]), _names(key["key_columns"])
        more = (str(key.get("source", "")), str(key.get("by", "")))
        return cls(columns, str(key["table"]), key_columns, *more)


@dataclass(frozen=True, slots=True)
class DeclaredKeys:
    """The keys that a table declares: its primary key, other unique ones, and foreign keys.

    >>> keys = DeclaredKeys(primary=("id",), unique=(("code",), ("year", "number")))
    >>> keys.is_key("id"), keys.is_key("year"), keys.uses("year"), bool(DeclaredKeys())
    (True, False, True, False)
    """

    primary: tuple[str, ...] = ()
    unique: tuple[tuple[str, ...], ...] = ()
    foreign: tuple[DeclaredForeignKey, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.primary or self.unique or self.foreign)

    @property
    def candidate_keys(self) -> tuple[tuple[str, ...], ...]:
        """The column sets that are declared unique, the primary key first."""
        return (self.primary, *self.unique) if self.primary else self.unique

    def is_key(self, column: str) -> bool:
        """Whether a column by itself is declared unique."""
        return (column,) in self.candidate_keys

    def uses(self, column: str) -> bool:
        """Whether a column is part of a key that is declared unique."""
        return any(column in key for key in self.candidate_keys)

    def to_dict(self) -> dict[str, Any]:
        """The keys as JSON has them."""
        return {
            "primary": list(self.primary),
            "unique": [list(key) for key in self.unique],
            "foreign": [key.to_dict() for key in self.foreign],
        }

    def to_text(self) -> str:
        """The keys as a catalog stores them; equal keys, equal text, and none for no keys."""
        if not self:
            return ""
        return json.dumps(self.to_dict(), ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def from_text(cls, text: str | None) -> DeclaredKeys:
        """The keys that a catalog stored; none where the text is not what `to_text` writes."""
        if not text:
            return NO_KEYS
        try:
            found = json.loads(text)
            return cls(
                _names(found["primary"]),
                tuple(map(_names, found["unique"])),
                tuple(map(DeclaredForeignKey.from_dict, found["foreign"])),
            )
        except (AttributeError, KeyError, RecursionError, TypeError, ValueError):
            return NO_KEYS


NO_KEYS = DeclaredKeys()


def _names(listed: Sequence[object]) -> tuple[str, ...]:
    if not isinstance(listed, list):
        raise TypeError(listed)
    return tuple(map(str, listed))
