"""Which table of a catalog another system means by database, schema and name.

A catalog names tables without the schema of their database's home (`main`, `public`), so a relation
of any other schema is never taken for such a table, unless its source knows no schemas at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from pathlib import PurePath

from dovetail.catalog.lookup import SEPARATOR
from dovetail.domain import TableId

# Schemas that go unsaid.
HOME = frozenset({"main", "public", "dbo", "default", ""})

Relation = tuple[str, str, str]


class Relations:
    """The tables of a catalog by the names that other systems give them."""

    def __init__(self, tables: Iterable[TableId]) -> None:
        self._by_name: dict[str, list[TableId]] = {}
        self._with_schemas: set[str] = set()
        for table in tables:
            parts = _parts(table)
            self._by_name.setdefault(parts[-1], []).append(table)
            if len(parts) > 1:
                self._with_schemas.add(table.source)

    def named(self, name: str) -> Sequence[TableId]:
        """All tables whose last part is this name, whatever the case."""
        return self._by_name.get(name.casefold(), ())

    def find(self, relation: Relation) -> TableId | None:
        """The table that database, schema and name stand for; None if none, or several, do."""
        database, schema, name = (part.casefold() for part in relation)
        fits = [(self._fit(table, database, schema), table) for table in self.named(name)]
        best = max((fit for fit, _ in fits), default=0)
        found = [table for fit, table in fits if fit == best]
        return found[0] if best > 0 and len(found) == 1 else None

    def near(self, name: str) -> str:
        """A table whose name is nearly this one, or is it in another schema; empty for none."""
        same = self.named(name)
        close = get_close_matches(name.casefold(), self._by_name, n=1) if not same else ()
        found = [*same, *(self._by_name[close[0]] if close else ())]
        return found[0].name if found else ""

    def _fit(self, table: TableId, database: str, schema: str) -> int:
        """How well a table of the right name fits; 0 if it is of another schema."""
        parts = _parts(table)
        if len(parts) > 1:
            fit = 6 if parts[-2] == schema else (2 if not schema else 0)
        elif schema in HOME:
            fit = 5
        elif table.source not in self._with_schemas:
            fit = 4 if _stem(table.source) == schema else 2  # in MySQL a schema is a database
        else:
            fit = 0
        return fit + (fit > 0 and bool(database) and _stem(table.source) == database)


def _parts(table: TableId) -> list[str]:
    return [part.casefold() for part in SEPARATOR.split(table.name)]


def _stem(source: str) -> str:
    """The name of a database, from the label of its source."""
    return PurePath(source).stem.casefold()
