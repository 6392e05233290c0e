"""Questions about rows, answered by the workers of an engine: they read the tables again.

What a worker cannot read, since its node does not reach the source or lacks the credentials for it,
is read in this process.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from dovetail.catalog.reader import CatalogReader
from dovetail.catalog.records import numbers
from dovetail.joins.distributed.distributed_columns import ValuePasses
from dovetail.joins.keys.row_checks import ChecksHere
from dovetail.joins.row_hashes import RowReader
from dovetail.ports import Json

# Cells that a job reads, about, and what a question costs besides, in cells. Both depend on the
# catalog alone, as does below how many cells everything is read here.
_CELLS, _EACH, _FEW = 1 << 22, 1 << 13, 1 << 20


class DistributedRows:
    """Has workers answer questions about rows; `rows` reads those that they cannot."""

    def __init__(self, catalog: CatalogReader, rows: RowReader, passes: ValuePasses) -> None:
        tables = catalog.records.tables
        sizes: list[int] = (numbers(tables["rows"]) * numbers(tables["columns"])).tolist()
        names = zip(tables["source"].to_pylist(), tables["name"].to_pylist(), strict=True)
        self._cells: dict[tuple[str, str], int] = dict(zip(names, sizes, strict=True))
        self._rows, self._passes = rows, passes

    def ask(self, check: str, questions: Sequence[Json]) -> list[Any]:
        """What a check, by its name, says to each of some questions, in their order."""
        asked = list(self._jobs(questions))
        if len(asked) < 2 and sum(map(self._weight, questions)) < _FEW:
            return ChecksHere(self._rows).ask(check, questions)
        jobs = [{"check": check, "questions": some} for some in asked]
        done = self._passes.mapped("check_rows", jobs, {}, here=self._here)
        return [answer for each in done for answer in each.result["answers"]]

    def _here(self, job: Json, folder: Path) -> Json:
        del folder
        return {"answers": ChecksHere(self._rows).ask(job["check"], job["questions"])}

    def _jobs(self, questions: Sequence[Json]) -> Iterator[list[Json]]:
        """Questions in jobs of about equal work: a table is read once for a job."""
        job: list[Json] = []
        tables: set[tuple[str, str]] = set()
        weight = 0
        for question in questions:
            new = set(_tables(question)) - tables
            more = _EACH + sum(self._cells[table] for table in new)
            if job and weight + more > _CELLS:
                yield job
                job, tables, weight = [], set(), 0
                new = set(_tables(question))
                more = _EACH + sum(self._cells[table] for table in new)
            job.append(question)
            tables |= new
            weight += more
        if job:
            yield job

    def _weight(self, question: Json) -> int:
        return _EACH + sum(self._cells[table] for table in _tables(question))


def _tables(question: Json) -> list[tuple[str, str]]:
    """The tables that a question is about."""
    named = (question[name] for name in ("child", "parent", "table") if name in question)
    return [(source, name) for source, name in named]
