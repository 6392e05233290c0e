"""What differs between warehouses: how they are asked for their tables, sampled and logged in to.

One `Dialect` for each. Listing gives, of every table: schema, name, whether it is a view, rows,
bytes, a text that changes whenever the table does, and a comment; NULL for what it cannot tell.
Columns come with schema, table, name, type and comment, in order.

Declared keys and comments are asked for all tables at once; an answer has the columns of
`declarations.Row.of`. Snowflake tells keys by SHOW alone, whose columns it names itself. Most
warehouses hold nobody to a key: it is what people meant, and what the values say of it is worked
out where joins are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dovetail.sources.declarations import DUCKDB_DECLARED, FOREIGN, PRIMARY, UNIQUE, Row

_TABLES = """
SELECT table_schema, table_name, CASE WHEN table_type LIKE '%VIEW%' THEN 1 ELSE 0 END,
       {rows}, {bytes}, {changed}, {comment}
FROM information_schema.tables
WHERE LOWER(table_schema) NOT IN ('information_schema', 'pg_catalog', 'performance_schema', 'sys')
  {which} ORDER BY 1, 2
"""
_COLUMNS = """
SELECT table_schema, table_name, column_name, {type}, {comment}
FROM information_schema.columns
WHERE LOWER(table_schema) NOT IN ('information_schema', 'pg_catalog', 'performance_schema', 'sys')
  {which} ORDER BY table_schema, table_name, ordinal_position
"""


def standard_tables(**given: str) -> str:
    """The question for all tables to an information schema, with the expressions given."""
    blank = dict.fromkeys(("rows", "bytes", "changed", "comment"), "NULL")
    return _TABLES.format(**{**blank, "which": "", **given})


def standard_columns(**given: str) -> str:
    """The question for all columns to an information schema, with the expressions given."""
    return _COLUMNS.format(**{"type": "data_type", "comment": "NULL", "which": "", **given})


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

    def row(self, answer: Mapping[str, Any]) -> Row | None:
        """A row of the answer; none if it is of a key to another database, which is not ours."""
        own = self.own
        key = (answer[f"{own}schema_name"], answer[f"{own}table_name"])
        at, column = int(answer["key_sequence"]), answer[f"{own}column_name"]
        if self.kind != FOREIGN:
            return Row(key, self.kind, answer["constraint_name"], at, column)
        if answer["pk_database_name"] != answer["fk_database_name"]:
            return None
        target = (answer["pk_schema_name"], answer["pk_table_name"])
        return Row(key, FOREIGN, answer["fk_name"], at, column, target, answer["pk_column_name"])


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


@dataclass(frozen=True, slots=True)
class Dialect:
    """A kind of warehouse.

    `name` is sqlglot's word for its SQL, `login` the environment variables it takes. In `tables`
    and `columns`, `{database}` and `{schema}` are the parts of the URL's path. `sample` reads about
    `{percent}` of a `{table}` without going through all of it: the same blocks every time, where
    the warehouse can be told so. `declared` are the statements about keys and comments.
    """

    name: str
    tables: str
    columns: str
    login: Mapping[str, str] = field(default_factory=dict)
    quote: str = '"'
    text: str = "CAST({} AS VARCHAR)"
    md5: str = "MD5({})"
    distinct: str = "APPROX_COUNT_DISTINCT({})"
    sample: str = "{table} TABLESAMPLE SYSTEM ({percent}) REPEATABLE (42)"
    limit: str = "SELECT {what} LIMIT {rows}"
    concat: str = "{} || {}"
    default_schema: str = "public"
    declared: Sequence[Statement] = ()


DIALECTS: dict[str, Dialect] = {
    "snowflake": Dialect(
        "snowflake",
        standard_tables(
            rows="row_count",
            bytes="bytes",
            changed="CAST(last_altered AS VARCHAR)",
            comment="comment",
        ),
        standard_columns(comment="comment"),
        {"user": "SNOWFLAKE_USER", "password": "SNOWFLAKE_PASSWORD"},
        default_schema="PUBLIC",
        declared=_SNOWFLAKE,
    ),
    "bigquery": Dialect(
        "bigquery",
        "SELECT dataset_id, table_id, CASE WHEN type = 1 THEN 0 ELSE 1 END, row_count, size_bytes, "
        "CAST(last_modified_time AS STRING), NULL FROM `{schema}`.__TABLES__ ORDER BY 1, 2",
        "SELECT table_schema, table_name, column_name, data_type, NULL "
        "FROM `{schema}`.INFORMATION_SCHEMA.COLUMNS ORDER BY 1, 2, ordinal_position",
        {"key_file": "GOOGLE_APPLICATION_CREDENTIALS"},
        quote="`",
        text="CAST({} AS STRING)",
        md5="TO_HEX(MD5({}))",
        sample="{table} TABLESAMPLE SYSTEM ({percent} PERCENT)",
        declared=_BIGQUERY,
    ),
    "databricks": Dialect(
        "databricks",
        standard_tables(comment="comment"),
        standard_columns(type="full_data_type", comment="comment"),
        {"token": "DATABRICKS_TOKEN"},
        quote="`",
        text="CAST({} AS STRING)",
        sample="{table} TABLESAMPLE ({percent} PERCENT) REPEATABLE (42)",
        default_schema="default",
        declared=_DATABRICKS,
    ),
    "trino": Dialect(
        "trino",
        standard_tables(),
        standard_columns(),
        {"user": "TRINO_USER", "password": "TRINO_PASSWORD"},
        md5="LOWER(TO_HEX(MD5(TO_UTF8({}))))",
        distinct="APPROX_DISTINCT({})",
        sample="{table} TABLESAMPLE SYSTEM ({percent})",
        default_schema="default",
    ),
    "flightsql": Dialect(
        "duckdb",
        standard_tables(),
        standard_columns(),
        {"user": "FLIGHTSQL_USER", "password": "FLIGHTSQL_PASSWORD"},
        sample="{table} USING SAMPLE {percent} PERCENT (system, 42)",
        default_schema="main",
        declared=(
            Selected(
                DUCKDB_DECLARED.format(database="current_database()"), keys=True, comments=True
            ),
        ),
    ),
    "mssql": Dialect(
        "tsql",
        "SELECT s.name, t.name, 0, SUM(p.rows), SUM(a.pages) * 8192, NULL, NULL "
        "FROM sys.tables t JOIN sys.schemas s ON s.schema_id = t.schema_id "
        "JOIN sys.partitions p ON p.object_id = t.object_id AND p.index_id IN (0, 1) "
        "JOIN (SELECT container_id, SUM(total_pages) AS pages FROM sys.allocation_units "
        "GROUP BY container_id) a ON a.container_id = p.partition_id "
        "GROUP BY s.name, t.name ORDER BY 1, 2",
        standard_columns(),
        {"user": "MSSQL_USER", "password": "MSSQL_PASSWORD"},
        text="CAST({} AS NVARCHAR(MAX))",
        md5="LOWER(CONVERT(VARCHAR(32), HASHBYTES('MD5', {}), 2))",
        sample="{table} TABLESAMPLE SYSTEM ({percent} PERCENT) REPEATABLE (42)",
        limit="SELECT TOP {rows} {what}",
        concat="CONCAT({}, {})",
        default_schema="dbo",
        declared=_MSSQL,
    ),
    "oracle": Dialect(
        "oracle",
        "SELECT t.owner, t.table_name, 0, t.num_rows, t.blocks * 8192, NULL, c.comments "
        "FROM all_tables t LEFT JOIN all_tab_comments c "
        "ON c.owner = t.owner AND c.table_name = t.table_name "
        "WHERE t.owner = SYS_CONTEXT('USERENV', 'CURRENT_SCHEMA') ORDER BY 1, 2",
        "SELECT owner, table_name, column_name, data_type, NULL FROM all_tab_columns "
        "WHERE owner = SYS_CONTEXT('USERENV', 'CURRENT_SCHEMA') ORDER BY 1, 2, column_id",
        {"user": "ORACLE_USER", "password": "ORACLE_PASSWORD"},
        text="CAST({} AS VARCHAR2(4000))",
        md5="LOWER(RAWTOHEX(STANDARD_HASH({}, 'MD5')))",
        sample="{table} SAMPLE BLOCK ({percent}) SEED (42)",
        limit="SELECT {what} FETCH FIRST {rows} ROWS ONLY",
        default_schema="",
        declared=_ORACLE,
    ),
}
