"""MySQL and MariaDB databases."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from dovetail.ports import Listing, SourceSpec
from dovetail.sources import duck, server
from dovetail.sources.declarations import TableName, qualified_name
from dovetail.sources.logins import LOGIN_VARIABLES
from dovetail.sources.projection import DOUBLE_DIGITS
from dovetail.sources.server import Asked, Server
from dovetail.sources.server_source import ServerSource, State, Version

_REMEDY = "check host, port, database and login (the URL, or MYSQL_USER and MYSQL_PWD)"
# Its client would else have the server deflate every row: four times as long as sending it.
_TARGET = "compression=disabled"
# TINYINT(1) holds numbers as often as truth values; only the numbers lose nothing. A TIMESTAMP
# is an instant, told in UTC wherever the server stands.
_OPTIONS: dict[str, bool | str] = {
    "mysql_tinyint1_as_boolean": False,
    "mysql_incomplete_dates_as_nulls": True,
    "mysql_session_time_zone": "+00:00",
}

# MariaDB keeps the time of an InnoDB table's last change, by the second, while it runs and has the
# table in its cache (NULL otherwise). TRUNCATE leaves no trace but in the number of rows, and in a
# partition none. MySQL serves the time from another cache, so there it does not count.
_TABLES = """
SELECT CONVERT(table_name USING utf8mb4), CONVERT(table_type USING utf8mb4),
       CAST(COALESCE(data_length, 0) AS SIGNED),
       CONCAT(create_time, ' ', update_time, ' ', table_rows),
       TIMESTAMPDIFF(SECOND, GREATEST(create_time, update_time), NOW()) >= 2 AND engine = 'InnoDB'
         AND VERSION() LIKE '%MariaDB%', COALESCE(create_options LIKE '%partitioned%', 0)
FROM information_schema.tables WHERE table_schema = DATABASE() ORDER BY BINARY table_name
"""
_COLUMNS = """
SELECT CONVERT(table_schema USING utf8mb4), CONVERT(table_name USING utf8mb4),
       CONVERT(column_name USING utf8mb4),
       CONVERT(column_type USING utf8mb4), CONVERT(data_type USING utf8mb4),
       CAST(COALESCE(numeric_precision, 0) AS SIGNED)
FROM information_schema.columns WHERE table_schema = DATABASE() ORDER BY ordinal_position
"""
# The keys and comments of all tables in one answer (the columns of `declarations.Row`). The comment
# of a view is the word VIEW.
_DECLARED = """
SELECT CONVERT(table_schema USING utf8mb4), CONVERT(table_name USING utf8mb4),
       IF(referenced_table_name IS NOT NULL, 'f', IF(constraint_name = 'PRIMARY', 'p', 'u')),
       CONVERT(constraint_name USING utf8mb4), CAST(ordinal_position AS SIGNED),
       CONVERT(column_name USING utf8mb4),
       CONVERT(IF(referenced_table_schema = table_schema, NULL, referenced_table_schema)
               USING utf8mb4),
       CONVERT(referenced_table_name USING utf8mb4), CONVERT(referenced_column_name USING utf8mb4),
       CAST(NULL AS CHAR)
FROM information_schema.key_column_usage WHERE table_schema = DATABASE()
UNION ALL
SELECT CONVERT(table_schema USING utf8mb4), CONVERT(table_name USING utf8mb4), 'c', NULL, NULL,
       NULL, NULL, NULL, NULL, CONVERT(table_comment USING utf8mb4)
FROM information_schema.tables
WHERE table_schema = DATABASE() AND table_comment <> '' AND table_type <> 'VIEW'
UNION ALL
SELECT CONVERT(table_schema USING utf8mb4), CONVERT(table_name USING utf8mb4), 'c', NULL, NULL,
       CONVERT(column_name USING utf8mb4), NULL, NULL, NULL, CONVERT(column_comment USING utf8mb4)
FROM information_schema.columns WHERE table_schema = DATABASE() AND column_comment <> ''
"""
# The statements of a tag that are running.
_RUNNING = """
SELECT CAST(id AS CHAR) FROM information_schema.processlist
WHERE info LIKE '%{tag}%' AND id <> CONNECTION_ID()
"""
_STORED = ("BASE TABLE", "SYSTEM VERSIONED")

_AS_IT_IS = {
    "float", "double", "time",
    "binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob", "geometry", "point",
    "linestring", "polygon", "multipoint", "multilinestring", "multipolygon", "geometrycollection",
    "geomcollection",
}  # fmt: skip
# Whole numbers, as DuckDB calls them. They travel in 64 bits: between types of different width, or
# with and without a sign, UNION makes decimals.
_WHOLE = {
    "tinyint": "TINYINT", "smallint": "SMALLINT", "mediumint": "INTEGER", "int": "INTEGER",
    "bigint": "BIGINT", "year": "INTEGER",
}  # fmt: skip


# The queries that the server has counted: the more often, the sooner.
_STATEMENTS = """
SELECT digest_text, count_star, CAST(last_seen AS CHAR) AS last
FROM performance_schema.events_statements_summary_by_digest
WHERE schema_name = database() AND digest_text IS NOT NULL
ORDER BY count_star DESC, digest_text
"""


class MysqlSource(ServerSource):
    """One MySQL or MariaDB database."""

    declared = _DECLARED

    def __init__(self, spec: SourceSpec) -> None:
        at = server.address(spec.location, spec.credentials, LOGIN_VARIABLES["mysql"])
        duck.load_extension("mysql_scanner")
        for name, value in _OPTIONS.items():
            duck.set_option(name, value=value)
        super().__init__(
            Server(
                "mysql",
                at,
                port=3306,
                target=_TARGET,
                before=_bounds(spec.seconds) + "/* {tag} */ ",
                remedy=_REMEDY,
                cancel=(_RUNNING, "KILL QUERY {running}"),
            )
        )
        self.default_schema = at.database
        self._kinds = (*_STORED, "VIEW") if spec.views else _STORED

    def statements(self, limit: int) -> Iterator[tuple[str, int, str]]:
        """The statements that the performance schema has counted for this database."""
        yield from self._ask(f"{_STATEMENTS} LIMIT {int(limit)}")

    def _list(self) -> Sequence[tuple[TableName, int]]:
        return [
            ((self.default_schema, table), weight)
            for table, kind, weight, *_ in self._tables
            if kind in self._kinds
        ]

    def _ask_versions(self, tables: Sequence[Listing]) -> Mapping[str, Version]:
        listed = ", ".join(self._quoted(table) for table in tables)
        answers = self._ask(f"CHECKSUM TABLE {listed} EXTENDED")
        return {table.name: row[1] for table, row in zip(tables, answers, strict=True)}

    @cached_property
    def _tables(self) -> list[tuple[Any, ...]]:
        return self._ask(_TABLES)

    def _ask_columns(self) -> Sequence[tuple[Any, ...]]:
        return self._ask(_COLUMNS)

    def _ask_states(self) -> Mapping[TableName, State]:
        """Of every stored table, when it was last changed (if that is settled) and its columns."""
        shapes = {table: _shape(columns) for (_, table), columns in self._columns.items()}
        # A table that is shaped like a partition may have been exchanged for it.
        parted = {shapes.get(table) for table, *_, partitioned in self._tables if partitioned}
        return {
            (self.default_schema, table): {
                "changed": at if stable and shapes[table] not in parted else None,
                "shape": shapes[table],
            }
            for table, kind, _, at, stable, _ in self._tables
            if kind in _STORED and table in shapes
        }

    def _quoted(self, table: Listing) -> str:
        return _quoted(qualified_name(table)[1])

    def _null(self, slot: str) -> str:
        return f"CAST(NULL AS {slot})" if slot.endswith("SIGNED") else "NULL"

    def _asked(self, name: str, full: str, plain: str, digits: int) -> Asked:
        column = _quoted(name)
        if plain in _AS_IT_IS or full == "bit(1)":
            return Asked(name, column, full)
        if plain in _WHOLE and "unsigned" not in full:
            return Asked(name, f"CAST({column} AS SIGNED)", "SIGNED", type=_WHOLE[plain])
        if plain in _WHOLE:
            return Asked(name, f"CAST({column} AS UNSIGNED)", "UNSIGNED", type=f"U{_WHOLE[plain]}")
        if plain == "bit":
            kind = "UINTEGER" if digits <= 32 else "UBIGINT"
            return Asked(name, f"CAST({column} AS UNSIGNED)", "UNSIGNED", type=kind)
        if plain in (
            "date",
            "datetime",
            "timestamp",
        ):  # no 31st of February, which some modes allow
            return Asked(name, f"IF(DATE({column}) <= LAST_DAY({column}), {column}, NULL)", full)
        if plain == "decimal" and digits <= DOUBLE_DIGITS:
            return Asked(name, f"{column} + 0e0", "double", type=full.upper())
        if plain == "decimal":
            return Asked(name, f"CAST({column} AS CHAR)", "text", number=True)
        return Asked(name, f"CONVERT({column} USING utf8mb4)", "text")


def _bounds(seconds: float | None) -> str:
    """What every statement begins with: MariaDB then only reads, and not for longer than that.

    DuckDB passes statements on outside of any transaction, and a setting of the session would be
    gone with the next one. To MySQL this is a comment: it has no such bounds for a statement.
    """
    patience = "" if seconds is None else f", max_statement_time = {seconds:.3f}"
    return f"/*M! SET STATEMENT tx_read_only = 1{patience} FOR */ "


def _shape(columns: Sequence[tuple[Any, ...]]) -> str:
    text = json.dumps([column[:2] for column in columns])
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
