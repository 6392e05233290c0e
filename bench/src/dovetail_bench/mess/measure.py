"""How `ask` and joins do on made companies, with default settings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

import dovetail
from dovetail.components import Components
from dovetail.domain import JoinEdge, TableId
from dovetail_bench.datasets import Dataset, ForeignKey, open_dataset
from dovetail_bench.directory import logical
from dovetail_bench.measures import Score, score
from dovetail_bench.mess.company import Database, company

Column = tuple[TableId, str]


@dataclass(frozen=True, slots=True)
class Measured:
    """What is measured over companies: means over all of their questions, joins by their number.

    `refused_wrongly` and `refused` are shares of the questions that can be answered and that
    cannot.
    """

    companies: int
    tables: float
    questions: int
    f1: float
    perfect: float
    all_found: float
    refused_wrongly: float
    refused: float
    join_precision: float
    join_recall: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one company gives: its sets, what is refused, and its joins, found, right and true."""

    tables: int
    scores: Sequence[Score]
    refused: Sequence[bool]
    found: int
    right: int
    recalled: int
    true: int


def made(databases: Sequence[Database], seed: int, styles: str, into: Path) -> Dataset:
    """The company of a seed as a corpus in a folder, which is written where it is not there."""
    folder = into / f"{styles}-{seed}"
    if not folder.is_dir():
        company(databases, seed, styles).write(folder)
    return open_dataset(folder)


def outcome(corpus: Dataset) -> Outcome:
    """Index a company, and ask all of its questions."""
    read = corpus.catalog()
    questions = corpus.question_set().over(read.ids, corpus.families())
    questions.refuse_bad(corpus.name)
    scores, refused = [], []
    with dovetail.open(read.folder) as catalog:
        for question in questions.questions:
            tables = logical(catalog.ask(question.text).ids, question.families)
            if question.gold:
                scores.append(score(tables, logical(question.gold, question.families)))
            else:
                refused.append(not tables)
        joins = _joins(catalog.joins(), corpus.foreign_keys())
    return Outcome(len(read.ids), scores, refused, *joins)


def _joins(edges: Iterable[JoinEdge], keys: Sequence[ForeignKey]) -> tuple[int, int, int, int]:
    """Edges above 0.5 between tables that have keys, those that are right, and keys found, of all.

    Right is an edge between columns that refer to one another, directly or through others.
    """
    true = [
        (
            (TableId(key.database, key.table), key.column),
            (TableId(key.ref_database, key.ref_table), key.ref_column),
        )
        for key in keys
    ]
    group_of: dict[Column, int] = {}
    columns = dict.fromkeys(side for pair in true for side in pair)
    for number, group in enumerate(Components(columns, true).groups()):
        group_of |= dict.fromkeys(group, number)
    tables = {table for table, _ in group_of}
    found: dict[frozenset[Column], bool] = {}
    for edge in edges:
        if edge.score <= 0.5 or not {edge.left, edge.right} <= tables or edge.left == edge.right:
            continue
        for left, right in edge.columns:
            sides = ((edge.left, left), (edge.right, right))
            groups = {group_of.get(side, -1 - at) for at, side in enumerate(sides)}
            found[frozenset(sides)] = len(groups) == 1
    recalled = sum(found.get(frozenset(pair), False) for pair in true)
    return len(found), sum(found.values()), recalled, len(true)


def measured(outcomes: Sequence[Outcome]) -> Measured:
    """The measures over some companies."""
    scores = [one for each in outcomes for one in each.scores]
    refused = [one for each in outcomes for one in each.refused]
    return Measured(
        companies=len(outcomes),
        tables=round(mean(each.tables for each in outcomes), 1),
        questions=len(scores) + len(refused),
        f1=round(mean(one.f1 for one in scores), 4),
        perfect=round(mean(one.f1 == 1 for one in scores), 4),
        all_found=round(mean(one.perfect for one in scores), 4),
        refused_wrongly=round(mean(one.tables == 0 for one in scores), 4),
        refused=round(mean(refused), 4) if refused else 0.0,
        join_precision=_share(outcomes, "right", "found"),
        join_recall=_share(outcomes, "recalled", "true"),
    )


def _share(outcomes: Sequence[Outcome], part: str, whole: str) -> float:
    counted, total = (sum(int(getattr(each, name)) for each in outcomes) for name in (part, whole))
    return round(counted / max(total, 1), 4)
