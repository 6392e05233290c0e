"""What warehouses are asked about declared keys and comments, for all their tables at once.

An answer has the columns of `declarations.Row.of`. Snowflake tells keys by SHOW alone, whose
columns it names itself. Most warehouses hold nobody to a key: it is what people meant, and what the
values say of it is worked out where joins are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dovetail.sources import duckdb_file, mysql, postgres_sql
from dovetail.sources.declarations import FOREIGN, LONGEST_COMMENT, PRIMARY, UNIQUE, Row


@dataclass(frozen=True, slots=True)
class Selected:
    """A SELECT about keys, comments or both."""

    sql: str
    keys: bool = False
    comments: bool = False


@dataclass(frozen=True, slots=True)
class Shown:
    """A SHOW of Snowflake about the keys of a kind, with what it puts before a key's own end."""

    sql: str
    kind: str
    own: str = ""
    keys: bool = True
    comments: bool = False

    def of_schema(self, schema: str) -> str:
        """The same for the tables of one schema."""
        return f"{self.sql.removesuffix(' DATABASE')} SCHEMA {schema}"

    def row(self, said: Mapping[str, Any]) -> Row | None:
        """A row of the answer; none if it is of a key to another database, which is not ours."""
        own = self.own
        place = (said[f"{own}schema_name"], said[f"{own}table_name"])
        at, column = int(said["key_sequence"]), said[f"{own}column_name"]
        if self.kind != FOREIGN:
            return Row(place, self.kind, said["constraint_name"], at, column)
        if said["pk_database_name"] != said["fk_database_name"]:
            return None
        key_place = (said["pk_schema_name"], said["pk_table_name"])
        return Row(place, FOREIGN, said["fk_name"], at, column, key_place, said["pk_column_name"])


Statement = Selected | Shown
# A SHOW tells no more rows than that, and does not say that there are more.
MOST_SHOWN = 10_000

_SNOWFLAKE = (
    Shown("SHOW PRIMARY KEYS IN DATABASE", PRIMARY),
    Shown("SHOW UNIQUE KEYS IN DATABASE", UNIQUE),
    Shown("SHOW IMPORTED KEYS IN DATABASE", FOREIGN, "fk_"),
)

# A foreign key refers to the primary key of its table, and of the columns that it refers to only
# the table is told: which column is which, the two keys' positions say.
_BIGQUERY = (
    Selected(
        """
SELECT k.table_schema, k.table_name,
       CASE t.constraint_type WHEN 'PRIMARY KEY' THEN 'p' ELSE 'f' END,
       k.constraint_name, k.ordinal_position, k.column_name,
       o.table_schema AS to_schema, o.table_name AS to_table, o.column_name AS to_column, NULL
FROM `{schema}`.INFORMATION_SCHEMA.TABLE_CONSTRAINTS t
JOIN `{schema}`.INFORMATION_SCHEMA.KEY_COLUMN_USAGE k ON k.constraint_name = t.constraint_name
LEFT JOIN (
  SELECT DISTINCT u.constraint_name, p.table_schema, p.table_name, p.column_name, p.ordinal_position
  FROM `{schema}`.INFORMATION_SCHEMA.CONSTRAINT_COLUMN_USAGE u
  JOIN `{schema}`.INFORMATION_SCHEMA.KEY_COLUMN_USAGE p
    ON p.table_catalog = u.table_catalog AND p.table_schema = u.table_schema
   AND p.table_name = u.table_name
  JOIN `{schema}`.INFORMATION_SCHEMA.TABLE_CONSTRAINTS q
    ON q.constraint_name = p.constraint_name AND q.constraint_type = 'PRIMARY KEY'
) o ON o.constraint_name = k.constraint_name
   AND o.ordinal_position = k.position_in_unique_constraint
WHERE t.constraint_type IN ('PRIMARY KEY', 'FOREIGN KEY')
""",
        keys=True,
    ),
    Selected(
        """
SELECT table_schema, table_name, 'c', NULL, NULL, column_name, NULL, NULL, NULL, description
FROM `{schema}`.INFORMATION_SCHEMA.COLUMN_FIELD_PATHS
WHERE field_path = column_name AND description IS NOT NULL
""",
        comments=True,
    ),
    # The value is written as a literal of SQL, which reads as JSON.
    Selected(
        """
SELECT table_schema, table_name, 'c', NULL, NULL, NULL, NULL, NULL, NULL,
       JSON_VALUE(SAFE.PARSE_JSON(option_value))
FROM `{schema}`.INFORMATION_SCHEMA.TABLE_OPTIONS WHERE option_name = 'description'
""",
        comments=True,
    ),
)

_DATABRICKS = (
    Selected(
        """
SELECT k.table_schema, k.table_name,
       CASE t.constraint_type WHEN 'PRIMARY KEY' THEN 'p' WHEN 'UNIQUE' THEN 'u' ELSE 'f' END,
       k.constraint_name, k.ordinal_position, k.column_name,
       o.table_schema AS to_schema, o.table_name AS to_table, o.column_name AS to_column, NULL
FROM information_schema.table_constraints t
JOIN information_schema.key_column_usage k
  ON k.constraint_catalog = t.constraint_catalog AND k.constraint_schema = t.constraint_schema
 AND k.constraint_name = t.constraint_name
LEFT JOIN information_schema.referential_constraints r
  ON r.constraint_catalog = k.constraint_catalog AND r.constraint_schema = k.constraint_schema
 AND r.constraint_name = k.constraint_name
LEFT JOIN information_schema.key_column_usage o
  ON o.constraint_catalog = r.unique_constraint_catalog
 AND o.constraint_schema = r.unique_constraint_schema
 AND o.constraint_name = r.unique_constraint_name
 AND o.ordinal_position = k.position_in_unique_constraint
WHERE t.constraint_type IN ('PRIMARY KEY', 'UNIQUE', 'FOREIGN KEY')
""",
        keys=True,
    ),
)

# A unique index over all rows is a key as well, declared as one or not.
_MSSQL = (
    Selected(
        """
SELECT s.name, t.name, CASE WHEN i.is_primary_key = 1 THEN 'p' ELSE 'u' END, i.name,
       x.key_ordinal, c.name, CAST(NULL AS NVARCHAR(128)), CAST(NULL AS NVARCHAR(128)),
       CAST(NULL AS NVARCHAR(128)), NULL
FROM sys.indexes i JOIN sys.tables t ON t.object_id = i.object_id
JOIN sys.schemas s ON s.schema_id = t.schema_id
JOIN sys.index_columns x
  ON x.object_id = i.object_id AND x.index_id = i.index_id AND x.key_ordinal > 0
JOIN sys.columns c ON c.object_id = x.object_id AND c.column_id = x.column_id
WHERE i.is_unique = 1 AND i.has_filter = 0 AND i.is_disabled = 0
UNION ALL
SELECT s.name, t.name, 'f', f.name, x.constraint_column_id, c.name, rs.name, rt.name, rc.name, NULL
FROM sys.foreign_keys f JOIN sys.foreign_key_columns x ON x.constraint_object_id = f.object_id
JOIN sys.tables t ON t.object_id = x.parent_object_id
JOIN sys.schemas s ON s.schema_id = t.schema_id
JOIN sys.columns c ON c.object_id = x.parent_object_id AND c.column_id = x.parent_column_id
JOIN sys.tables rt ON rt.object_id = x.referenced_object_id
JOIN sys.schemas rs ON rs.schema_id = rt.schema_id
JOIN sys.columns rc
  ON rc.object_id = x.referenced_object_id AND rc.column_id = x.referenced_column_id
""",
        keys=True,
    ),
    Selected(
        """
SELECT s.name, t.name, 'c', NULL, NULL, c.name, NULL, NULL, NULL, CAST(e.value AS NVARCHAR(4000))
FROM sys.extended_properties e JOIN sys.tables t ON t.object_id = e.major_id
JOIN sys.schemas s ON s.schema_id = t.schema_id
LEFT JOIN sys.columns c ON c.object_id = e.major_id AND c.column_id = e.minor_id
WHERE e.class = 1 AND e.name = 'MS_Description'
""",
        comments=True,
    ),
)

_ORACLE = (
    Selected(
        """
SELECT c.owner, c.table_name,
       CASE c.constraint_type WHEN 'P' THEN 'p' WHEN 'U' THEN 'u' ELSE 'f' END,
       c.constraint_name, k.position, k.column_name,
       o.owner AS to_owner, o.table_name AS to_table, o.column_name AS to_column, NULL
FROM all_constraints c
JOIN all_cons_columns k ON k.owner = c.owner AND k.constraint_name = c.constraint_name
LEFT JOIN all_cons_columns o ON o.owner = c.r_owner AND o.constraint_name = c.r_constraint_name
                            AND o.position = k.position
WHERE c.constraint_type IN ('P', 'U', 'R') AND c.owner = SYS_CONTEXT('USERENV', 'CURRENT_SCHEMA')
""",
        keys=True,
    ),
    Selected(
        """
SELECT owner, table_name, 'c', NULL, NULL, column_name, NULL, NULL, NULL, comments
FROM all_col_comments
WHERE comments IS NOT NULL AND owner = SYS_CONTEXT('USERENV', 'CURRENT_SCHEMA')
""",
        comments=True,
    ),
)

DECLARED: Mapping[str, Sequence[Statement]] = {
    "snowflake": _SNOWFLAKE,
    "bigquery": _BIGQUERY,
    "databricks": _DATABRICKS,
    "mssql": _MSSQL,
    "oracle": _ORACLE,
    "flightsql": (
        Selected(
            duckdb_file.DECLARED.format(database="current_database()"), keys=True, comments=True
        ),
    ),
    "adbc+postgresql": (
        Selected(
            postgres_sql.DECLARED.format(kinds="'r', 'p', 'm', 'v', 'f'", most=4 * LONGEST_COMMENT),
            keys=True,
            comments=True,
        ),
    ),
    "dbapi+mysql": (
        Selected(mysql.DECLARED.format(schema="DATABASE(), "), keys=True, comments=True),
    ),
}
