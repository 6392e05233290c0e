"""DuckDB database files."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from dovetail.ports import Declaration, Fingerprint, Listing, Scan, SourceSpec
from dovetail.sources import duck
from dovetail.sources.declarations import (
    DUCKDB_DECLARED,
    Row,
    declarations,
    listing,
    names,
    qualified_name,
)
from dovetail.sources.walk import fingerprint_files

MAGIC, MAGIC_AT = b"DUCK", 8
_ALIAS = "file"
_REMEDY = "is it a complete DuckDB database, and is no other process writing it?"


class DuckdbSource:
    """One DuckDB file; tables outside `main` are named `schema.table`."""

    def __init__(self, spec: SourceSpec) -> None:
        self._path = spec.location
        self._kinds = "('BASE TABLE', 'VIEW')" if spec.views else "('BASE TABLE')"
        with duck.explained(remedy=_REMEDY):
            self._database = duck.closed_database(spec.location, _ALIAS)

    def tables(self) -> Sequence[Listing]:
        with duck.explained(remedy=_REMEDY):
            rows = duck.fetch(
                "SELECT table_schema, table_name FROM information_schema.tables "
                f"WHERE table_catalog = {duck.literal(_ALIAS)} AND table_type IN {self._kinds} "
                "ORDER BY table_schema, table_name",
                self._database,
            )
        weight = os.stat(self._path).st_size // max(len(rows), 1)
        named = zip(names(rows, "main"), rows, strict=True)
        return [listing(name, schema, table, weight, apart=True) for name, (schema, table) in named]

    def fingerprint(self, table: Listing, previous: str | None) -> Fingerprint:
        """As with SQLite, only the file as a whole can be vouched for."""
        del table
        return fingerprint_files([self._path, self._path + ".wal"], previous)

    def scan(self, table: Listing) -> Scan:
        relation = ".".join(duck.identifier(part) for part in (_ALIAS, *qualified_name(table)))
        return duck.scan(relation, duck.explained, connection=duck.cursor(self._database))

    def declarations(self, tables: Sequence[Listing]) -> Mapping[str, Declaration]:
        with duck.explained(remedy=_REMEDY):
            statement = DUCKDB_DECLARED.format(database=duck.literal(_ALIAS))
            return declarations(tables, map(Row.of, duck.fetch(statement, self._database)))

    def close(self) -> None:
        self._database.close()
