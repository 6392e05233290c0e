"""PostgreSQL databases. What is asked about their tables is asked for all of them at once."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from dovetail.errors import SourceError
from dovetail.ports import Listing, Scan, SourceSpec
from dovetail.sources import duck, server
from dovetail.sources.declarations import LONGEST_COMMENT, TableName, qualified_name
from dovetail.sources.logins import LOGIN_VARIABLES
from dovetail.sources.server import Address, Asked, Server
from dovetail.sources.server_source import ServerSource, State, Version

# A partition is no table of its own: its rows are read with the table it is a part of.
TABLES = """
SELECT n.nspname, c.relname,
       greatest(pg_table_size(c.oid),
                (SELECT sum(pg_table_size(t.relid)) FROM pg_partition_tree(c.oid) t))::bigint
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ({kinds}) AND NOT c.relispartition
  AND n.nspname <> 'information_schema' AND left(n.nspname, 3) <> 'pg_'
  AND EXISTS (SELECT FROM pg_attribute a
              WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped)
ORDER BY n.nspname COLLATE "C", c.relname COLLATE "C"
"""
# The types of all columns, without and with their modifiers; a domain is what it is made of.
COLUMNS = """
SELECT n.nspname, c.relname, a.attname, format_type(coalesce(b.oid, t.oid), NULL) AS plain,
       format_type(coalesce(b.oid, t.oid),
                   CASE WHEN b.oid IS NULL THEN a.atttypmod ELSE t.typtypmod END) AS full
FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_type t ON t.oid = a.atttypid LEFT JOIN pg_type b ON b.oid = t.typbasetype
WHERE c.relkind IN ({kinds}) AND NOT c.relispartition
  AND n.nspname <> 'information_schema' AND left(n.nspname, 3) <> 'pg_'
  AND a.attnum > 0 AND NOT a.attisdropped {which}
ORDER BY a.attnum
"""

# Row counters reach the shared statistics when a session has been idle for ten seconds at the
# latest (PostgreSQL 15 on; before, there was no such limit). So they can be relied on when no
# other session of the database did anything in the last fifteen. A standby counts nothing.
QUIET = """
SELECT current_setting('server_version_num')::int >= 150000
   AND current_setting('track_counts')::bool AND NOT pg_is_in_recovery()
   AND count(*) FILTER (WHERE state IS NULL OR state_change > clock_timestamp() - interval '15 s'
                        OR state <> 'idle') = 0
FROM pg_stat_activity
WHERE datname = current_database() AND coalesce(application_name, '') NOT LIKE 'dovetail%'
  AND backend_type NOT IN ('autovacuum worker', 'walsender')
"""
# What the server counts of every table, with the tables that are parts of it or inherit from it,
# and when it last started over; and which tables these are and how the columns are defined, down
# to the names of an enum.
STATES = """
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
VERSIONS = (
    "SELECT {number} AS t, count(*) AS n, coalesce(sum(xmin::text::numeric), 0)::text AS versions "
    "FROM {relation}"
)
# Volatile functions that views call, themselves or by views within them: a read-only transaction
# does not keep all of them from acting (before PostgreSQL 16, not from making large objects). The
# server notes no dependence on functions of its own, so they are looked up in the rule's tree.
VOLATILE = r"""
WITH RECURSIVE within (root, member) AS (
  SELECT c.oid, c.oid FROM pg_class c WHERE c.relkind = 'v'
  UNION SELECT w.root, d.refobjid FROM within w JOIN pg_rewrite r ON r.ev_class = w.member
    JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid
                    AND d.refclassid = 'pg_class'::regclass AND d.refobjid <> w.member
    JOIN pg_class v ON v.oid = d.refobjid AND v.relkind = 'v'
), called (root, function) AS (
  SELECT DISTINCT w.root, m.ids[1]::oid
  FROM within w JOIN pg_rewrite r ON r.ev_class = w.member,
       LATERAL regexp_matches(r.ev_action::text, '(?:funcid|fnoid) (\d+)', 'g') AS m (ids)
)
SELECT n.nspname, c.relname, string_agg(DISTINCT p.proname::text, ', ' ORDER BY p.proname::text)
FROM called JOIN pg_proc p ON p.oid = called.function JOIN pg_class c ON c.oid = called.root
JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE p.provolatile = 'v' AND left(n.nspname, 3) <> 'pg_' AND n.nspname <> 'information_schema'
  AND NOT (p.pronamespace = 'pg_catalog'::regnamespace AND p.proname IN
           ('random', 'clock_timestamp', 'timeofday', 'gen_random_uuid', 'pg_sleep'))
GROUP BY n.nspname, c.relname
"""


# The keys and comments of all tables in one answer (the columns of `declarations.Row`). With a
# parent, a constraint repeats it for a partition; a unique index without one is a key as well,
# unless it is over some of the rows or over an expression.
DECLARED = """
WITH wanted AS (
  SELECT c.oid, n.nspname, c.relname
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE c.relkind IN ({kinds}) AND NOT c.relispartition
    AND n.nspname <> 'information_schema' AND left(n.nspname, 3) <> 'pg_'
)
SELECT w.nspname, w.relname, k.contype::text, k.oid::text, key.at, a.attname,
       rn.nspname AS to_schema, r.relname AS to_table, ra.attname AS to_column, NULL::text AS said
FROM wanted w JOIN pg_constraint k ON k.conrelid = w.oid
CROSS JOIN LATERAL unnest(k.conkey, k.confkey) WITH ORDINALITY AS key (own, other, at)
JOIN pg_attribute a ON a.attrelid = w.oid AND a.attnum = key.own
LEFT JOIN pg_class r ON r.oid = k.confrelid LEFT JOIN pg_namespace rn ON rn.oid = r.relnamespace
LEFT JOIN pg_attribute ra ON ra.attrelid = k.confrelid AND ra.attnum = key.other
WHERE k.contype IN ('p', 'u', 'f') AND k.conparentid = 0
UNION ALL
SELECT w.nspname, w.relname, 'u', i.indexrelid::text, key.at, a.attname, NULL, NULL, NULL, NULL
FROM wanted w JOIN pg_index i ON i.indrelid = w.oid
CROSS JOIN LATERAL unnest((i.indkey::int2[])[0:i.indnkeyatts - 1]) WITH ORDINALITY AS key (own, at)
JOIN pg_attribute a ON a.attrelid = w.oid AND a.attnum = key.own
WHERE i.indisunique AND i.indisvalid AND i.indpred IS NULL AND i.indexprs IS NULL
  AND NOT EXISTS (SELECT FROM pg_constraint k WHERE k.conindid = i.indexrelid AND k.contype <> 'f')
UNION ALL
SELECT w.nspname, w.relname, 'c', NULL, NULL, a.attname, NULL, NULL, NULL,
       left(d.description, {limit})
FROM wanted w JOIN pg_description d ON d.objoid = w.oid AND d.classoid = 'pg_class'::regclass
LEFT JOIN pg_attribute a ON a.attrelid = w.oid AND a.attnum = d.objsubid AND d.objsubid > 0
WHERE d.objsubid = 0 OR NOT a.attisdropped
"""

# Where the extension that counts statements stands, and the queries that it has counted here.
STATISTICS = """
SELECT n.nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
WHERE e.extname = 'pg_stat_statements'
"""
STATEMENTS = """
SELECT left(s.query, 50001) AS query, sum(s.calls)::bigint AS calls FROM {view} s
WHERE s.dbid = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT {limit}
"""
_REMEDY = "check host, port, database and login (the URL, or PGUSER and PGPASSWORD)"
_TARGET = "application_name={tag} connect_timeout=10"
# Ends what the sessions of a tag are doing, from a session without one.
_CANCEL = """
SELECT pg_cancel_backend(pid)::text FROM pg_stat_activity
WHERE application_name = '{tag}' AND pid <> pg_backend_pid()
"""
_AS_IT_IS = {
    "boolean", "smallint", "integer", "bigint", "real", "double precision", "text",
    "character varying", "bytea", "uuid", "interval", "time without time zone",
    "time with time zone",
}  # fmt: skip
_TIMES = {"date", "timestamp without time zone", "timestamp with time zone"}
# Decimals that DuckDB has a type for.
_DECIMAL = re.compile(r"numeric\((?:[1-9]|[12]\d|3[0-8]),\d+\)")


class PostgresSource(ServerSource):
    """One PostgreSQL database."""

    default_schema = "public"

    def __init__(self, spec: SourceSpec) -> None:
        at = server.address(spec.location, spec.credentials, LOGIN_VARIABLES["postgresql"])
        try:
            connection = _connect(at, _options(spec.seconds))
        except SourceError as error:
            if spec.seconds is not None or "startup parameter" not in str(error):
                raise
            # A proxy in between takes no options: we do without, as long as nobody asked for any.
            connection = _connect(at, "")
        super().__init__(connection)
        self._views = spec.views
        self._in_query = spec.seconds is not None
        self._kinds = "'r', 'p', 'm', 'f', 'v'" if spec.views else "'r', 'p', 'm', 'f'"
        self.declared = DECLARED.format(kinds=self._kinds, limit=4 * LONGEST_COMMENT)

    def scan(self, table: Listing) -> Scan:
        calls = self._side_effects.get(qualified_name(table)) if self._views else None
        if calls:
            raise SourceError(
                f"is a view that calls {calls}, which may do more than read; "
                "leave it out with --exclude"
            )
        return super().scan(table)

    def statements(self, limit: int) -> Iterator[tuple[str, int, str]]:
        """The statements that `pg_stat_statements` has counted here, each with how often it ran."""
        schemas = self._ask(STATISTICS)
        if not schemas:
            raise SourceError(
                "the server counts no statements; CREATE EXTENSION pg_stat_statements makes it"
            )
        view = f"{duck.identifier(schemas[0][0])}.pg_stat_statements"
        rows = self._ask(STATEMENTS.format(view=view, limit=limit))
        yield from ((query, calls, "") for query, calls in rows)

    def _list(self) -> Sequence[tuple[TableName, int]]:
        rows = self._ask(TABLES.format(kinds=self._kinds))
        return [((schema, table), size) for schema, table, size in rows]

    def _ask_versions(self, tables: Sequence[Listing]) -> Mapping[str, Version]:
        """How many rows tables have, and their versions."""
        asked = " UNION ALL ".join(
            VERSIONS.format(number=number, relation=self._quoted(table))
            for number, table in enumerate(tables)
        )
        answers = self._ask(asked)
        return {tables[number].name: f"{rows} {versions}" for number, rows, versions in answers}

    @cached_property
    def _side_effects(self) -> dict[TableName, str]:
        """The views that call volatile functions, with the names of those."""
        return {(schema, view): calls for schema, view, calls in self._ask(VOLATILE)}

    def _ask_columns(self, which: str = "") -> Sequence[tuple[Any, ...]]:
        return self._ask(COLUMNS.format(kinds=self._kinds, which=which))

    def _columns_of(self, table: TableName) -> Sequence[tuple[Any, ...]]:
        """The columns of a table: with those of all others, unless for a query, which needs few."""
        if not self._in_query:
            return super()._columns_of(table)
        schema, name = map(duck.literal, table)
        rows = self._ask_columns(f"AND n.nspname = {schema} AND c.relname = {name}")
        return [row[2:] for row in rows]

    def _ask_states(self) -> Mapping[TableName, State]:
        """The state of every stored table; its counters, where they can be relied on.

        That is asked first.
        """
        quiet = bool(self._ask(QUIET)[0][0])
        return {
            (schema, table): {"changed": counters if quiet else None, "shape": shape}
            for schema, table, counters, shape in self._ask(STATES)
        }

    def _quoted(self, table: Listing) -> str:
        return ".".join(map(duck.identifier, qualified_name(table)))

    def _null(self, slot: str) -> str:
        return f"NULL::{slot}"

    def _asked(self, name: str, plain: str, full: str) -> Asked:
        column = duck.identifier(name)
        if plain in _AS_IT_IS:
            return Asked(name, column, plain)
        if plain in _TIMES:
            return Asked(name, f"CASE WHEN isfinite({column}) THEN {column} END", plain)
        if _DECIMAL.fullmatch(full):
            return Asked(name, f"nullif({column}, 'NaN')::{full}", full)
        if plain in ("numeric", "money"):
            return Asked(name, f"nullif({column}::numeric, 'NaN')::text", "text", number=True)
        if plain == "oid":
            return Asked(name, f"{column}::bigint", "bigint")
        if plain == "inet":  # written as everywhere else: a cast would add the mask of a lone host
            return Asked(name, f"abbrev({column})", "text")
        return Asked(name, f"{column}::text", "text")


def _connect(at: Address, options: str) -> Server:
    target = f"{_TARGET} {options}"
    return Server("postgres", at, port=5432, target=target, remedy=_REMEDY, cancel=(_CANCEL, ""))


def _options(seconds: float | None) -> str:
    """The options of a session, after what PGOPTIONS asks for.

    Names are looked up in `pg_catalog` alone: whoever may create functions elsewhere could else
    give one of ours another meaning, and have it run with our rights. Where `seconds` are given,
    no statement takes longer, nor writes; DuckDB begins read-only transactions by itself.
    """
    wanted = os.environ.get("PGOPTIONS", "") + " -c search_path=pg_catalog"
    if seconds is not None:
        patience = max(int(seconds * 1000), 1)
        wanted += f" -c default_transaction_read_only=on -c statement_timeout={patience}"
    escaped = wanted.replace("\\", "\\\\").replace("'", "\\'")
    return f"options='{escaped}'"
