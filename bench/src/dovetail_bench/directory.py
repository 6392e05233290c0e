"""Finds the tables of a catalog that gold names stand for, and the families that they are part of.

A family is one logical table that is stored as several, such as a table per year. A dataset lists
its families in `families.json`: the name of each, and the names of its members, in which `*` stands
for any text. Gold may name a member or the family.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase

from dovetail.domain import TableId
from dovetail_bench.errors import DatasetError

Family = tuple[TableId, ...]


class Directory:
    """Finds tables by names in whatever case; a table without a source by its name alone.

    A table file in a folder is also found by its name without the folder.
    """

    def __init__(
        self, tables: Iterable[TableId], families: Mapping[str, Sequence[str]] | None = None
    ) -> None:
        self._exact = set(tables)
        self._folded: dict[tuple[str, str], list[TableId]] = {}
        self._bare: dict[tuple[str, str], list[TableId]] = {}
        for table in sorted(self._exact):
            name = table.name.casefold()
            for source in (table.source.casefold(), ""):
                self._folded.setdefault((source, name), []).append(table)
                self._bare.setdefault((source, name.rpartition("/")[2]), []).append(table)
        self._families = self._resolve(families or {})
        self._family_of = {
            member: members for members in self._families.values() for member in members
        }

    def _resolve(self, families: Mapping[str, Sequence[str]]) -> dict[str, Family]:
        """The members of each family that are in the catalog, by its name in lower case."""
        found: dict[str, Family] = {}
        taken: set[TableId] = set()
        for name, patterns in families.items():
            members = {table for pattern in patterns for table in self._matching(pattern)}
            if twice := sorted(members & taken):
                raise DatasetError(f"{twice[0]} is a member of two families, {name} is one of them")
            taken |= members
            if members:
                found[name.casefold()] = tuple(sorted(members))
        return found

    def _matching(self, pattern: str) -> list[TableId]:
        source, _, name = pattern.casefold().rpartition("::")
        if "*" not in name:
            return self._folded.get((source, name), [])
        return [
            table
            for (place, other), tables in self._folded.items()
            if place == source and fnmatchcase(other, name)
            for table in tables
        ]

    def find(self, table: TableId) -> TableId:
        """The table of the catalog that is meant; of a family's name, its first member."""
        if table in self._exact:
            return table
        key = (table.source.casefold(), table.name.casefold())
        if members := self._families.get(key[1]):
            return members[0]
        found = self._folded.get(key) or self._bare.get(key, [])
        name = str(table) if table.source else table.name
        if not found:
            raise DatasetError(f"its gold table {name} is not in the catalog")
        if len(found) > 1:
            choices = ", ".join(map(str, found))
            raise DatasetError(f"its gold table {name} may be any of {choices}")
        return found[0]

    def families_of(self, tables: Iterable[TableId]) -> tuple[Family, ...]:
        """The families that some tables are members of, each once, in order."""
        return tuple(sorted({self._family_of[one] for one in tables if one in self._family_of}))


def logical(tables: Iterable[TableId], families: Sequence[Family]) -> list[TableId]:
    """Tables with each member of a family replaced by its first member, each once.

    >>> first, second, other = (TableId("s", name) for name in ("y2022", "y2023", "z"))
    >>> [table.name for table in logical([second, other, first], [(first, second)])]
    ['y2022', 'z']
    """
    first = {member: members[0] for members in families for member in members}
    return list(dict.fromkeys(first.get(table, table) for table in tables))
