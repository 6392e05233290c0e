"""Tables of execution accuracy, from runs of `dovetail bench sql`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from statistics import mean

from dovetail_bench.measures import execution
from dovetail_bench.reporting.comparison import PAIRED, paired_row
from dovetail_bench.reporting.published import published_rows
from dovetail_bench.reporting.scored_run import ScoredRun
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
        Column("EX", HIGH), Column("EX perfect", HIGH), Column("EX given perfect", HIGH),
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
                    100 * shares.ex_pr, 100 * shares.ex_given_pr,
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
        note="EX perfect is the share of all questions that are both fully retrieved and right.",
    )


def paired_execution(measured: Sequence[ScoredRun]) -> Table:
    """The difference in EX between the best run and every other, by exact McNemar.

    The gold tables themselves are an upper bound, and no run to compare with.
    """
    name, title = "paired-execution", "Paired execution accuracy"
    right = [
        (one, {question: float(not error) for question, error in found.items()})
        for one, found in answered(measured)
        if one.retriever != ORACLE
    ]
    if len(right) < 2:
        return empty(name, title, f"{_NEEDED} At least two, without the oracle.")
    best = max(right, key=lambda run: mean(run[1].values()))
    rows = [paired_row(best, other, mcnemar) for other in right if other is not best]
    columns = (*PAIRED[:2], Column("ΔEX"), *PAIRED[3:])
    note = "p is of the exact McNemar test."
    return Table(name, title, columns, tuple(row for row in rows if row), note=note)


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
