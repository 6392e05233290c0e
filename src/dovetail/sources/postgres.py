"""PostgreSQL databases."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from typing import Any

from dovetail.ports import Fingerprint, Listing, Scan, SourceSpec
from dovetail.sources import duck, server
from dovetail.sources.attached import Attached, listing, place_of

_ENVIRONMENT = {"user": "PGUSER", "password": "PGPASSWORD"}
_REMEDY = "check host, port, database and login (PGUSER and PGPASSWORD, or the URL)"
_PAGE = 8192

# Row counters reach the shared statistics when a session has been idle for ten seconds at the
# latest (PostgreSQL 15 on; before, there was no such limit). So they can be relied on when no
# other session of the database did anything in the last fifteen.
_QUIET = """
SELECT current_setting('server_version_num')::int >= 150000
   AND current_setting('track_counts')::bool
   AND count(*) FILTER (WHERE state IS NULL OR state_change > clock_timestamp() - interval '15 s'
                        OR state <> 'idle') = 0
FROM pg_stat_activity
WHERE datname = current_database() AND backend_type = 'client backend'
  AND application_name <> 'dovetail'
"""
_COUNTERS = """
SELECT c.oid::bigint, c.relfilenode::bigint, s.n_tup_ins, s.n_tup_upd, s.n_tup_del,
       (SELECT coalesce(stats_reset, pg_postmaster_start_time())::text FROM pg_stat_database
        WHERE datname = current_database()),
       (SELECT string_agg(attname || ' ' || atttypid::text, ',' ORDER BY attnum)
        FROM pg_attribute a WHERE a.attrelid = c.oid AND attnum > 0 AND NOT attisdropped)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
LEFT JOIN pg_stat_all_tables s ON s.relid = c.oid
WHERE n.nspname = {schema} AND c.relname = {table} AND c.relkind = 'r'
"""
# Every write gives its row a new xmin, every removal lowers the count: read in the server, so
# only two numbers travel.
_VERSIONS = "SELECT count(*), coalesce(sum(xmin::text::numeric), 0)::text FROM {relation}"


class PostgresSource:
    """One PostgreSQL database; tables outside `public` are named `schema.table`."""

    def __init__(self, spec: SourceSpec) -> None:
        self._at = server.address(spec.location, spec.credentials, _ENVIRONMENT)
        self._explain = partial(duck.explained, secrets=self._at.secrets)
        duck.load_extension("postgres_scanner")
        with (
            duck.explained(remedy=_REMEDY, secrets=self._at.secrets),
            server.secret("postgres", self._at, 5432) as login,
        ):
            alias = duck.attach("application_name=dovetail", f"TYPE postgres, SECRET {login}")
        hidden = ("information_schema", "pg_catalog")
        self._attached = Attached(alias, home="public", views=spec.views, hidden=hidden)

    def tables(self) -> Sequence[Listing]:
        with self._explain():
            tables = self._attached.tables()
            pages = self._ask(
                "SELECT n.nspname, c.relname, greatest(c.relpages, 1)::bigint "
                "FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
            )
        sizes = {(schema, table): count * _PAGE for schema, table, count in pages}
        return [
            listing(name, schema, table, sizes.get((schema, table), _PAGE))
            for name, schema, table in tables
        ]

    def fingerprint(self, table: Listing, previous: str | None) -> Fingerprint:
        with self._explain():
            place = place_of(table)
            counters = self._counters(*place)
            before = json.loads(previous) if previous else {}
            if before and counters and before.get("counters") == counters and self._quiet():
                return Fingerprint(previous or "", unchanged=True)
            versions = self._versions(*place) if counters else []
        token = json.dumps({"counters": counters, "versions": versions}, separators=(",", ":"))
        same = bool(versions) and before.get("versions") == versions
        return Fingerprint(token, unchanged=same and _schema(before) == counters[-1])

    def scan(self, table: Listing) -> Scan:
        return self._attached.scan(table, self._explain)

    def close(self) -> None:
        self._attached.detach()

    def _ask(self, sql: str) -> list[tuple[Any, ...]]:
        return server.ask("postgres_query", self._attached.alias, sql)

    def _quiet(self) -> bool:
        return bool(self._ask(_QUIET)[0][0])

    def _counters(self, schema: str, table: str) -> list[object]:
        """What the server counts of an ordinary table; nothing for views and foreign tables."""
        names = {"schema": duck.literal(schema), "table": duck.literal(table)}
        rows = self._ask(_COUNTERS.format(**names))
        return list(rows[0]) if rows else []

    def _versions(self, schema: str, table: str) -> list[object]:
        relation = f"{duck.identifier(schema)}.{duck.identifier(table)}"
        return list(self._ask(_VERSIONS.format(relation=relation))[0])


def _schema(token: dict[str, list[object]]) -> object:
    return token["counters"][-1] if token.get("counters") else None
