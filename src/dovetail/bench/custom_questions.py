"""Custom questions over any catalog: a CSV or JSONL file with `question` and `sql` or `tables`.

Further columns are `id` (else questions are numbered), `evidence` and `difficulty`. Tables are
names, or `source::name` where several sources have one; in a CSV they stand between semicolons.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path

from dovetail.errors import DatasetError, UsageError
from dovetail.ports import Json


def read_rows(path: Path) -> list[Json]:
    """The questions of a file, in the form of a `questions.json`."""
    readers = {".csv": _csv, ".jsonl": _jsonl}
    if path.suffix.lower() not in readers:
        raise UsageError(f"{path} holds no questions: give a .csv or .jsonl file, or a folder")
    try:
        rows = [row for row in readers[path.suffix.lower()](path) if any(row.values())]
    except (UnicodeDecodeError, csv.Error) as error:
        raise DatasetError(f"{path} cannot be read: {error}; save it as UTF-8") from None
    have = {name for row in rows for name in row}
    if "question" not in have or not have & {"sql", "tables"}:
        raise DatasetError(f"{path} needs the columns question, and sql or tables")
    return [
        {
            **{name: value for name, value in row.items() if name not in ("id", "tables")},
            "question_id": row.get("id") or number,
            "gold_tables": row.get("tables") or [],
        }
        for number, row in enumerate(rows, start=1)
    ]


def _csv(path: Path) -> Iterator[Json]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        for row in csv.DictReader(file):
            named: Json = {name: value for name, value in row.items() if name}
            if "tables" in named:
                tables = [name.strip() for name in (named["tables"] or "").split(";")]
                named["tables"] = [name for name in tables if name]
            yield named


def _jsonl(path: Path) -> Iterator[Json]:
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except json.JSONDecodeError as error:
                raise DatasetError(f"{path}, line {number}, is no JSON: {error}") from None
            if not isinstance(row, dict) or not isinstance(row.get("tables", []), list):
                raise DatasetError(f"{path}, line {number}, is no object with a list of tables")
            yield row
