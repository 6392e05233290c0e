"""The BEIR form of a dataset: `corpus.jsonl`, `queries.jsonl` and `qrels/test.tsv`.

A document is a table: its id is `source::name`, its text the header and the sampled rows. Written
for retrievers that know nothing of tables; read back, the questions are over a catalog.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from dovetail.domain import Table
from dovetail.errors import DatasetError, NotFoundError
from dovetail.ports import Json
from dovetail_bench.questions import Question

CORPUS, QUERIES, QRELS = "corpus.jsonl", "queries.jsonl", "qrels/test.tsv"
_HEADER = ["query-id", "corpus-id", "score"]


def write_beir(folder: Path, tables: Iterable[Table], questions: Sequence[Question]) -> None:
    """Write tables and questions in the form of BEIR."""
    (folder / QRELS).parent.mkdir(parents=True, exist_ok=True)
    _write_lines(folder / CORPUS, (_document(table) for table in tables))
    _write_lines(
        folder / QUERIES,
        ({"_id": q.id, "text": q.text, "metadata": {"sql": q.sql}} for q in questions),
    )
    with (folder / QRELS).open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter="\t", lineterminator="\n")
        writer.writerow(_HEADER)
        writer.writerows((q.id, str(table), 1) for q in questions for table in q.gold)


def read_rows(folder: Path) -> list[Json]:
    """The questions of a BEIR folder, in the form of a `questions.json`.

    As in BEIR, a query without judgements is left out.
    """
    gold: dict[str, list[str]] = {}
    for query, document in _judged(folder / QRELS):
        gold.setdefault(query, []).append(document)
    queries = _read_lines(folder / QUERIES)
    if unknown := sorted(set(gold) - {str(query["_id"]) for query in queries}):
        raise DatasetError(f"{folder / QRELS} judges queries that are not there: {unknown[0]}")
    return [
        {
            "question_id": query["_id"],
            "question": query["text"],
            "sql": (query.get("metadata") or {}).get("sql", ""),
            "gold_tables": gold[str(query["_id"])],
        }
        for query in queries
        if str(query["_id"]) in gold
    ]


def _document(table: Table) -> Json:
    lines = [", ".join(column.name for column in table.columns)]
    lines += [", ".join(cell or "" for cell in row) for row in table.sample]
    return {"_id": str(table.id), "title": table.name, "text": "\n".join(lines), "metadata": {}}


def _judged(file: Path) -> list[tuple[str, str]]:
    if not file.is_file():
        raise NotFoundError(f"{file.parent.parent} is no BEIR dataset: it has no {QRELS}")
    with file.open(encoding="utf-8", newline="") as stream:
        header, *rows = csv.reader(stream, delimiter="\t")
    if header != _HEADER or any(len(row) != len(_HEADER) for row in rows):
        raise DatasetError(f"{file} must have the columns {', '.join(_HEADER)}, tab-separated")
    return [(query, document) for query, document, score in rows if int(score) > 0]


def _write_lines(file: Path, documents: Iterable[Json]) -> None:
    with file.open("w", encoding="utf-8", newline="\n") as stream:
        stream.writelines(json.dumps(each, ensure_ascii=False) + "\n" for each in documents)


def _read_lines(file: Path) -> list[Json]:
    lines = file.read_text("utf-8").splitlines()
    try:
        return [json.loads(line) for line in lines if line.strip()]
    except json.JSONDecodeError as error:
        raise DatasetError(f"{file} is no JSONL: {error}") from None
