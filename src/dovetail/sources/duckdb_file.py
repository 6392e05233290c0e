"""DuckDB database files."""

from __future__ import annotations

import os
from collections.abc import Sequence

from dovetail.ports import Fingerprint, Listing, Scan, SourceSpec
from dovetail.sources import duck
from dovetail.sources.attached import Attached, listing
from dovetail.sources.file_fingerprint import fingerprint_files

MAGIC, MAGIC_AT = b"DUCK", 8
_ALIAS = "file"
_REMEDY = "is it a complete DuckDB database, and is no other process writing it?"


class DuckdbSource:
    """One DuckDB file."""

    def __init__(self, spec: SourceSpec) -> None:
        self._path = spec.location
        with duck.explained(remedy=_REMEDY):
            database = duck.closed_database(spec.location, _ALIAS)
        self._attached = Attached(_ALIAS, home="main", views=spec.views, database=database)

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

    def close(self) -> None:
        self._attached.detach()
