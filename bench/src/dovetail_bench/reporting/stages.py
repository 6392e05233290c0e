"""Tables by stage of a retriever: what search offers, selection drops and adjustment recovers.

A retriever takes part when its trace has a stage `search` that lists its `candidates`, and its
tables say at which stage they came in.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from dovetail.domain import TableId
from dovetail_bench.core_t.adjust import AdjustOptions
from dovetail_bench.measures import retrieval, score
from dovetail_bench.questions import Question, table_of
from dovetail_bench.reporting.published import published_rows
from dovetail_bench.reporting.scored_run import ScoredRun
from dovetail_bench.reporting.tabular import (
    HIGH,
    LOW,
    Column,
    Row,
    Table,
    cells,
    empty,
    measures,
    percent,
)
from dovetail_bench.stats import sign_flip

_NEEDED = (
    "It needs a run whose traces list the candidates of the search stage, such as one of core-t."
)
_NUMBER = re.compile(r"\d*\.?\d+")
_LENGTHS = ("shortest", "median", "longest")
_COLUMNS = (
    Column("system"), Column("dropped %", LOW), Column("dropped"), Column("of"),
    Column("some back %", HIGH), Column("all back %", HIGH),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Steps:
    """The tables of one question after each stage; `relevance` is that of the candidates."""

    question: Question
    search: tuple[TableId, ...]
    select: tuple[TableId, ...]
    adjust: tuple[TableId, ...]
    relevance: dict[TableId, float]

    def dropped(self, tables: Iterable[TableId]) -> set[TableId]:
        """Which of these the search offered and selection left out."""
        return set(tables) & set(self.search) - set(self.select)


def steps_of(one: ScoredRun) -> list[Steps]:
    """The questions whose stages are known; a run without such traces has none."""
    found: list[Steps] = []
    for question in one.questions:
        stages = {str(stage.get("stage")): stage for stage in one.traces.get(question.id, ())}
        listed = stages.get("search", {}).get("candidates")
        if not isinstance(listed, list):
            continue
        relevance = {table_of(str(each["table"]), ""): float(each["relevance"]) for each in listed}
        tables = one.records[question.id].tables
        found.append(
            Steps(
                question=question,
                search=tuple(relevance),
                select=tuple(table.id for table in tables if table.stage != "adjust"),
                adjust=tuple(table.id for table in tables),
                relevance=relevance,
            )
        )
    return found


def ablation(measured: Sequence[ScoredRun]) -> Table:
    """F1, PR and size after search, after selection and after adjustment."""
    columns = (
        Column("system"),
        *(
            Column(f"{stage} {measure}", LOW if measure == "tables" else HIGH)
            for stage in ("search", "select", "adjust")
            for measure in ("F1", "PR", "tables")
        ),
    )
    rows: list[Row] = []
    for one in measured:
        if steps := steps_of(one):
            values: list[float] = []
            for stage in ("search", "select", "adjust"):
                means = retrieval([score(getattr(s, stage), s.question.gold) for s in steps])
                values += [100 * means.f1, 100 * means.pr, means.avg_tables]
            rows.append(Row(cells(one.label, *values), runs=(one.number,)))
    return _table("stages", "Step-wise ablation", columns, rows, measured)


def is_swept(one: ScoredRun) -> bool:
    """Whether a run has another threshold of adjustment, which is shown in a table of its own."""
    return "+" in one.retriever and _threshold(one) is not None


def _threshold(one: ScoredRun) -> float | None:
    name, _, word = one.retriever.partition("+")
    if name != "core-t:paper":
        return None
    return float(word) if _NUMBER.fullmatch(word) else None if word else AdjustOptions().threshold


def thresholds(measured: Sequence[ScoredRun]) -> Table:
    """The paper's sets by its threshold of adjustment, each paired with those of its default."""
    name, title = "thresholds", "Threshold of adjustment"
    known = {level: one for one in measured if (level := _threshold(one)) is not None}
    usual = known.get(AdjustOptions().threshold)
    if usual is None or len(known) < 2:
        return empty(name, title, "It needs runs of core-t:paper and of core-t:paper+0.7.")
    columns = (
        Column("system"), Column("threshold"), *measures("questions", "tables", "P", "F1", "PR"),
        Column("other sets %"), Column("p", digits=4),
    )  # fmt: skip

    def ids(run: ScoredRun, question: str) -> set[TableId]:
        return {table.id for table in run.records[question].tables}

    rows: list[Row] = []
    for level, one in sorted(known.items()):
        means, sets = one.means, [(ids(one, q), ids(usual, q)) for q in one.scores]
        pairs = [(one.scores[q].f1, usual.scores[q].f1) for q in one.scores]
        tested = None if one is usual else sign_flip(*map(list, zip(*pairs, strict=True)))
        rows.append(
            Row(
                cells(
                    one.label, level, len(one.scores), means.avg_tables, 100 * means.p,
                    100 * means.f1, 100 * means.pr,
                    percent(sum(a != b for a, b in sets), len(sets)), tested,
                ),
                runs=(one.number,),
            )
        )  # fmt: skip
    taken = published_rows(name, usual.dataset, columns)
    note = "The model is asked once: its reply does not depend on the threshold. "
    return Table(name, title, columns, (*rows, *taken), note=note + "p: F1, paired sign-flip.")


def prompt_lengths(measured: Sequence[ScoredRun]) -> Table:
    """The tokens of the one prompt that selection takes: shortest, median and longest."""
    columns = (
        Column("system"), Column("questions"), *(Column(each, digits=0) for each in _LENGTHS),
    )  # fmt: skip
    rows: list[Row] = []
    for one in measured:
        lengths = [each.tokens_in for each in one.records.values()]
        if one.retriever.startswith("core-t") and all(lengths):
            values = (min(lengths), median(lengths), max(lengths))
            rows.append(Row(cells(one.label, len(lengths), *values), runs=(one.number,)))
    return _table("prompts", "Tokens of a prompt", columns, rows, measured)


def recovery(measured: Sequence[ScoredRun]) -> Table:
    """Questions in which selection drops a gold table that search offered, and what comes back."""
    rows = [
        _recovery_row(one, [(s, set(s.question.gold)) for s in steps])
        for one in measured
        if (steps := steps_of(one))
    ]
    return _table("recovery", "Gold-table drop and recovery", _COLUMNS, rows, measured)


def connectors(measured: Sequence[ScoredRun], quantile: float = 0.2) -> Table:
    """The same for gold tables of low relevance, in questions whose search offered all of them."""
    rows: list[Row] = []
    bounds: list[str] = []
    for one in measured:
        if not (steps := steps_of(one)):
            continue
        bound = connector_bound(steps, quantile)
        bounds.append(f"{one.label} {bound:.3f}")
        rows.append(_recovery_row(one, [(s, connectors_of(s, bound)) for s in steps]))
    note = (
        f"A connector is a gold table whose relevance is not above the {quantile:g} quantile of "
        f"those of all gold tables among the candidates: {', '.join(bounds)}; counted are "
        "questions whose gold tables were all candidates. The paper's bound is a relevance of 0.5, "
        "which is between the 0.20 and the 0.25 quantile on Bird."
    )
    return _table("connectors", "Connector-table drop and recovery", _COLUMNS, rows, measured, note)


def connector_bound(steps: Sequence[Steps], quantile: float) -> float:
    """The relevance that so many of the gold tables among the candidates do not exceed."""
    found = [s.relevance[table] for s in steps for table in s.question.gold if table in s.relevance]
    return float(np.quantile(found, quantile)) if found else 0.0


def connectors_of(steps: Steps, bound: float) -> set[TableId]:
    """The gold tables of low relevance, if search offered every gold table; otherwise none."""
    gold = set(steps.question.gold)
    if not gold <= set(steps.search):
        return set()
    return {table for table in gold if steps.relevance[table] <= bound}


def _recovery_row(one: ScoredRun, wanted: Sequence[tuple[Steps, set[TableId]]]) -> Row:
    applicable = [(steps, tables) for steps, tables in wanted if tables]
    dropped = [(steps, lost) for steps, tables in applicable if (lost := steps.dropped(tables))]
    some = sum(bool(lost & set(steps.adjust)) for steps, lost in dropped)
    all_back = sum(lost <= set(steps.adjust) for steps, lost in dropped)
    return Row(
        cells(
            one.label, percent(len(dropped), len(applicable)), len(dropped), len(applicable),
            percent(some, len(dropped)), percent(all_back, len(dropped)),
        ),
        runs=(one.number,),
    )  # fmt: skip


def _table(
    name: str,
    title: str,
    columns: tuple[Column, ...],
    rows: Sequence[Row],
    measured: Sequence[ScoredRun],
    note: str = "",
) -> Table:
    if not rows:
        return empty(name, title, _NEEDED)
    taken = published_rows(name, measured[0].dataset, columns)
    return Table(name, title, columns, (*rows, *taken), note=note)
