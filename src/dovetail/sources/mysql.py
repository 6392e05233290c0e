"""MySQL and MariaDB databases."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from typing import Any

from dovetail.ports import Fingerprint, Listing, Scan, SourceSpec
from dovetail.sources import duck, server
from dovetail.sources.attached import Attached, listing

_ENVIRONMENT = {"user": "MYSQL_USER", "password": "MYSQL_PWD"}
_REMEDY = "check host, port, database and login (MYSQL_USER and MYSQL_PWD, or the URL)"

# MariaDB keeps the time of a table's last change, by the second, while it runs and has the table
# in its cache (NULL otherwise). MySQL serves it from another cache, so there it does not count.
_UPDATED = """
SELECT CAST(TIMESTAMPDIFF(SECOND, '2000-01-01', update_time) AS SIGNED),
       TIMESTAMPDIFF(SECOND, update_time, NOW()) >= 2 AND VERSION() LIKE '%MariaDB%'
FROM information_schema.tables WHERE table_schema = {schema} AND table_name = {table}
  AND table_type = 'BASE TABLE'
"""
_COLUMNS = """
SELECT GROUP_CONCAT(CONCAT(column_name, ' ', column_type) ORDER BY ordinal_position)
FROM information_schema.columns WHERE table_schema = {schema} AND table_name = {table}
"""


class MysqlSource:
    """One MySQL or MariaDB database."""

    def __init__(self, spec: SourceSpec) -> None:
        self._at = server.address(spec.location, spec.credentials, _ENVIRONMENT)
        self._explain = partial(duck.explained, secrets=self._at.secrets)
        duck.load_extension("mysql_scanner")
        # TINYINT(1) holds numbers as often as truth values; only the numbers lose nothing.
        duck.set_option("mysql_tinyint1_as_boolean", value=False)
        duck.set_option("mysql_incomplete_dates_as_nulls", value=True)
        with (
            duck.explained(remedy=_REMEDY, secrets=self._at.secrets),
            server.secret("mysql", self._at, 3306) as login,
        ):
            alias = duck.attach("", f"TYPE mysql, SECRET {login}")
        self._attached = Attached(alias, home=self._at.database, views=spec.views)

    def tables(self) -> Sequence[Listing]:
        with self._explain():
            tables = self._attached.tables()
            sizes: dict[str, int] = dict(
                self._ask(
                    "SELECT table_name, CAST(COALESCE(data_length, 0) AS SIGNED) "
                    "FROM information_schema.tables "
                    f"WHERE table_schema = {duck.literal(self._at.database)}"
                )
            )
        return [
            listing(name, schema, table, sizes.get(table, 0))
            for name, schema, table in tables
            if schema == self._at.database
        ]

    def fingerprint(self, table: Listing, previous: str | None) -> Fingerprint:
        names = {"schema": duck.literal(self._at.database), "table": duck.literal(table.name)}
        before = json.loads(previous) if previous else {}
        with self._explain():
            updated = self._ask(_UPDATED.format(**names))
            columns = str(self._ask(_COLUMNS.format(**names))[0][0])
            at, settled = updated[0] if updated else (None, False)
            seen = {"updated": at if settled else None, "columns": columns}
            if at is not None and settled and seen.items() <= before.items():
                return Fingerprint(previous or "", unchanged=True)
            seen["checksum"] = self._checksum(table.name) if updated else None
        unchanged = seen["checksum"] is not None and all(
            before.get(key) == seen[key] for key in ("checksum", "columns")
        )
        return Fingerprint(json.dumps(seen, separators=(",", ":")), unchanged)

    def scan(self, table: Listing) -> Scan:
        return self._attached.scan(table, self._explain)

    def close(self) -> None:
        self._attached.detach()

    def _ask(self, sql: str) -> list[tuple[Any, ...]]:
        return server.ask("mysql_query", self._attached.alias, sql)

    def _checksum(self, table: str) -> object:
        """A checksum of all rows, made in the server."""
        quoted = table.replace("`", "``")
        return self._ask(f"CHECKSUM TABLE `{quoted}` EXTENDED")[0][1]
