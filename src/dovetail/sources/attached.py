"""What the databases that DuckDB attaches have in common: listing and scanning their tables."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

import duckdb

from dovetail.ports import Listing, Scan
from dovetail.sources import duck
from dovetail.sources.duck import Explain


class Attached:
    """A database attached to DuckDB under `alias`.

    Tables of the schema `home` are named without it. `database` is the DuckDB that has the
    database attached, if it is not that of the process.
    """

    def __init__(
        self,
        alias: str,
        *,
        home: str,
        views: bool,
        database: duckdb.DuckDBPyConnection | None = None,
    ) -> None:
        self.alias = alias
        self._database = database
        self._home = home
        self._views = views

    def tables(self) -> list[tuple[str, str, str]]:
        """Every table: the name we give it, and the schema and name it has in the database."""
        kinds = "('BASE TABLE', 'VIEW')" if self._views else "('BASE TABLE')"
        rows = duck.fetch(
            "SELECT table_schema, table_name FROM information_schema.tables "
            f"WHERE table_catalog = {duck.literal(self.alias)} AND table_type IN {kinds} "
            "ORDER BY table_schema, table_name",
            self._database,
        )
        return [(name, *place) for name, place in zip(names(rows, self._home), rows, strict=True)]

    def scan(self, table: Listing, explain: Explain, *, untyped: bool = False) -> Scan:
        """Stream one table."""
        parts = (self.alias, *place_of(table))
        relation = ".".join(duck.identifier(part) for part in parts)
        return duck.scan(relation, explain, untyped=untyped, database=self._database)

    def ask(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows of a query about the database."""
        return duck.fetch(sql, self._database)

    def detach(self) -> None:
        """Detach the database from DuckDB."""
        if self._database is not None:
            self._database.close()
        else:
            duck.detach(self.alias)


def listing(name: str, schema: str, table: str, weight: int) -> Listing:
    """A table of an attached database."""
    return Listing(name, json.dumps([schema, table]), weight)


def names(places: Sequence[tuple[str, str]], home: str) -> list[str]:
    """What to call tables, given their schemas and names; the schema `home` goes unsaid.

    A dot can make two of them sound alike: then both are quoted in full.

    >>> names([("public", "a"), ("b", "c"), ("public", "b.c")], "public")
    ['a', '"b"."c"', '"public"."b.c"']
    """
    brief = [table if schema == home else f"{schema}.{table}" for schema, table in places]
    times = Counter(brief)
    return [
        name if times[name] == 1 else ".".join(map(duck.identifier, place))
        for name, place in zip(brief, places, strict=True)
    ]


def place_of(table: Listing) -> tuple[str, str]:
    """The schema and name that a table has in its database."""
    schema, name = json.loads(table.place)
    return schema, name
