"""DuckDB database files."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from dovetail.ports import Declaration, Fingerprint, Listing, Scan, SourceSpec
from dovetail.sources import duck
from dovetail.sources.attached import Attached, listing
from dovetail.sources.declarations import LONGEST_COMMENT, Row, declarations
from dovetail.sources.file_fingerprint import fingerprint_files

MAGIC, MAGIC_AT = b"DUCK", 8
_ALIAS = "file"
_REMEDY = "is it a complete DuckDB database, and is no other process writing it?"
# Keys and comments of a database, as `declarations.Row` has them; a foreign key stays within its
# schema.
DECLARED = f"""
SELECT schema_name, table_name, kind, text, part, columns[part], NULL, to_table,
       to_columns[part], NULL
FROM (
  SELECT schema_name, table_name, constraint_text AS text, constraint_column_names AS columns,
         referenced_table AS to_table, referenced_column_names AS to_columns,
         CASE constraint_type WHEN 'PRIMARY KEY' THEN 'p' WHEN 'UNIQUE' THEN 'u'
                              ELSE 'f' END AS kind,
         unnest(range(1, len(constraint_column_names) + 1)) AS part
  FROM duckdb_constraints() WHERE database_name = {{database}}
    AND constraint_type IN ('PRIMARY KEY', 'UNIQUE', 'FOREIGN KEY')
)
UNION ALL
SELECT schema_name, name, 'c', NULL, NULL, col, NULL, NULL, NULL,
       left(comment, {4 * LONGEST_COMMENT})
FROM (
  SELECT database_name, schema_name, table_name AS name, NULL AS col, comment FROM duckdb_tables()
  UNION ALL
  SELECT database_name, schema_name, view_name, NULL, comment FROM duckdb_views()
  UNION ALL
  SELECT database_name, schema_name, table_name, column_name, comment FROM duckdb_columns()
) WHERE database_name = {{database}} AND comment <> ''
"""


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

    def declarations(self, tables: Sequence[Listing]) -> Mapping[str, Declaration]:
        with duck.explained(remedy=_REMEDY):
            statement = DECLARED.format(database=duck.literal(_ALIAS))
            return declarations(tables, map(Row.of, self._attached.ask(statement)))

    def close(self) -> None:
        self._attached.detach()
