"""MySQL and MariaDB databases."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from dovetail.ports import Declaration, Fingerprint, Listing, Scan, SourceSpec
from dovetail.sources import duck, server
from dovetail.sources.attached import listing, place_of
from dovetail.sources.declarations import Row, declarations
from dovetail.sources.projection import DOUBLE_DIGITS
from dovetail.sources.server import Asked, Server
from dovetail.sources.trust import LOGIN_VARIABLES

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
SELECT CONVERT(table_name USING utf8mb4), CONVERT(column_name USING utf8mb4),
       CONVERT(column_type USING utf8mb4), CONVERT(data_type USING utf8mb4),
       CAST(COALESCE(numeric_precision, 0) AS SIGNED)
FROM information_schema.columns WHERE table_schema = DATABASE() ORDER BY ordinal_position
"""
# The keys and comments of all tables in one answer (the columns of `declarations.Row` but the
# first). The comment of a view is the word VIEW.
_DECLARED = """
SELECT CONVERT(table_name USING utf8mb4),
       IF(referenced_table_name IS NOT NULL, 'f', IF(constraint_name = 'PRIMARY', 'p', 'u')),
       CONVERT(constraint_name USING utf8mb4), CAST(ordinal_position AS SIGNED),
       CONVERT(column_name USING utf8mb4),
       CONVERT(IF(referenced_table_schema = table_schema, NULL, referenced_table_schema)
               USING utf8mb4),
       CONVERT(referenced_table_name USING utf8mb4), CONVERT(referenced_column_name USING utf8mb4),
       CAST(NULL AS CHAR)
FROM information_schema.key_column_usage WHERE table_schema = DATABASE()
UNION ALL
SELECT CONVERT(table_name USING utf8mb4), 'c', NULL, NULL,
       NULL, NULL, NULL, NULL, CONVERT(table_comment USING utf8mb4)
FROM information_schema.tables
WHERE table_schema = DATABASE() AND table_comment <> '' AND table_type <> 'VIEW'
UNION ALL
SELECT CONVERT(table_name USING utf8mb4), 'c', NULL, NULL,
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
    "tinyint", "smallint", "mediumint", "int", "bigint", "float", "double", "year", "time",
    "binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob", "geometry", "point",
    "linestring", "polygon", "multipoint", "multilinestring", "multipolygon", "geometrycollection",
    "geomcollection",
}  # fmt: skip


class MysqlSource:
    """One MySQL or MariaDB database."""

    def __init__(self, spec: SourceSpec) -> None:
        at = server.address(spec.location, spec.credentials, LOGIN_VARIABLES["mysql"])
        duck.load_extension("mysql_scanner")
        for name, value in _OPTIONS.items():
            duck.set_option(name, value=value)
        self._server = Server(
            "mysql",
            at,
            port=3306,
            target=_TARGET,
            before=_bounds(spec.seconds) + "/* {tag} */ ",
            remedy=_REMEDY,
            cancel=(_RUNNING, "KILL QUERY {found}"),
        )
        self._database = at.database
        self._kinds = (*_STORED, "VIEW") if spec.views else _STORED

    def tables(self) -> Sequence[Listing]:
        with self._server.explained():
            return [
                listing(table, self._database, table, weight)
                for table, kind, weight, *_ in self._tables
                if kind in self._kinds
            ]

    def fingerprint(self, table: Listing, previous: str | None) -> Fingerprint:
        name = place_of(table)[1]
        with self._server.explained():
            now = self._states.get(name)
            if now is None:  # a view: nobody keeps track of its changes
                return Fingerprint("{}", unchanged=False)
            before = json.loads(previous) if previous else {}
            if previous and now["updated"] and now.items() <= before.items():
                return Fingerprint(previous, unchanged=True)
            checksum = self._server.ask(f"CHECKSUM TABLE {_quoted(name)} EXTENDED")[0][1]
        token = json.dumps({**now, "checksum": checksum}, separators=(",", ":"))
        same = before.get("checksum") == checksum and before.get("columns") == now["columns"]
        return Fingerprint(token, unchanged=same and checksum is not None)

    def scan(self, table: Listing) -> Scan:
        name = place_of(table)[1]
        with self._server.explained():
            columns = [_asked(*column) for column in self._columns.get(name, ())]
        return self._server.scan(_quoted(name), columns)

    def declarations(self, tables: Sequence[Listing]) -> Mapping[str, Declaration]:
        with self._server.explained():
            rows = self._server.ask(_DECLARED)
        return declarations(tables, (Row.of((self._database, *row)) for row in rows))

    def close(self) -> None:
        self._server.close()

    @cached_property
    def _tables(self) -> list[tuple[Any, ...]]:
        return self._server.ask(_TABLES)

    @cached_property
    def _columns(self) -> dict[str, list[tuple[str, str, str, int]]]:
        found: dict[str, list[tuple[str, str, str, int]]] = {}
        for row in self._server.ask(_COLUMNS):
            found.setdefault(row[0], []).append(row[1:])
        return found

    @cached_property
    def _states(self) -> dict[str, dict[str, str | None]]:
        """Of every stored table, when it was last changed (if that is settled) and its columns.

        Looked up once: what others commit later, the next run will find.
        """
        shapes = {table: _shape(columns) for table, columns in self._columns.items()}
        # A table that is shaped like a partition may have been exchanged for it.
        parted = {shapes.get(table) for table, *_, partitioned in self._tables if partitioned}
        return {
            table: {
                "updated": at if settled and shapes[table] not in parted else None,
                "columns": shapes[table],
            }
            for table, kind, _, at, settled, _ in self._tables
            if kind in _STORED and table in shapes
        }


def _bounds(seconds: float | None) -> str:
    """What every statement begins with: MariaDB then only reads, and not for longer than that.

    DuckDB passes statements on outside of any transaction, and a setting of the session would be
    gone with the next one. To MySQL this is a comment: it has no such bounds for a statement.
    """
    patience = "" if seconds is None else f", max_statement_time = {seconds:.3f}"
    return f"/*M! SET STATEMENT tx_read_only = 1{patience} FOR */ "


def _shape(columns: Sequence[tuple[str, str, str, int]]) -> str:
    text = json.dumps([column[:2] for column in columns])
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _asked(name: str, full: str, plain: str, digits: int) -> Asked:
    """How to ask for a column so that DuckDB has a word for each of its values."""
    column = _quoted(name)
    if plain in _AS_IT_IS or full == "bit(1)":
        return Asked(name, column)
    if plain == "bit":
        return Asked(name, f"{column} + 0")
    if plain in ("date", "datetime", "timestamp"):  # no 31st of February, which some modes allow
        return Asked(name, f"IF(DATE({column}) <= LAST_DAY({column}), {column}, NULL)")
    if plain == "decimal" and digits <= DOUBLE_DIGITS:
        return Asked(name, f"{column} + 0e0", type=full.upper())
    if plain == "decimal":
        return Asked(name, f"CAST({column} AS CHAR)", number=True)
    return Asked(name, f"CONVERT({column} USING utf8mb4)")
