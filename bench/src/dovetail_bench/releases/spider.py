"""Spider (`spider_data.zip`), BIRD (`dev.zip`) and Spider 2.0-lite: a SQLite file per database."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

from dovetail.errors import NotFoundError
from dovetail.ports import Json
from dovetail.sources.duck import identifier
from dovetail_bench.releases.opened import Opened, copy_databases, database_file, key, question


def read_spider(release: Opened, into: Path) -> tuple[list[Json], list[Json]]:
    """`dev.json`, `tables.json` and `database/<db>/<db>.sqlite`."""
    return _read(release, into, tables="tables.json", sql="query")


def read_bird(release: Opened, into: Path) -> tuple[list[Json], list[Json]]:
    """`dev.json`, `dev_tables.json` and `dev_databases/<db>/<db>.sqlite`, packed or not."""
    return _read(release, into, tables="dev_tables.json", sql="SQL")


def _read(release: Opened, into: Path, *, tables: str, sql: str) -> tuple[list[Json], list[Json]]:
    rows = release.rows("dev.json")
    databases = sorted({row["db_id"] for row in rows})
    copy_databases(release, databases, into)
    questions = [
        question(
            row.get("question_id", number), row["db_id"], row["question"], row[sql],
            evidence=row.get("evidence", ""), difficulty=row.get("difficulty"),
        )
        for number, row in enumerate(rows)
    ]  # fmt: skip
    schemas = [each for each in release.rows(tables) if each["db_id"] in databases]
    return questions, [declared for schema in schemas for declared in _keys(schema)]


def _keys(schema: Json) -> Iterator[Json]:
    """The keys of a `tables.json`, where columns are numbered over all tables of a database."""
    tables, columns = schema["table_names_original"], schema["column_names_original"]
    for pair in schema["foreign_keys"]:
        child, parent = ((tables[columns[at][0]], columns[at][1]) for at in pair)
        yield key(schema["db_id"], child, parent)


def read_spider2(release: Opened, into: Path) -> tuple[list[Json], list[Json]]:
    """`spider2-lite.jsonl`, `<db>.sqlite` and the published gold `<instance_id>.sql` of each."""
    questions: list[Json] = []
    for row in release.rows("spider2-lite.jsonl"):
        gold = release.matching(f"{row['instance_id']}.sql", below="gold")
        if row["instance_id"].startswith("local") and gold:
            sql, told = gold[0].read_text("utf-8"), row.get("external_knowledge")
            questions.append(
                question(
                    row["instance_id"], row["db"], row["question"], sql, external_knowledge=told
                )
            )
    if not questions:
        raise NotFoundError(
            f"{release.name} has no gold SQL of a local instance; add evaluation_suite/gold/sql"
        )
    databases = sorted({asked["db_id"] for asked in questions})
    copy_databases(release, databases, into)
    return questions, [declared for name in databases for declared in _declared(into, name)]


def _declared(into: Path, database: str) -> Sequence[Json]:
    """The keys that a SQLite file declares itself."""
    found: list[Json] = []
    address = f"file:{database_file(into, database)}?mode=ro"
    with closing(sqlite3.connect(address, uri=True)) as connection:
        tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        for (table,) in tables.fetchall():
            for row in connection.execute(f"PRAGMA foreign_key_list({identifier(table)})"):
                _, _, parent, column, ref_column, *_ = row
                found.append(key(database, (table, column), (parent, ref_column or column)))
    return found
