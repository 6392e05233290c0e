"""Custom questions over any catalog: a CSV, JSON or JSONL file.

It has `question`, and `sql` or `tables`. Further columns are `id` (else questions are numbered),
`evidence` and `difficulty`. Tables are names, or `source::name` where several sources have one; in
a CSV they stand between semicolons. In JSON an empty list of tables says that nothing answers the
question, and `alternatives` lists other sets of tables that answer it too. A `families.json` beside
the file names tables that are one.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path

from dovetail.errors import UsageError
from dovetail.ports import Json
from dovetail_bench.datasets import read_json
from dovetail_bench.errors import DatasetError

# Columns that a question of a dataset has under another name.
_RENAMED = ("id", "tables", "alternatives")
# Short names that columns may have as well.
_SHORT = {"q": "question", "g": "tables", "alt": "alternatives", "k": "difficulty"}


def read_rows(path: Path) -> list[Json]:
    """The questions of a file, in the form of a `questions.json`."""
    readers = {".csv": _csv, ".json": _json, ".jsonl": _jsonl}
    if path.suffix.lower() not in readers:
        raise UsageError(
            f"{path} holds no questions: give a .csv, .json or .jsonl file, or a folder"
        )
    try:
        rows = [row for row in readers[path.suffix.lower()](path) if any(row.values())]
    except (UnicodeDecodeError, csv.Error) as error:
        raise DatasetError(f"{path} cannot be read: {error}; save it as UTF-8") from None
    rows = [{_SHORT.get(name, name): value for name, value in row.items()} for row in rows]
    have = {name for row in rows for name in row}
    if "question" not in have or not have & {"sql", "tables"}:
        raise DatasetError(f"{path} needs the columns question, and sql or tables")
    return [
        {
            **{name: value for name, value in row.items() if name not in _RENAMED},
            "question_id": row.get("id") or number,
            "gold_tables": row.get("tables"),
            "alternative_gold": row.get("alternatives"),
        }
        for number, row in enumerate(rows, start=1)
    ]


def _csv(path: Path) -> Iterator[Json]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        for row in csv.DictReader(file):
            named: Json = {name: value for name, value in row.items() if name}
            if "tables" in named:
                tables = [name.strip() for name in (named["tables"] or "").split(";")]
                named["tables"] = [name for name in tables if name] or None
            yield named


def _json(path: Path) -> Iterator[Json]:
    for number, row in enumerate(read_json(path), start=1):
        yield _checked(row, f"{path}, entry {number},")


def _jsonl(path: Path) -> Iterator[Json]:
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except json.JSONDecodeError as error:
                raise DatasetError(f"{path}, line {number}, is no JSON: {error}") from None
            yield _checked(row, f"{path}, line {number},")


def _checked(row: object, where: str) -> Json:
    if not isinstance(row, dict) or not isinstance(row.get("tables", []), list):
        raise DatasetError(f"{where} is no object with a list of tables")
    return row
