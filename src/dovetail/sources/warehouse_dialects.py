"""What differs between warehouses: how they are asked for their tables, sampled and logged in to.

One `Dialect` for each. Listing gives, of every table: schema, name, whether it is a view, rows,
bytes, a text that changes whenever the table does, and a comment; NULL for what it cannot tell.
Columns come with schema, table, name, type and comment, in order. What is declared beside is asked
for by `warehouse_declared.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

_TABLES = """
SELECT table_schema, table_name, CASE WHEN table_type LIKE '%VIEW%' THEN 1 ELSE 0 END,
       {rows}, {bytes}, {changed}, {comment}
FROM {place}information_schema.tables
WHERE LOWER(table_schema) NOT IN ('information_schema', 'pg_catalog', 'performance_schema', 'sys')
  {which} ORDER BY 1, 2
"""
_COLUMNS = """
SELECT table_schema, table_name, column_name, {type}, {comment}
FROM {place}information_schema.columns
WHERE LOWER(table_schema) NOT IN ('information_schema', 'pg_catalog', 'performance_schema', 'sys')
  {which} ORDER BY table_schema, table_name, ordinal_position
"""


def _tables(**given: str) -> str:
    blank = dict.fromkeys(("rows", "bytes", "changed", "comment"), "NULL")
    return _TABLES.format(**{**blank, "place": "", "which": "", **given})


def _columns(**given: str) -> str:
    return _COLUMNS.format(
        **{"type": "data_type", "comment": "NULL", "place": "", "which": "", **given}
    )


@dataclass(frozen=True, slots=True)
class Dialect:
    """A kind of warehouse.

    `name` is sqlglot's word for its SQL, `driver` the function of `warehouse_driver.py` that logs
    in, `extra` what to install for it, `login` the environment variables it takes. In `tables` and
    `columns`, `{database}` and `{schema}` are the parts of the URL's path. `sample` reads about
    `{percent}` of a `{table}` without going through all of it: the same blocks every time, where
    the warehouse can be told so.
    """

    name: str
    driver: str
    extra: str
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
    home: str = "public"


DIALECTS: Mapping[str, Dialect] = {
    "snowflake": Dialect(
        "snowflake",
        "snowflake",
        "snowflake",
        _tables(
            rows="row_count",
            bytes="bytes",
            changed="CAST(last_altered AS VARCHAR)",
            comment="comment",
        ),
        _columns(comment="comment"),
        {"user": "SNOWFLAKE_USER", "password": "SNOWFLAKE_PASSWORD"},
        home="PUBLIC",
    ),
    "bigquery": Dialect(
        "bigquery",
        "bigquery",
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
    ),
    "databricks": Dialect(
        "databricks",
        "databricks",
        "databricks",
        _tables(comment="comment"),
        _columns(type="full_data_type", comment="comment"),
        {"token": "DATABRICKS_TOKEN"},
        quote="`",
        text="CAST({} AS STRING)",
        sample="{table} TABLESAMPLE ({percent} PERCENT) REPEATABLE (42)",
        home="default",
    ),
    "trino": Dialect(
        "trino",
        "trino",
        "trino",
        _tables(),
        _columns(),
        {"user": "TRINO_USER", "password": "TRINO_PASSWORD"},
        md5="LOWER(TO_HEX(MD5(TO_UTF8({}))))",
        distinct="APPROX_DISTINCT({})",
        sample="{table} TABLESAMPLE SYSTEM ({percent})",
        home="default",
    ),
    "flightsql": Dialect(
        "duckdb",
        "flightsql",
        "flightsql",
        _tables(),
        _columns(),
        {"user": "FLIGHTSQL_USER", "password": "FLIGHTSQL_PASSWORD"},
        sample="{table} USING SAMPLE {percent} PERCENT (system, 42)",
        home="main",
    ),
    "mssql": Dialect(
        "tsql",
        "mssql",
        "mssql",
        "SELECT s.name, t.name, 0, SUM(p.rows), SUM(a.pages) * 8192, NULL, NULL "
        "FROM sys.tables t JOIN sys.schemas s ON s.schema_id = t.schema_id "
        "JOIN sys.partitions p ON p.object_id = t.object_id AND p.index_id IN (0, 1) "
        "JOIN (SELECT container_id, SUM(total_pages) AS pages FROM sys.allocation_units "
        "GROUP BY container_id) a ON a.container_id = p.partition_id "
        "GROUP BY s.name, t.name ORDER BY 1, 2",
        _columns(),
        {"user": "MSSQL_USER", "password": "MSSQL_PASSWORD"},
        text="CAST({} AS NVARCHAR(MAX))",
        md5="LOWER(CONVERT(VARCHAR(32), HASHBYTES('MD5', {}), 2))",
        sample="{table} TABLESAMPLE SYSTEM ({percent} PERCENT) REPEATABLE (42)",
        limit="SELECT TOP {rows} {what}",
        concat="CONCAT({}, {})",
        home="dbo",
    ),
    "oracle": Dialect(
        "oracle",
        "oracle",
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
        home="",
    ),
    "adbc+postgresql": Dialect(
        "postgres",
        "adbc_postgresql",
        "adbc",
        _tables(
            bytes="(SELECT pg_total_relation_size(c.oid) FROM pg_class c JOIN pg_namespace n "
            "ON n.oid = c.relnamespace WHERE n.nspname = table_schema AND c.relname = table_name)",
            which="AND NOT EXISTS (SELECT FROM pg_class c JOIN pg_namespace n "
            "ON n.oid = c.relnamespace WHERE n.nspname = table_schema AND c.relname = table_name "
            "AND c.relispartition)",
        ),
        _columns(),
        {"user": "PGUSER", "password": "PGPASSWORD"},
        distinct="COUNT(DISTINCT {})",
    ),
    "dbapi+mysql": Dialect(
        "mysql",
        "pymysql",
        "dbapi-mysql",
        _tables(bytes="data_length", which="AND table_schema = DATABASE()"),
        _columns(which="AND table_schema = DATABASE()"),
        {"user": "MYSQL_USER", "password": "MYSQL_PWD"},
        quote="`",
        text="CAST({} AS CHAR)",
        distinct="COUNT(DISTINCT {})",
        sample="{table} WHERE RAND(42) < {percent} / 100.0",
        concat="CONCAT({}, {})",
        home="",
    ),
}
