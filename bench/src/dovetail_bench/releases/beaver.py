"""BEAVER: questions and schemas as JSON, contents where they are at hand, as CSV or MySQL dumps.

`<db>/<TABLE>.csv` with the columns of the schema fills a table, or else the table of that name in
`<db>.sql`, which `mysqldump` wrote; a table that neither has stays empty, as many there do.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path

from dovetail.errors import DatasetError
from dovetail.ports import Json
from dovetail_bench.releases.dumps import Dump
from dovetail_bench.releases.opened import Opened, database_file, gold_tables
from dovetail_bench.releases.tables import Cells, write_database

_DIALECTS = ("mysql", "oracle")


def read(release: Opened, into: Path) -> tuple[list[Json], list[Json]]:
    """`dev_dw.json`, `dev_nw.json`, `dev_tables.json`, `dw_join_keys.json`, CSV files and dumps."""
    questions = [
        _question(f"{part}_{number}", part, row)
        for part in ("dw", "nw")
        for number, row in enumerate(release.rows(f"dev_{part}.json"))
    ]
    schemas: dict[str, dict[str, Sequence[str]]] = {}
    for schema in release.rows("dev_tables.json"):
        name, columns = schema["table_name_original"], schema["column_names_original"]
        schemas.setdefault(schema["db_id"], {})[name] = columns
    for database, tables in schemas.items():
        dumped = _dumped(release, database, tables)
        filled = {
            name: (columns, _contents(release, database, name, columns) or dumped.get(name, ()))
            for name, columns in tables.items()
        }
        write_database(database_file(into, database), filled)
    return questions, _keys(release.rows("dw_join_keys.json"))


def _question(question_id: str, part: str, row: Json) -> Json:
    sql = row.get("sql") or row.get("oracle_sql") or ""
    return {
        "question_id": question_id,
        "db_id": row["db_id"],
        "question": row["question"],
        "evidence": "",
        "difficulty": part,
        "sql": sql,
        "gold_tables": row.get("gold_tables") or gold_tables(sql, _DIALECTS),
    }


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


def _dumped(
    release: Opened, database: str, tables: Mapping[str, Sequence[str]]
) -> dict[str, Cells]:
    """The tables of a database that its dump has, if it has one."""
    found: dict[str, Cells] = {}
    for file in release.matching(f"{database}.sql")[:1]:
        dump = Dump(file)
        for name, columns in tables.items():
            if table := dump.tables.get(name.casefold()):
                found[name] = table.of(columns)
        if not found:
            raise DatasetError(f"{file.name} has none of the {len(tables)} tables of {database}")
    return found


def _keys(pairs: Sequence[Sequence[str]]) -> list[Json]:
    found: dict[frozenset[str], Json] = {}
    for child, parent in pairs:
        (table, column), (ref_table, ref_column) = child.split(".", 1), parent.split(".", 1)
        found.setdefault(
            frozenset((child, parent)),
            {
                "db_id": "dw",
                "table": table,
                "column": column,
                "ref_table": ref_table,
                "ref_column": ref_column,
            },
        )
    return list(found.values())
