"""Tables of execution accuracy, from runs of `dovetail bench sql`."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence

from dovetail_bench.measures import execution
from dovetail_bench.reporting.comparison import LEVEL, reference
from dovetail_bench.reporting.published import published_rows
from dovetail_bench.reporting.scored_run import ScoredRun, shared
from dovetail_bench.reporting.tabular import HIGH, Column, Row, Table, cells, empty
from dovetail_bench.stats import mcnemar

_NEEDED = "It needs runs with SQL: records whose `written` says what came of it."
# Hands over the gold tables: an upper bound, never the reference.
_ORACLE = "oracle"
# The class of questions whose gold SQL does not run: nothing can be held against it.
_NO_GOLD = "gold"


def answers(one: ScoredRun) -> dict[str, str]:
    """By question the class of what went wrong with its SQL, empty where it is right.

    Questions without a gold result are left out.
    """
    found: dict[str, str] = {}
    for line in one.run.path.read_bytes().splitlines()[1:]:
        row = json.loads(line) if line.endswith(b"}") else {}
        written = row.get("written")
        if written is None or written["error"] == _NO_GOLD:
            continue
        if str(row["question"]) in one.scores:
            found[str(row["question"])] = str(written["error"])
    return found


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


def paired_execution(measured: Sequence[ScoredRun], label: str = "") -> Table:
    """The difference in EX between the reference and every other run, by exact McNemar."""
    name, title = "paired-execution", "Paired execution accuracy"
    runs = [(one, found) for one, found in answered(measured) if one.retriever != _ORACLE]
    if len(runs) < 2:
        return empty(name, title, f"{_NEEDED} At least two, without the oracle.")
    known = {one.number: found for one, found in runs}
    if label:
        best = reference([one for one, _ in runs], label)
    else:
        best, _ = max(
            runs, key=lambda run: sum(not error for error in run[1].values()) / len(run[1])
        )
    columns = (
        Column("pair"), Column("questions"), Column("ΔEX"), Column("won"), Column("lost"),
        Column("p", digits=4), Column("winner"),
    )  # fmt: skip
    rows: list[Row] = []
    for other, found in runs:
        both = found.keys() & known[best.number].keys()
        names = [each for each in shared(best, other) if each in both]
        if other is best or not names:
            continue
        mine = [not known[best.number][each] for each in names]
        theirs = [not found[each] for each in names]
        won = sum(a and not b for a, b in zip(mine, theirs, strict=True))
        lost = sum(b and not a for a, b in zip(mine, theirs, strict=True))
        value = mcnemar(mine, theirs)
        leader = best.label if won > lost else other.label
        rows.append(
            Row(
                cells(
                    f"{best.label}, {other.label}", len(names), 100 * (won - lost) / len(names),
                    won, lost, value, leader if value < LEVEL else "tie",
                ),
                runs=(best.number, other.number),
            )
        )  # fmt: skip
    return Table(name, title, columns, tuple(rows), note="p is of the exact McNemar test.")


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
