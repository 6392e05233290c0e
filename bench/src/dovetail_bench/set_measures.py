"""Scores records question by question: logical tables, other sets that are right, refusals."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from dovetail.domain import TableId
from dovetail_bench.directory import logical
from dovetail_bench.measures import Score, score
from dovetail_bench.questions import Question, table_of
from dovetail_bench.run_file import Record


@dataclass(frozen=True, slots=True)
class SetMeasures:
    """What is measured of sets beside precision and recall, in shares of the questions.

    `exact`: the set is the gold set. `lenient_f1` and `lenient_exact`: the same against the nearest
    of all sets that the dataset accepts. `exact_any`, `pr_any`: the set or one of the alternatives
    offered with it is the gold set, holds it. `abstained`: no table was found, of the
    `unanswerable` questions; None without any. `refused`: none was found, of the others.
    """

    exact: float
    lenient_f1: float
    lenient_exact: float
    exact_any: float
    pr_any: float
    unanswerable: int
    abstained: float | None
    refused: float


def score_of(question: Question, record: Record) -> Score:
    """Score a record by logical tables: the members of a wanted family count once."""
    scored = _score(question, record.ids, question.gold)
    return Score(scored.precision, scored.recall, scored.f1, scored.perfect, len(record.ids))


def set_measures(questions: Sequence[Question], records: Sequence[Record]) -> SetMeasures:
    """Measure the records of some questions, in the same order."""
    pairs = list(zip(questions, records, strict=True))
    accepted = [
        [_score(one, record.ids, gold) for gold in (one.gold, *one.alternative_gold)]
        for one, record in pairs
    ]
    offered = [
        [_score(one, found, one.gold) for found in (record.ids, *_alternatives(record))]
        for one, record in pairs
    ]
    empty = [not record.tables for one, record in pairs if one.answerable]
    abstained = [not record.tables for one, record in pairs if not one.answerable]
    return SetMeasures(
        exact=_mean(_exact(scores[0]) for scores in accepted),
        lenient_f1=_mean(max(each.f1 for each in scores) for scores in accepted),
        lenient_exact=_mean(any(map(_exact, scores)) for scores in accepted),
        exact_any=_mean(any(map(_exact, scores)) for scores in offered),
        pr_any=_mean(any(each.perfect for each in scores) for scores in offered),
        unanswerable=len(abstained),
        abstained=_mean(abstained) if abstained else None,
        refused=_mean(empty),
    )


def _score(question: Question, found: Iterable[TableId], gold: Collection[TableId]) -> Score:
    families = question.families
    return score(logical(found, families), logical(gold, families))


def _exact(scored: Score) -> bool:
    return scored.f1 == 1.0


def _alternatives(record: Record) -> list[list[TableId]]:
    return [[table_of(name, "") for name in tables] for tables in record.alternatives]


def _mean(values: Iterable[float]) -> float:
    listed = list(values)
    return fmean(listed) if listed else 0.0
