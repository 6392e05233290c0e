"""BEAVER: questions and schemas as JSON, contents where they are at hand, as CSV.

`<db>/<TABLE>.csv` with the columns of the schema fills a table; one without stays empty, as many
there do.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

from dovetail.errors import DatasetError
from dovetail.ports import Json
from dovetail_bench.releases.opened import (
    Cells,
    Opened,
    database_file,
    key,
    question,
    write_database,
)

_DIALECTS = ("mysql", "oracle")


def read(release: Opened, into: Path) -> tuple[list[Json], list[Json]]:
    """`dev_dw.json`, `dev_nw.json`, `dev_tables.json`, `dw_join_keys.json` and CSV files."""
    questions = [
        question(
            f"{part}_{number}", row["db_id"], row["question"],
            row.get("sql") or row.get("oracle_sql") or "", gold=row.get("gold_tables") or (),
            dialects=_DIALECTS, difficulty=part,
        )
        for part in ("dw", "nw")
        for number, row in enumerate(release.rows(f"dev_{part}.json"))
    ]  # fmt: skip
    schemas: dict[str, dict[str, Sequence[str]]] = {}
    for schema in release.rows("dev_tables.json"):
        name, columns = schema["table_name_original"], schema["column_names_original"]
        schemas.setdefault(schema["db_id"], {})[name] = columns
    for database, tables in schemas.items():
        filled = {
            name: (columns, _contents(release, database, name, columns))
            for name, columns in tables.items()
        }
        write_database(database_file(into, database), filled)
    keys: dict[frozenset[str], Json] = {}
    for child, parent in release.rows("dw_join_keys.json"):
        made = key("dw", child.split(".", 1), parent.split(".", 1))
        keys.setdefault(frozenset((child, parent)), made)
    return questions, list(keys.values())


def _contents(release: Opened, database: str, table: str, columns: Sequence[str]) -> Cells:
    wanted = [name.casefold() for name in columns]
    for file in release.matching(f"{table}.csv", below=database):
        with file.open(encoding="utf-8-sig", newline="") as stream:
            header, *rows = list(csv.reader(stream)) or [[]]
        if [name.casefold() for name in header] != wanted:
            continue  # the release also has CSV files that describe a table
        if odd := [number for number, row in enumerate(rows, 2) if len(row) != len(columns)]:
            raise DatasetError(f"{file.name}, line {odd[0]}, has not {len(columns)} cells")
        return [[cell or None for cell in row] for row in rows]
    return []
