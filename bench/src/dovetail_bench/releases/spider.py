"""Spider (`spider_data.zip`) and BIRD (`dev.zip`): dev questions, a SQLite file per database."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dovetail.ports import Json
from dovetail_bench.releases.opened import Opened, copy_databases, gold_tables


def read_spider(release: Opened, into: Path) -> tuple[list[Json], list[Json]]:
    """`dev.json`, `tables.json` and `database/<db>/<db>.sqlite`."""
    return _read(release, into, tables="tables.json", sql="query")


def read_bird(release: Opened, into: Path) -> tuple[list[Json], list[Json]]:
    """`dev.json`, `dev_tables.json` and `dev_databases/<db>/<db>.sqlite`, packed or not."""
    return _read(release, into, tables="dev_tables.json", sql="SQL")


def _read(release: Opened, into: Path, *, tables: str, sql: str) -> tuple[list[Json], list[Json]]:
    rows = release.rows("dev.json")
    schemas = release.rows(tables)
    databases = sorted({row["db_id"] for row in rows})
    copy_databases(release, databases, into)
    questions = [
        {
            "question_id": row.get("question_id", number),
            "db_id": row["db_id"],
            "question": row["question"],
            "evidence": row.get("evidence", ""),
            "difficulty": row.get("difficulty"),
            "sql": row[sql],
            "gold_tables": gold_tables(row[sql], ("sqlite",)),
        }
        for number, row in enumerate(rows)
    ]
    return questions, declared_keys(schemas, databases)


def declared_keys(schemas: Sequence[Json], databases: Sequence[str]) -> list[Json]:
    """The keys of a `tables.json`, where columns are numbered over all tables of a database."""
    keys: list[Json] = []
    for schema in schemas:
        if schema["db_id"] not in databases:
            continue
        tables, columns = schema["table_names_original"], schema["column_names_original"]
        for child, parent in schema["foreign_keys"]:
            keys.append(
                {
                    "db_id": schema["db_id"],
                    "table": tables[columns[child][0]],
                    "column": columns[child][1],
                    "ref_table": tables[columns[parent][0]],
                    "ref_column": columns[parent][1],
                }
            )
    return keys
