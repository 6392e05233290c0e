"""What a query may read: the tables of a set, what it calls them, and where an engine has them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from dovetail.ddl import query_names
from dovetail.domain import Table, TableId


@dataclass(frozen=True, slots=True)
class Relation:
    """A table under the name a query gives it; `place` is its name in the engine, part by part."""

    table: Table
    name: str
    place: tuple[str, ...]

    def at(self, *place: str) -> Relation:
        """The same relation at another place in the engine."""
        return replace(self, place=place)


@dataclass(frozen=True, slots=True)
class Joined:
    """Columns of two tables that a query holds equal, the lesser table first."""

    left: TableId
    right: TableId
    columns: tuple[tuple[str, str], ...]


def private_places(known: Iterable[Relation]) -> dict[str, str]:
    """The private names that tables have in an engine, with the names that queries give them."""
    return {each.place[0]: each.name for each in known if len(each.place) == 1}


def relations(tables: Iterable[Table | Relation]) -> tuple[Relation, ...]:
    """Tables under their own names; those that share one (but for case) get an alias each.

    What is a relation already keeps the name it has.
    """
    given = list(tables)
    named = tuple(one for one in given if isinstance(one, Relation))
    unnamed = {one.id: one for one in given if isinstance(one, Table)}
    names = query_names(unnamed)
    return named + tuple(
        Relation(table, names[table.id], (names[table.id],)) for table in unnamed.values()
    )
