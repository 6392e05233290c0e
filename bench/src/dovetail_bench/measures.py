"""The measures, as functions over plain numbers; the tests check them against values by hand."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dovetail.domain import TableId
from dovetail_bench.directory import logical
from dovetail_bench.questions import Question, table_of
from dovetail_bench.run_file import Record

Pair = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Joinability:
    """How well scored table pairs agree with the declared ones (paper, appendix on compatibility).

    `accuracy`: share of pairs told right at a score above 0.5. `column_pair`: among declared pairs,
    share whose best column pair is a declared one. `mean_error`: mean |score - gold|. `auc`: chance
    that a declared pair scores above another one, ties half.
    """

    pairs: int
    gold: int
    accuracy: float
    column_pair: float
    mean_error: float
    precision: float
    recall: float
    f1: float
    auc: float


def joinability(
    scores: Mapping[Pair, float],
    best: Mapping[Pair, frozenset[frozenset[str]]],
    gold: Mapping[Pair, frozenset[frozenset[str]]],
    pairs: int,
) -> Joinability:
    """Measure scored pairs; those without a score count as 0.

    `best` holds the column pair a score stands for, `gold` the declared column pairs.
    """
    predicted = {pair for pair, score in scores.items() if score > 0.5}
    right = len(predicted & gold.keys())
    wrong = len(predicted) - right
    missed = len(gold) - right
    named = sum(bool(best.get(pair, frozenset()) & columns) for pair, columns in gold.items())
    error = sum(score for pair, score in scores.items() if pair not in gold)
    error += sum(1 - scores.get(pair, 0.0) for pair in gold)
    precision = right / len(predicted) if predicted else 0.0
    recall = right / len(gold) if gold else 0.0
    return Joinability(
        pairs=pairs,
        gold=len(gold),
        accuracy=1 - (wrong + missed) / pairs if pairs else 0.0,
        column_pair=named / len(gold) if gold else 0.0,
        mean_error=error / pairs if pairs else 0.0,
        precision=precision,
        recall=recall,
        f1=2 * precision * recall / (precision + recall) if right else 0.0,
        auc=area_under_curve(
            [scores.get(pair, 0.0) for pair in gold],
            [score for pair, score in scores.items() if pair not in gold],
            zeros=pairs - len(gold) - sum(pair not in gold for pair in scores),
        ),
    )


def area_under_curve(gold: Sequence[float], other: Sequence[float], *, zeros: int = 0) -> float:
    """The chance that one of `gold` exceeds one of `other` (and so many zeros), ties half.

    >>> area_under_curve([0.9, 0.0], [0.5], zeros=1)
    0.625
    """
    total = len(gold) * (len(other) + zeros)
    if not total:
        return 0.0
    ordered = np.sort(np.asarray(other, dtype=np.float64))
    mine = np.asarray(gold, dtype=np.float64)
    below = np.searchsorted(ordered, mine, side="left")
    not_above = np.searchsorted(ordered, mine, side="right")
    wins = float((below + not_above).sum()) / 2
    wins += zeros * float((mine > 0).sum() + 0.5 * (mine == 0).sum())
    return wins / total


@dataclass(frozen=True, slots=True)
class Score:
    """The score of one question: how the tables found agree with its gold tables.

    `perfect`: every gold table is among them.
    """

    precision: float
    recall: float
    f1: float
    perfect: bool
    tables: int


@dataclass(frozen=True, slots=True)
class Retrieval:
    """The means of the scores of many questions, each counting alike (a macro average)."""

    avg_tables: float
    p: float
    r: float
    f1: float
    pr: float


@dataclass(frozen=True, slots=True)
class Execution:
    """Execution accuracy, in shares.

    `ex_all` of all questions, `ex_mt` of those with two gold tables or more. `ex_pr` is the share
    of *all* questions that are both fully retrieved and right; `ex_given_pr` the share of right
    ones among the fully retrieved.
    """

    ex_all: float
    ex_mt: float
    ex_pr: float
    ex_given_pr: float


def score(found: Collection[Hashable], gold: Collection[Hashable]) -> Score:
    """Score the tables found for a question against its gold tables.

    Where no table is gold, finding none is right, and finding any is wrong.

    >>> score(["a", "b", "c"], ["a", "d"])
    Score(precision=0.3333333333333333, recall=0.5, f1=0.4, perfect=False, tables=3)
    """
    if not gold:
        right_not_to = float(not found)
        return Score(right_not_to, right_not_to, right_not_to, not found, len(found))
    right = len(set(found) & set(gold))
    precision = right / len(set(found)) if found else 0.0
    recall = right / len(set(gold))
    f1 = 2 * precision * recall / (precision + recall) if right else 0.0
    return Score(precision, recall, f1, right == len(set(gold)), len(found))


def retrieval(scores: Sequence[Score]) -> Retrieval:
    """Average the scores of questions."""
    return Retrieval(
        avg_tables=_mean([each.tables for each in scores]),
        p=_mean([each.precision for each in scores]),
        r=_mean([each.recall for each in scores]),
        f1=_mean([each.f1 for each in scores]),
        pr=_mean([each.perfect for each in scores]),
    )


def execution(
    right: Sequence[bool], multiple: Sequence[bool], perfect: Sequence[bool]
) -> Execution:
    """Accuracy of answers: right or not, with several gold tables or not, all retrieved or not."""
    rows = list(zip(right, multiple, perfect, strict=True))
    return Execution(
        ex_all=_mean([good for good, _, _ in rows]),
        ex_mt=_mean([good for good, several, _ in rows if several]),
        ex_pr=_mean([good and full for good, _, full in rows]),
        ex_given_pr=_mean([good for good, _, full in rows if full]),
    )


def _mean(values: Iterable[float]) -> float:
    listed = list(values)
    return sum(listed) / len(listed) if listed else 0.0


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
