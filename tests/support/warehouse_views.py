"""System views of warehouses as they are documented, with the same few keys and comments in each.

`customers` has the key (id, name); `orders` the key (id), where there is such a thing the unique
column `placed`, and a foreign key (placed, customer_id) to (name, id): the other way round.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import duckdb

OWN = {
    "customers_pk": ("customers", "PRIMARY KEY", ("id", "name")),
    "orders_pk": ("orders", "PRIMARY KEY", ("id",)),
    "orders_placed": ("orders", "UNIQUE", ("placed",)),
    "orders_buyer": ("orders", "FOREIGN KEY", ("placed", "customer_id")),
}
# The positions that the columns of the foreign key refer to, within the key of customers.
REFERRED = (2, 1)
COMMENT = "The customer's number"

Rows = Sequence[Sequence[Any]]


def create_views(kind: str, database: duckdb.DuckDBPyConnection) -> None:
    """Make the views of a kind of warehouse as tables of DuckDB."""
    made: dict[str, tuple[str, Rows]] = {
        "bigquery": _bigquery,
        "databricks": _databricks,
        "mssql": _mssql,
        "oracle": _oracle,
    }.get(kind, dict)()
    for schema in {name.partition(".")[0] for name in made if "." in name}:
        database.execute(f"CREATE SCHEMA {schema}")
    for name, (columns, rows) in made.items():
        database.execute(f"CREATE TABLE {name} ({columns})")
        marks = ", ".join("?" for _ in columns.split(","))
        database.executemany(f"INSERT INTO {name} VALUES ({marks})", rows)


def shown(wanted: str) -> tuple[list[str], Rows]:
    """What Snowflake answers to a SHOW about keys: the names of its columns, and its rows."""
    if wanted == "IMPORTED":
        names = (
            "created_on pk_database_name pk_schema_name pk_table_name pk_column_name "
            "fk_database_name fk_schema_name fk_table_name fk_column_name key_sequence update_rule "
            "delete_rule fk_name pk_name deferrability rely comment"
        )
        keys = OWN["customers_pk"][2]
        rows = [
            (None, database, "PUBLIC", "CUSTOMERS", keys[REFERRED[at] - 1].upper(),
             "SHOP", "PUBLIC", "ORDERS", column.upper(), at + 1, "NO ACTION",
             "NO ACTION", name, "CUSTOMERS_PK", "NOT DEFERRABLE", "false", None)
            for database, name in (("SHOP", "ORDERS_BUYER"), ("ELSEWHERE", "ORDERS_AWAY"))
            for at, column in enumerate(OWN["orders_buyer"][2])
        ]  # fmt: skip
        return names.split(), rows
    names = (
        "created_on database_name schema_name table_name column_name key_sequence constraint_name "
        "rely comment"
    )
    return names.split(), [
        (None, "SHOP", "PUBLIC", table.upper(), column.upper(), at, name.upper(), "false", None)
        for name, table, kind, at, column in _columns()
        if kind.startswith(wanted)
    ]


def _columns(left_out: str = "") -> Iterator[tuple[str, str, str, int, str]]:
    """Constraint, table, kind, position and name of every column of a key."""
    for name, (table, kind, columns) in OWN.items():
        if kind != left_out:
            for at, column in enumerate(columns, 1):
                yield name, table, kind, at, column


def _standard(schema: str, left_out: str = "") -> dict[str, tuple[str, Rows]]:
    named = {(name, table, kind): None for name, table, kind, *_ in _columns(left_out)}
    return {
        "described.table_constraints": (
            "constraint_catalog TEXT, constraint_schema TEXT, constraint_name TEXT, "
            "table_name TEXT, constraint_type TEXT",
            [("c", schema, *about) for about in named],
        ),
        "described.key_column_usage": (
            "constraint_catalog TEXT, constraint_schema TEXT, constraint_name TEXT, "
            "table_catalog TEXT, table_schema TEXT, table_name TEXT, column_name TEXT, "
            "ordinal_position INT, position_in_unique_constraint INT",
            [
                ("c", schema, name, "c", schema, table, column, at,
                 REFERRED[at - 1] if kind == "FOREIGN KEY" else None)
                for name, table, kind, at, column in _columns(left_out)
            ],
        ),
    }  # fmt: skip


def _bigquery() -> dict[str, tuple[str, Rows]]:
    used = [
        (name, "customers" if kind == "FOREIGN KEY" else table, other)
        for name, (table, kind, columns) in OWN.items()
        if kind != "UNIQUE"
        for other in (OWN["customers_pk"][2] if kind == "FOREIGN KEY" else columns)
    ]
    paths = [
        ("customers", "id", "id", COMMENT),
        ("customers", "name", "name", None),
        ("orders", "placed", "placed.day", "within a record"),
    ]
    return {
        **_standard("shop", "UNIQUE"),
        "described.constraint_column_usage": (
            "table_catalog TEXT, table_schema TEXT, constraint_name TEXT, table_name TEXT, "
            "column_name TEXT",
            [("c", "shop", *row) for row in used],
        ),
        "described.column_field_paths": (
            "table_schema TEXT, table_name TEXT, column_name TEXT, field_path TEXT, "
            "description TEXT",
            [("shop", *row) for row in paths],
        ),
        "described.table_options": (
            "table_schema TEXT, table_name TEXT, option_name TEXT, option_value TEXT",
            [
                ("shop", "customers", "description", '"Who buys"'),
                ("shop", "orders", "description", "no literal of text"),
                ("shop", "orders", "expiration_timestamp", "TIMESTAMP '2030-01-01'"),
            ],
        ),
    }


def _databricks() -> dict[str, tuple[str, Rows]]:
    return {
        **_standard("default"),
        "described.referential_constraints": (
            "constraint_catalog TEXT, constraint_schema TEXT, constraint_name TEXT, "
            "unique_constraint_catalog TEXT, unique_constraint_schema TEXT, "
            "unique_constraint_name TEXT",
            [("c", "default", "orders_buyer", "c", "default", "customers_pk")],
        ),
    }


def _mssql() -> dict[str, tuple[str, Rows]]:
    tables = {"customers": 1, "orders": 2}
    columns = {"customers": ["id", "name"], "orders": ["id", "customer_id", "placed"]}
    place = {(t, name): at for t, listed in columns.items() for at, name in enumerate(listed, 1)}
    indexes = {name: at for at, name in enumerate(OWN, 1) if OWN[name][1] != "FOREIGN KEY"}
    return {
        "sys.schemas": ("schema_id INT, name TEXT", [(5, "dbo")]),
        "sys.tables": (
            "object_id INT, schema_id INT, name TEXT",
            [(at, 5, name) for name, at in tables.items()],
        ),
        "sys.columns": (
            "object_id INT, column_id INT, name TEXT",
            [(tables[table], at, name) for (table, name), at in place.items()],
        ),
        "sys.indexes": (
            "object_id INT, index_id INT, name TEXT, is_primary_key INT, is_unique INT, "
            "has_filter INT, is_disabled INT",
            [
                *((tables[OWN[name][0]], at, name, int(OWN[name][1] == "PRIMARY KEY"), 1, 0, 0)
                  for name, at in indexes.items()),
                (2, 8, "of_some_rows", 0, 1, 1, 0),
                (2, 9, "not_unique", 0, 0, 0, 0),
            ],
        ),
        "sys.index_columns": (
            "object_id INT, index_id INT, key_ordinal INT, column_id INT",
            [
                *((tables[table], indexes[name], at, place[table, column])
                  for name, table, kind, at, column in _columns("FOREIGN KEY")),
                (2, 3, 0, 2),  # included in an index, and no part of its key
                (2, 8, 1, 2),
                (2, 9, 1, 2),
            ],
        ),
        "sys.foreign_keys": ("object_id INT, name TEXT", [(77, "orders_buyer")]),
        "sys.foreign_key_columns": (
            "constraint_object_id INT, constraint_column_id INT, parent_object_id INT, "
            "parent_column_id INT, referenced_object_id INT, referenced_column_id INT",
            [
                (77, at, 2, place["orders", column], 1, REFERRED[at - 1])
                for at, column in enumerate(OWN["orders_buyer"][2], 1)
            ],
        ),
        "sys.extended_properties": (
            "class INT, major_id INT, minor_id INT, name TEXT, value TEXT",
            [
                (1, 1, 0, "MS_Description", "Who buys"),
                (1, 1, 1, "MS_Description", COMMENT),
                (1, 1, 2, "Owner", "somebody"),
            ],
        ),
    }  # fmt: skip


def _oracle() -> dict[str, tuple[str, Rows]]:
    kinds = {"PRIMARY KEY": "P", "UNIQUE": "U", "FOREIGN KEY": "R"}
    return {
        "all_constraints": (
            "owner TEXT, table_name TEXT, constraint_name TEXT, constraint_type TEXT, "
            "r_owner TEXT, r_constraint_name TEXT",
            [
                ("SHOP", table.upper(), name.upper(), kinds[kind],
                 *(("SHOP", "CUSTOMERS_SWAPPED") if kind == "FOREIGN KEY" else (None, None)))
                for name, (table, kind, _) in OWN.items()
            ],
        ),
        "all_cons_columns": (
            "owner TEXT, table_name TEXT, constraint_name TEXT, position INT, column_name TEXT",
            [
                *(("SHOP", table.upper(), name.upper(), at, column.upper())
                  for name, table, _, at, column in _columns()),
                ("SHOP", "CUSTOMERS", "CUSTOMERS_SWAPPED", 1, "NAME"),
                ("SHOP", "CUSTOMERS", "CUSTOMERS_SWAPPED", 2, "ID"),
            ],
        ),
        "all_col_comments": (
            "owner TEXT, table_name TEXT, column_name TEXT, comments TEXT",
            [
                ("SHOP", "CUSTOMERS", "ID", COMMENT),
                ("SHOP", "CUSTOMERS", "NAME", None),
                ("ELSE", "CUSTOMERS", "NAME", "of another schema"),
            ],
        ),
    }  # fmt: skip
