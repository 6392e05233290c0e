"""Keeps the questions of a run with their gold beside it, so that it can be scored anywhere."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

from dovetail.atomic import replace_file
from dovetail.domain import TableId
from dovetail.errors import NotFoundError
from dovetail_bench.errors import DatasetError
from dovetail_bench.questions import Question, table_of

SUFFIX = ".questions.jsonl"
# Sets of tables that few questions have; left out of a line where there is none.
_SETS = ("alternative_gold", "families")


def questions_beside(folder: Path, dataset: str, digest: str) -> Path:
    """The file of the questions that runs of a dataset name by their digest."""
    return folder / f"{re.sub(r'[^A-Za-z0-9_-]+', '_', dataset)}.{digest}{SUFFIX}"


def write_questions(folder: Path, dataset: str, digest: str, questions: Sequence[Question]) -> None:
    """Write the questions beside their runs; gold that was corrected replaces what is there."""
    rows = (
        {
            "id": question.id,
            "text": question.text,
            "gold": [str(table) for table in question.gold],
            "difficulty": question.difficulty,
            **{name: _names(sets) for name in _SETS if (sets := getattr(question, name))},
        }
        for question in questions
    )
    content = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()
    file = questions_beside(folder, dataset, digest)
    if file.is_file() and file.read_bytes() == content:
        return
    folder.mkdir(parents=True, exist_ok=True)
    replace_file(file, content)


def read_questions_beside(run: Path, dataset: str, digest: str) -> tuple[Question, ...]:
    """The questions of a run, from the file beside it."""
    file = questions_beside(run.parent, dataset, digest)
    if not file.is_file():
        raise NotFoundError(
            f"{run} cannot be scored: its questions are not beside it in {file.name}; "
            "repeat its dovetail bench retrieval, which writes them and asks nothing twice"
        )
    try:
        rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
        return tuple(
            Question(
                id=row["id"],
                text=row["text"],
                gold=tuple(table_of(name, "") for name in row["gold"]),
                difficulty=row["difficulty"],
                alternative_gold=_tables(row.get("alternative_gold", ())),
                families=_tables(row.get("families", ())),
            )
            for row in rows
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DatasetError(f"{file} does not read: {error}; remove it and repeat the run") from None


def _names(sets: Sequence[Sequence[TableId]]) -> list[list[str]]:
    return [[str(table) for table in tables] for tables in sets]


def _tables(sets: Sequence[Sequence[str]]) -> tuple[tuple[TableId, ...], ...]:
    return tuple(tuple(table_of(name, "") for name in names) for names in sets)
