"""Spider 2.0-lite: the questions over local SQLite files whose gold SQL is published."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from dovetail.errors import NotFoundError
from dovetail.ports import Json
from dovetail.sources.duck import identifier
from dovetail_bench.releases.opened import Opened, copy_databases, database_file, gold_tables


def read(release: Opened, into: Path) -> tuple[list[Json], list[Json]]:
    """`spider2-lite.jsonl`, `<db>.sqlite` and `<instance_id>.sql` of each local instance."""
    questions: list[Json] = []
    for row in release.rows("spider2-lite.jsonl"):
        gold = release.matching(f"{row['instance_id']}.sql", below="gold")
        if not row["instance_id"].startswith("local") or not gold:
            continue
        sql = gold[0].read_text("utf-8")
        questions.append(
            {
                "question_id": row["instance_id"],
                "db_id": row["db"],
                "question": row["question"],
                "evidence": "",
                "difficulty": None,
                "sql": sql,
                "gold_tables": gold_tables(sql, ("sqlite",)),
                "external_knowledge": row.get("external_knowledge"),
            }
        )
    if not questions:
        raise NotFoundError(
            f"{release.name} has no gold SQL of a local instance; add evaluation_suite/gold/sql"
        )
    databases = sorted({question["db_id"] for question in questions})
    copy_databases(release, databases, into)
    keys = [key for name in databases for key in _declared(database_file(into, name), name)]
    return questions, keys


def _declared(file: Path, database: str) -> Iterator[Json]:
    """The keys that a SQLite file declares itself."""
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as connection:
        tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        for (table,) in tables.fetchall():
            for row in connection.execute(f"PRAGMA foreign_key_list({identifier(table)})"):
                _, _, parent, column, ref_column, *_ = row
                yield {
                    "db_id": database,
                    "table": table,
                    "column": column,
                    "ref_table": parent,
                    "ref_column": ref_column or column,
                }
