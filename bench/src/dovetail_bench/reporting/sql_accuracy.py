"""Tables of execution accuracy, from runs of `dovetail bench sql`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from statistics import mean

from dovetail_bench.measures import execution
from dovetail_bench.reporting.comparison import PAIRED, Values, paired_row, strata_table
from dovetail_bench.reporting.published import published_rows
from dovetail_bench.reporting.scored_run import ScoredRun
from dovetail_bench.reporting.selection import COSTS, cost, interval_text
from dovetail_bench.reporting.tabular import HIGH, Column, Row, Table, cells, empty
from dovetail_bench.run_key import ORACLE
from dovetail_bench.sql_answer import NO_GOLD
from dovetail_bench.stats import mcnemar

_NEEDED = "It needs runs with SQL: records whose `written` says what came of it."


def answers(one: ScoredRun) -> dict[str, str]:
    """By question the class of what went wrong with its SQL, empty where it is right.

    Questions without a gold result are left out.
    """
    written = {name: record.written for name, record in one.records.items()}
    return {name: each.error for name, each in written.items() if each and each.error != NO_GOLD}


def answered(measured: Sequence[ScoredRun]) -> list[tuple[ScoredRun, dict[str, str]]]:
    """The runs that went on to SQL, each with its answers."""
    known = {one.number: answers(one) for one in measured}
    return [(one, known[one.number]) for one in measured if known[one.number]]


def execution_accuracy(measured: Sequence[ScoredRun]) -> Table:
    """EX over all questions, over those with several gold tables, and of those fully retrieved."""
    name, title = "execution", "Execution accuracy"
    runs = answered(measured)
    if not runs:
        return empty(name, title, _NEEDED)
    columns = (
        Column("system"), Column("model"), Column("questions"), Column("EX multi-table", HIGH),
        Column("EX", HIGH), Column("EX 95%"), Column("EX perfect", HIGH),
        Column("EX given perfect", HIGH), *COSTS,
    )  # fmt: skip
    rows: list[Row] = []
    for one, found in runs:
        sizes = {question.id: len(question.gold) for question in one.questions}
        shares = execution(
            right=[not error for error in found.values()],
            multiple=[sizes[question] > 1 for question in found],
            perfect=[one.scores[question].perfect for question in found],
        )
        rows.append(
            Row(
                cells(
                    one.label, _model(one), len(found), 100 * shares.ex_mt, 100 * shares.ex_all,
                    interval_text([float(not error) for error in found.values()]),
                    100 * shares.ex_pr, 100 * shares.ex_given_pr,
                    *cost([one.records[question] for question in found]),
                ),
                runs=(one.number,),
            )
        )  # fmt: skip
    taken = published_rows(name, measured[0].dataset, columns)
    return Table(
        name,
        title,
        columns,
        (*rows, *taken),
        note="EX perfect is the share of all questions that are both fully retrieved and right. "
        "Calls and tokens are means per question, of the sets and of the SQL together.",
    )


def paired_execution(measured: Sequence[ScoredRun], against: str = "") -> Table:
    """The difference in EX between a run and every other, by exact McNemar."""
    name, title = "paired-execution", "Paired execution accuracy"
    runs, place = _compared(measured, against)
    if len(runs) < 2:
        return empty(name, title, f"{_NEEDED} At least two, without the oracle.")
    rows = [paired_row(runs[place], other, mcnemar) for other in runs if other is not runs[place]]
    columns = (*PAIRED[:2], Column("ΔEX"), *PAIRED[3:])
    note = "p is of the exact McNemar test."
    return Table(name, title, columns, tuple(row for row in rows if row), note=note)


def execution_strata(measured: Sequence[ScoredRun], against: str = "") -> Table:
    """EX by difficulty and by number of gold tables, tested against a run in each."""
    runs, place = _compared(measured, against)
    if len(runs) < 2:
        return empty("execution-strata", "EX by difficulty", f"{_NEEDED} At least two.")
    return strata_table("execution-strata", "EX", runs, place, mcnemar)


def _compared(measured: Sequence[ScoredRun], against: str) -> tuple[list[Values], int]:
    """What every run answered right, and the place of the one that others are held against.

    It is the run of that label or retriever, else the best. The gold tables themselves are an
    upper bound, and no run to compare with.
    """
    right: list[Values] = [
        (one, {question: float(not error) for question, error in found.items()})
        for one, found in answered(measured)
        if one.retriever != ORACLE
    ]
    named = [at for at, (one, _) in enumerate(right) if against in (one.label, one.retriever)]
    best = max(range(len(right)), key=lambda at: mean(right[at][1].values()), default=0)
    return right, named[0] if named else best


def answer_errors(measured: Sequence[ScoredRun]) -> Table:
    """What goes wrong with the SQL of each run, by class."""
    name, title = "answer-errors", "Error classes of SQL"
    runs = answered(measured)
    if not runs:
        return empty(name, title, _NEEDED)
    classes = sorted({error for _, found in runs for error in found.values() if error})
    columns = (Column("system"), Column("right", HIGH), *(Column(error) for error in classes))
    rows: list[Row] = []
    for one, found in runs:
        counts = Counter(found.values())
        values = [100 * counts[error] / len(found) for error in ("", *classes)]
        rows.append(Row(cells(one.label, *values), runs=(one.number,)))
    return Table(name, title, columns, tuple(rows), note="In percent of the questions answered.")


def _model(one: ScoredRun) -> str:
    return str(one.settings.get("sql_model") or one.settings.get("llm") or "")
