"""Compares runs on the same questions: paired tests of F1, overall and by kind of question."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from dovetail.errors import NotFoundError
from dovetail_bench.questions import Question
from dovetail_bench.reporting.published import published_rows
from dovetail_bench.reporting.scored_run import ScoredRun
from dovetail_bench.reporting.tabular import HIGH, Cell, Column, Row, Table, cells, empty
from dovetail_bench.stats import bootstrap, holm, sign_flip

LEVEL = 0.05
_MANY = 4
# Systems of ours; a published one is held against published ones first.
_OURS = ("search", "graph", "llm")


def reference(measured: Sequence[ScoredRun], label: str = "") -> ScoredRun:
    """The run that others are held against: the one of this label, or the one with the best F1."""
    if not label:
        return max(measured, key=lambda one: one.means.f1)
    for one in measured:
        if label in (one.label, one.retriever):
            return one
    known = ", ".join(one.label for one in measured)
    raise NotFoundError(f"there is no run {label!r} of {measured[0].dataset}; there are: {known}")


# What is told of two runs over the questions that both have.
PAIRED = (
    Column("pair"), Column("questions"), Column("ΔF1"), Column("low"), Column("high"),
    Column("won"), Column("lost"), Column("p", digits=4), Column("winner"),
)  # fmt: skip
Values = tuple[ScoredRun, Mapping[str, float]]
Test = Callable[[Sequence[float], Sequence[float]], float]


def paired_f1(measured: Sequence[ScoredRun], against: ScoredRun) -> Table:
    """The difference in F1 between the reference and every other run, and its chance."""
    name, title = "paired", f"Paired F1: {against.label} against the others"
    published_first = sorted(measured, key=lambda one: _is_ours(one) and not _is_ours(against))
    best, *others = (
        (one, {question: score.f1 for question, score in one.scores.items()})
        for one in (against, *(one for one in published_first if one is not against))
    )
    rows = [row for other in others if (row := paired_row(best, other, sign_flip))]
    if not rows:
        return empty(name, title, "It needs two runs on the same questions.")
    taken = published_rows("paired", against.dataset, PAIRED)
    return Table(
        name,
        title,
        PAIRED,
        (*rows, *taken),
        note="low and high bound the 95% bootstrap interval of ΔF1. p is of the two-sided "
        "sign-flip test (10,000 seeded draws; one of 0.0001 is the smallest there is). Published "
        "pairs are CORE-T against its baselines.",
    )


def _is_ours(one: ScoredRun) -> bool:
    return one.retriever.partition(":")[0] in _OURS


def paired_row(best: Values, other: Values, test: Test) -> Row | None:
    """Two runs by a value of each question, with the p-value of a test; None without a question."""
    (left, ours), (right, all_theirs) = best, other
    names = [name for name in ours if name in all_theirs]
    if not names:
        return None
    mine, theirs = [ours[name] for name in names], [all_theirs[name] for name in names]
    gaps = [a - b for a, b in zip(mine, theirs, strict=True)]
    interval = bootstrap(gaps)
    value = test(mine, theirs)
    leader = left.label if interval.mean > 0 else right.label
    return Row(
        cells(
            f"{left.label}, {right.label}", len(names), 100 * interval.mean, 100 * interval.low,
            100 * interval.high, sum(gap > 0 for gap in gaps), sum(gap < 0 for gap in gaps),
            value, leader if value < LEVEL else "tie",
        ),
        runs=(left.number, right.number),
    )  # fmt: skip


def strata(measured: Sequence[ScoredRun], against: ScoredRun) -> Table:
    """F1 by difficulty and by number of gold tables, tested against the reference in each."""
    runs = [(one, {name: score.f1 for name, score in one.scores.items()}) for one in measured]
    return strata_table("strata", "F1", runs, measured.index(against), sign_flip)


def strata_table(name: str, measure: str, runs: Sequence[Values], place: int, test: Test) -> Table:
    """A measure by difficulty and by number of gold tables; `place` is that of the reference."""
    against = runs[place]
    groups = strata_of([each for each in against[0].questions if each.id in against[1]])
    columns = (
        Column("system"),
        *(Column(f"{group} ({len(ids)})", HIGH) for group, ids in groups.items()),
        Column("significant"),
    )
    return Table(
        name,
        f"{measure} by difficulty and by number of gold tables",
        columns,
        tuple(_strata_row(run, against, groups, test) for run in runs),
        note=f"* differs from {against[0].label} (Holm over the strata, p < {LEVEL}); the last "
        "column counts such strata, whichever of the two is ahead.",
    )


def strata_of(questions: Sequence[Question]) -> dict[str, list[str]]:
    """The questions of each difficulty, where they say one, and of 1, 2, 3 and 4+ gold tables."""
    found: dict[str, list[str]] = {}
    for question in questions:
        if question.difficulty:
            found.setdefault(question.difficulty, []).append(question.id)
    sizes: dict[int, list[str]] = {}
    for question in questions:
        sizes.setdefault(min(len(question.gold), _MANY), []).append(question.id)
    for size in sorted(sizes):
        # Where difficulty is the number of tables, one group would be tested twice.
        if sizes[size] not in found.values():
            found[f"{size}+ gold" if size == _MANY else f"{size} gold"] = sizes[size]
    return found


def _strata_row(run: Values, against: Values, groups: dict[str, list[str]], test: Test) -> Row:
    (one, mine), (other, theirs) = run, against
    means: dict[str, float | None] = {}
    values: dict[str, float] = {}
    for name, ids in groups.items():
        asked = [each for each in ids if each in mine]
        found = [mine[each] for each in asked]
        means[name] = 100 * sum(found) / len(found) if found else None
        if run is not against and found:
            values[name] = test(found, [theirs[each] for each in asked])
    adjusted = holm(values)
    marked = [Cell(means[name], "*" if adjusted.get(name, 1) < LEVEL else "") for name in groups]
    significant = sum(value < LEVEL for value in adjusted.values())
    told = f"{significant} of {len(adjusted)}" if adjusted else None
    return Row((Cell(one.label), *marked, Cell(told)), runs=(one.number, other.number))
