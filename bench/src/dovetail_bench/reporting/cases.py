"""Example questions, picked by rule: a success, a soft failure and a failure of each run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from dovetail.domain import TableId
from dovetail_bench.measures import Score, score
from dovetail_bench.reporting.scored_run import ScoredRun
from dovetail_bench.reporting.stages import Steps, steps_of
from dovetail_bench.reporting.tabular import Column, Row, Table, cells

_COLUMNS = (
    Column("case"), Column("system"), Column("question"), Column("gold"), Column("before"),
    Column("after"), Column("F1 before"), Column("F1 after"),
)  # fmt: skip
Kind = Callable[[Steps], bool]


def cases(measured: Sequence[ScoredRun], reference: ScoredRun) -> Table:
    """For runs with stages, what adjustment mends and spoils; else what the reference run misses.

    Of all questions of a kind the one is shown whose F1 changes most, or that has most gold tables.
    """
    rows: list[Row] = []
    for one in measured:
        if steps := steps_of(one):
            rows += _adjusted(one, steps)
    note = (
        "A success gets back all gold tables that selection dropped, a soft failure some of them, "
        "a failure adds tables and gets back none. Before and after: adjustment."
    )
    if not rows:
        rows = _found(reference)
        note = (
            "No run has stages. A success finds exactly the gold tables, a soft failure some of "
            "them, a failure none; shown is the question of each kind with most gold tables."
        )
    return Table("cases", "Cases", _COLUMNS, tuple(rows), note=note)


def _adjusted(one: ScoredRun, steps: Sequence[Steps]) -> list[Row]:
    def lost(each: Steps) -> set[TableId]:
        return each.dropped(each.question.gold)

    def back(each: Steps) -> set[TableId]:
        return lost(each) & set(each.adjust)

    kinds: dict[str, Kind] = {
        "success": lambda each: bool(lost(each)) and back(each) == lost(each),
        "soft failure": lambda each: bool(back(each)) and back(each) != lost(each),
        "failure": lambda each: len(each.adjust) > len(each.select) and not back(each),
    }
    rows: list[Row] = []
    for name, fits in kinds.items():
        chosen = max(
            (each for each in steps if fits(each)),
            key=lambda each: (
                abs(_f1(each, each.adjust) - _f1(each, each.select)),
                each.question.id,
            ),
            default=None,
        )
        if chosen:
            rows.append(
                Row(
                    cells(
                        name, one.label, chosen.question.text, _names(chosen.question.gold),
                        _names(chosen.select), _names(chosen.adjust),
                        100 * _f1(chosen, chosen.select), 100 * _f1(chosen, chosen.adjust),
                    ),
                    runs=(one.number,),
                )
            )  # fmt: skip
    return rows


def _found(one: ScoredRun) -> list[Row]:
    kinds: dict[str, Callable[[Score], bool]] = {
        "success": lambda each: each.f1 == 1,
        "soft failure": lambda each: 0 < each.recall < 1,
        "failure": lambda each: each.recall == 0,
    }
    rows: list[Row] = []
    for name, fits in kinds.items():
        fitting = [question for question in one.questions if fits(one.scores[question.id])]
        chosen = max(fitting, key=lambda question: (len(question.gold), question.id), default=None)
        if chosen:
            found = [table.id for table in one.records[chosen.id].tables]
            rows.append(
                Row(
                    cells(
                        name, one.label, chosen.text, _names(chosen.gold), None, _names(found),
                        None, 100 * one.scores[chosen.id].f1,
                    ),
                    runs=(one.number,),
                )
            )  # fmt: skip
    return rows


def _f1(each: Steps, tables: Sequence[TableId]) -> float:
    return score(tables, each.question.gold).f1


def _names(tables: Iterable[TableId]) -> str:
    return ", ".join(map(str, tables))
