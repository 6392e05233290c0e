"""What PostgreSQL is asked about its tables, each for all of them at once."""

from __future__ import annotations

# A partition is no table of its own: its rows are read with the table it is a part of.
TABLES = """
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
# Every table with the tables that are parts of it or inherit from it.
_FAMILY = """
WITH RECURSIVE family (root, member) AS (
  SELECT c.oid, c.oid FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE c.relkind IN ('r', 'p', 'm') AND NOT c.relispartition
    AND n.nspname <> 'information_schema' AND left(n.nspname, 3) <> 'pg_'
  UNION SELECT f.root, i.inhrelid FROM family f JOIN pg_inherits i ON i.inhparent = f.member
"""
# What the server counts of every table, with the tables that are parts of it or inherit from it,
# and when it last started over; and which tables these are and how the columns are defined, down
# to the names of an enum.
STATES = f"""
{_FAMILY}), counts AS (
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
# Which tables have not a page, and so not a row, and how many bytes the others take; of those that
# we may read, and that are stored as PostgreSQL itself stores tables.
SIZES = f"""
{_FAMILY})
SELECT n.nspname, c.relname, sum(pg_relation_size(m.oid)) = 0, sum(pg_table_size(m.oid))::bigint
FROM family f JOIN pg_class m ON m.oid = f.member JOIN pg_class c ON c.oid = f.root
JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relispopulated AND has_table_privilege(c.oid, 'SELECT')
  AND has_schema_privilege(n.oid, 'USAGE')
GROUP BY n.nspname, c.relname
HAVING bool_and(m.relkind = 'p' OR m.relkind IN ('r', 'm')
                AND m.relam = (SELECT oid FROM pg_am WHERE amname = 'heap'))
"""
# Every write gives its row a new xmin, every removal lowers the count: read in the server, so
# only two numbers travel.
VERSIONS = (
    "SELECT {number} AS t, count(*) AS n, coalesce(sum(xmin::text::numeric), 0)::text AS versions "
    "FROM {relation}"
)
# What `VERSIONS` says of a table without rows.
NO_ROWS = "0 0"


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
  SELECT DISTINCT w.root, m.found[1]::oid
  FROM within w JOIN pg_rewrite r ON r.ev_class = w.member,
       LATERAL regexp_matches(r.ev_action::text, '(?:funcid|fnoid) (\d+)', 'g') AS m (found)
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
       left(d.description, {most})
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
GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT {most}
"""
