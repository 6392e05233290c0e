"""What a query may read: the tables of a set, what it calls them, and where an engine has them.

Names are compared, quoted and shown as the engines do; private names are ones nobody can know.
"""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from dovetail.domain import Table, TableId
from dovetail.domain.sql import QueryNames, identifier
from dovetail.ports import SourceSpec
from dovetail.sources.warehouse_dialects import DIALECTS
from dovetail.text import printable

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
    return printable(" ".join(name.split()))


@dataclass(frozen=True, slots=True)
class Relation:
    """A table under the name a query gives it, and its name in the engine, part by part."""

    table: Table
    name: str
    engine_name: tuple[str, ...]

    def at(self, *engine_name: str) -> Relation:
        """The same relation under another name in the engine."""
        return replace(self, engine_name=engine_name)


@dataclass(frozen=True, slots=True)
class Joined:
    """Columns of two tables that a query holds equal, the lesser table first."""

    left: TableId
    right: TableId
    columns: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Guarded:
    """What the guard made of a query that may run.

    `sql` is the text to run, `shown` the same with the names as they were written, `private` the
    names drawn for its WITH clauses, with what they stand for. `tables` are read by it, `joins` are
    the columns it joins them by, and `complaints` say which of its columns no table has, where that
    was asked for. `seconds` is how long all this took.
    """

    sql: str
    shown: str
    tables: tuple[TableId, ...]
    private: Mapping[str, str]
    joins: tuple[Joined, ...] = ()
    complaints: tuple[str, ...] = ()
    seconds: float = 0.0


def private_names(placed: Iterable[Relation]) -> dict[str, str]:
    """The private names that tables have in an engine, with the names that queries give them."""
    return {each.engine_name[0]: each.name for each in placed if len(each.engine_name) == 1}


def relations(
    tables: Iterable[Table | Relation], names: QueryNames | None = None
) -> tuple[Relation, ...]:
    """Tables under the names that queries call them by, among these alone unless given `names`.

    What is a relation already keeps the name it has.
    """
    given = list(tables)
    named = tuple(one for one in given if isinstance(one, Relation))
    unnamed = {one.id: one for one in given if isinstance(one, Table)}
    called = (names or QueryNames(unnamed)).of(unnamed)
    return named + tuple(
        Relation(table, called[table.id], (called[table.id],)) for table in unnamed.values()
    )


def by_name(given: Sequence[Relation]) -> dict[str, Relation]:
    """Relations by what a query may call them, folded: their names, and their tables' own names
    where no other has them."""
    own = Counter(fold(relation.table.name) for relation in given)
    tables = {fold(each.table.name): each for each in given if own[fold(each.table.name)] == 1}
    return tables | {fold(relation.name): relation for relation in given}


def names_in_warehouse(
    given: Sequence[Relation], spec_of: Callable[[str], SourceSpec]
) -> tuple[Relation, ...] | None:
    """Relations where their warehouse has them; None if they are not all in one.

    A name that needed quotes to be told from another could be read in two ways: None as well.
    """
    sources = {relation.table.id.source for relation in given}
    if len(sources) != 1 or (kind := spec_of(sources.pop()).kind) not in DIALECTS:
        return None
    default_schema = DIALECTS[kind].default_schema
    placed = []
    for relation in given:
        schema, dot, name = relation.table.name.rpartition(".")
        if '"' in relation.table.name or "." in schema:
            return None
        above = (schema,) if dot else (default_schema,) if default_schema else ()
        placed.append(relation.at(*above, name))
    return tuple(placed)
