"""PostgreSQL databases."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from functools import cached_property

from dovetail.ports import Fingerprint, Listing, Scan, SourceSpec
from dovetail.sources import duck, server
from dovetail.sources.attached import listing, names, place_of
from dovetail.sources.server import Asked, Server
from dovetail.sources.trust import LOGIN_VARIABLES

_REMEDY = "check host, port, database and login (the URL, or PGUSER and PGPASSWORD)"
_TARGET = "application_name=dovetail connect_timeout=10"
_PAGE = 8192

# A partition is no table of its own: its rows are read with the table it is a part of.
_TABLES = """
SELECT n.nspname, c.relname,
       greatest(c.relpages, 1, (SELECT sum(p.relpages) FROM pg_partition_tree(c.oid) t
                                JOIN pg_class p ON p.oid = t.relid))::bigint
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ({kinds}) AND NOT c.relispartition
  AND n.nspname <> 'information_schema' AND left(n.nspname, 3) <> 'pg_'
  AND EXISTS (SELECT FROM pg_attribute a
              WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped)
ORDER BY n.nspname COLLATE "C", c.relname COLLATE "C"
"""
# The types of a table's columns, without and with their modifiers; a domain is what it is made of.
_COLUMNS = """
SELECT a.attname, format_type(coalesce(b.oid, t.oid), NULL) AS plain,
       format_type(coalesce(b.oid, t.oid),
                   CASE WHEN b.oid IS NULL THEN a.atttypmod ELSE t.typtypmod END) AS full
FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_type t ON t.oid = a.atttypid LEFT JOIN pg_type b ON b.oid = t.typbasetype
WHERE n.nspname = {schema} AND c.relname = {table} AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attnum
"""
_AS_IT_IS = {
    "boolean", "smallint", "integer", "bigint", "real", "double precision", "text",
    "character varying", "bytea", "uuid", "interval", "time without time zone",
    "time with time zone",
}  # fmt: skip
_TIMES = {"date", "timestamp without time zone", "timestamp with time zone"}
# Decimals that DuckDB has a type for.
_DECIMAL = re.compile(r"numeric\((?:[1-9]|[12]\d|3[0-8]),\d+\)")

# Row counters reach the shared statistics when a session has been idle for ten seconds at the
# latest (PostgreSQL 15 on; before, there was no such limit). So they can be relied on when no
# other session of the database did anything in the last fifteen. A standby counts nothing.
_QUIET = """
SELECT current_setting('server_version_num')::int >= 150000
   AND current_setting('track_counts')::bool AND NOT pg_is_in_recovery()
   AND count(*) FILTER (WHERE state IS NULL OR state_change > clock_timestamp() - interval '15 s'
                        OR state <> 'idle') = 0
FROM pg_stat_activity
WHERE datname = current_database() AND application_name IS DISTINCT FROM 'dovetail'
  AND backend_type NOT IN ('autovacuum worker', 'walsender')
"""
# What the server counts of every table, with the tables that are parts of it or inherit from it,
# and when it last started over; and which tables these are and how the columns are defined, down
# to the names of an enum.
_STATES = """
WITH RECURSIVE family (root, member) AS (
  SELECT c.oid, c.oid FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE c.relkind IN ('r', 'p', 'm') AND NOT c.relispartition
    AND n.nspname <> 'information_schema' AND left(n.nspname, 3) <> 'pg_'
  UNION SELECT f.root, i.inhrelid FROM family f JOIN pg_inherits i ON i.inhparent = f.member
), counts AS (
  SELECT f.root, bool_and(c.relkind IN ('r', 'p', 'm')) AS counted,
         string_agg(c.oid::text, ' ' ORDER BY c.oid) AS members,
         md5(string_agg(concat_ws(' ', c.oid, c.relfilenode, s.n_tup_ins, s.n_tup_upd, s.n_tup_del),
                        ',' ORDER BY c.oid)) AS counters
  FROM family f JOIN pg_class c ON c.oid = f.member
  LEFT JOIN pg_stat_all_tables s ON s.relid = c.oid GROUP BY f.root
), shapes AS (
  SELECT a.attrelid, string_agg(concat_ws(
           ' ', a.attnum, quote_ident(a.attname), a.atttypid, a.atttypmod,
           (SELECT string_agg(quote_literal(e.enumlabel), ' ' ORDER BY e.enumsortorder)
            FROM pg_enum e WHERE e.enumtypid IN (t.oid, t.typelem, t.typbasetype))
         ), ',' ORDER BY a.attnum) AS columns
  FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
  WHERE a.attnum > 0 AND NOT a.attisdropped GROUP BY a.attrelid
)
SELECT n.nspname, c.relname, concat_ws(' ', counters,
         (SELECT stats_reset FROM pg_stat_database WHERE datname = current_database()),
         (SELECT stats_reset FROM pg_stat_bgwriter)), md5(concat_ws(' ', members, columns))
FROM counts JOIN shapes ON attrelid = root JOIN pg_class c ON c.oid = root
JOIN pg_namespace n ON n.oid = c.relnamespace WHERE counted
"""
# Every write gives its row a new xmin, every removal lowers the count: read in the server, so
# only two numbers travel.
_VERSIONS = "SELECT count(*), coalesce(sum(xmin::text::numeric), 0)::text FROM {relation}"


class PostgresSource:
    """One PostgreSQL database; tables outside `public` are named `schema.table`."""

    def __init__(self, spec: SourceSpec) -> None:
        at = server.address(spec.location, spec.credentials, LOGIN_VARIABLES["postgresql"])
        target = _TARGET + _bounds(spec.seconds)
        self._server = Server("postgres", at, port=5432, target=target, remedy=_REMEDY)
        self._kinds = "'r', 'p', 'm', 'f', 'v'" if spec.views else "'r', 'p', 'm', 'f'"

    def tables(self) -> Sequence[Listing]:
        with self._server.explained():
            rows = self._server.ask(_TABLES.format(kinds=self._kinds))
        places = [(schema, table) for schema, table, _ in rows]
        return [
            listing(name, schema, table, pages * _PAGE)
            for name, (schema, table, pages) in zip(names(places, "public"), rows, strict=True)
        ]

    def fingerprint(self, table: Listing, previous: str | None) -> Fingerprint:
        with self._server.explained():
            quiet, states = self._look
            now = dict(states.get(place_of(table), {}))
            if not now:  # a view or a foreign table: nobody counts its changes
                return Fingerprint("{}", unchanged=False)
            before = json.loads(previous) if previous else {}
            if previous and quiet and now.items() <= before.items():
                return Fingerprint(previous, unchanged=True)
            count, versions = self._server.ask(_VERSIONS.format(relation=_quoted(table)))[0]
        now["versions"] = f"{count} {versions}"
        token = json.dumps(now, separators=(",", ":"))
        same = all(before.get(key) == now[key] for key in ("versions", "shape"))
        return Fingerprint(token, unchanged=same)

    def scan(self, table: Listing) -> Scan:
        schema, name = map(duck.literal, place_of(table))
        with self._server.explained():
            rows = self._server.ask(_COLUMNS.format(schema=schema, table=name))
        return self._server.scan(_quoted(table), [_asked(*row) for row in rows])

    def close(self) -> None:
        self._server.close()

    @cached_property
    def _look(self) -> tuple[bool, dict[tuple[str, str], dict[str, str]]]:
        """Whether the counters can be relied on, and then the state of every table.

        In this order, and once: what others commit later, the next run will find.
        """
        quiet = bool(self._server.ask(_QUIET)[0][0])
        states = {
            (schema, table): {"counters": counters, "shape": shape}
            for schema, table, counters, shape in self._server.ask(_STATES)
        }
        return quiet, states


def _bounds(seconds: float | None) -> str:
    """For a session whose statements may not take longer, after what PGOPTIONS asks for.

    DuckDB begins read-only transactions by itself; a proxy may take no options at all.
    """
    if seconds is None:
        return ""
    patience = max(int(seconds * 1000), 1)
    wanted = os.environ.get("PGOPTIONS", "")
    wanted += f" -c default_transaction_read_only=on -c statement_timeout={patience}"
    escaped = wanted.replace("\\", "\\\\").replace("'", "\\'")
    return f" options='{escaped}'"


def _quoted(table: Listing) -> str:
    return ".".join(map(duck.identifier, place_of(table)))


def _asked(name: str, plain: str, full: str) -> Asked:
    """How to ask for a column so that DuckDB has a word for each of its values."""
    column = duck.identifier(name)
    if plain in _AS_IT_IS:
        return Asked(name, column)
    if plain in _TIMES:
        return Asked(name, f"CASE WHEN isfinite({column}) THEN {column} END")
    if _DECIMAL.fullmatch(full):
        return Asked(name, f"nullif({column}, 'NaN')::{full}")
    if plain in ("numeric", "money"):
        return Asked(name, f"nullif({column}::numeric, 'NaN')::text", number=True)
    if plain == "oid":
        return Asked(name, f"{column}::bigint")
    if plain == "inet":  # written as everywhere else: a cast would add the mask of a lone host
        return Asked(name, f"abbrev({column})")
    return Asked(name, f"{column}::text")
