"""Statistics of a dataset, those of the paper's table of datasets, and what is wrong with it."""

from __future__ import annotations

from dataclasses import dataclass

from dovetail.offline.summary import ProgressCallback
from dovetail.settings import Settings
from dovetail_bench.datasets import Dataset, database_of
from dovetail_bench.questions import Problem, disagreements


@dataclass(frozen=True, slots=True)
class DatasetStats:
    """Counts, and means per table and question.

    `multi_table` is the share of questions with two gold tables or more, `empty_gold` that of those
    whose gold SQL returns no rows, None where the dataset does not say. `problems` are questions
    that cannot be scored, `disagreements` those whose SQL reads other tables than the given gold.
    """

    dataset: str
    databases: int
    tables: int
    empty_tables: int
    rows_per_table: float
    columns_per_table: float
    questions: int
    multi_table: float
    empty_gold: float | None
    gold_per_question: float
    problems: tuple[Problem, ...]
    disagreements: tuple[Problem, ...]


def dataset_stats(
    dataset: Dataset, settings: Settings | None = None, on_progress: ProgressCallback | None = None
) -> DatasetStats:
    """Count the tables and questions of a dataset over its pooled catalog."""
    tables = list(dataset.catalog(settings, on_progress, search=False))
    asked = dataset.question_set().over(table.id for table in tables)
    questions = asked.questions
    sizes = [len(question.gold) for question in questions]
    known = [q.extra["exec_status"] for q in questions if "exec_status" in q.extra]
    return DatasetStats(
        dataset=dataset.name,
        databases=len({database_of(table.id) for table in tables}),
        tables=len(tables),
        empty_tables=sum(not table.rows for table in tables),
        rows_per_table=_share(sum(table.rows for table in tables), len(tables)),
        columns_per_table=_share(sum(len(table.columns) for table in tables), len(tables)),
        questions=len(questions),
        multi_table=_share(sum(size >= 2 for size in sizes), len(sizes)),
        empty_gold=_share(known.count("empty"), len(known)) if known else None,
        gold_per_question=_share(sum(sizes), len(sizes)),
        problems=asked.problems,
        disagreements=tuple(disagreements(questions, dataset.dialects)),
    )


def _share(part: float, whole: int) -> float:
    return round(part / whole, 4) if whole else 0.0
