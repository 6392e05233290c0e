"""DuckDB database files, and any database that DuckDB attaches."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import duckdb

from dovetail.ports import Declaration, Fingerprint, Listing, Scan, SourceSpec
from dovetail.sources import duck
from dovetail.sources.declarations import (
    DUCKDB_DECLARED,
    Row,
    declarations,
    listing,
    names,
    place_of,
)
from dovetail.sources.duck import Explain
from dovetail.sources.walk import fingerprint_files

MAGIC, MAGIC_AT = b"DUCK", 8
_ALIAS = "file"
_REMEDY = "is it a complete DuckDB database, and is no other process writing it?"


class Attached:
    """A database attached to DuckDB under `alias`.

    Tables of `default_schema` are named without it. `database` is the DuckDB that has the database
    attached, if it is not that of the process.
    """

    def __init__(
        self,
        alias: str,
        *,
        default_schema: str,
        views: bool,
        database: duckdb.DuckDBPyConnection | None = None,
    ) -> None:
        self.alias = alias
        self._database = database
        self._default_schema = default_schema
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
        return [
            (name, *place)
            for name, place in zip(names(rows, self._default_schema), rows, strict=True)
        ]

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


class DuckdbSource:
    """One DuckDB file."""

    def __init__(self, spec: SourceSpec) -> None:
        self._path = spec.location
        with duck.explained(remedy=_REMEDY):
            database = duck.closed_database(spec.location, _ALIAS)
        self._attached = Attached(
            _ALIAS, default_schema="main", views=spec.views, database=database
        )

    def tables(self) -> Sequence[Listing]:
        with duck.explained(remedy=_REMEDY):
            tables = self._attached.tables()
        weight = os.stat(self._path).st_size // max(len(tables), 1)
        return [listing(*table, weight) for table in tables]

    def fingerprint(self, table: Listing, previous: str | None) -> Fingerprint:
        """As with SQLite, only the file as a whole can be vouched for."""
        del table
        return fingerprint_files([self._path, self._path + ".wal"], previous)

    def scan(self, table: Listing) -> Scan:
        return self._attached.scan(table, duck.explained)

    def declarations(self, tables: Sequence[Listing]) -> Mapping[str, Declaration]:
        with duck.explained(remedy=_REMEDY):
            statement = DUCKDB_DECLARED.format(database=duck.literal(_ALIAS))
            return declarations(tables, map(Row.of, self._attached.ask(statement)))

    def close(self) -> None:
        self._attached.detach()
