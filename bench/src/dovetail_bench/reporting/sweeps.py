"""Sweeps: one retriever at several settings (its breadth, say), and the frontier of all runs."""

from __future__ import annotations

from collections.abc import Sequence

from dovetail_bench.reporting.published import published_rows
from dovetail_bench.reporting.scored_run import ScoredRun, varying
from dovetail_bench.reporting.tabular import (
    Column,
    Line,
    Plot,
    Row,
    Table,
    cells,
    empty,
    measures,
)


def sweep(measured: Sequence[ScoredRun]) -> Table:
    """Runs of one retriever that differ in a setting or in its argument, side by side."""
    name, title = "sweep", "Settings swept"
    columns = (
        Column("system"), Column("setting"), *measures("questions", "tables", "P", "R", "F1", "PR"),
    )  # fmt: skip
    rows: list[Row] = []
    for (base, k), group in _sweeps(measured).items():
        differing = varying(group)
        if len({one.number for one in group}) > 1:
            rows += [_row(f"{base}@{k}", _setting(one, differing), one) for one in group]
    if not rows:
        missing = "It needs runs of one retriever at one k that differ in a setting or an argument."
        return empty(name, title, missing)
    return Table(
        name, title, columns, (*rows, *published_rows("sweep", measured[0].dataset, columns))
    )


def frontier(measured: Sequence[ScoredRun]) -> Table:
    """Precision against recall over all settings of each retriever, and which nothing beats."""
    columns = (
        Column("system"), *measures("questions", "tables", "P", "R", "F1", "PR"),
        Column("on the frontier"),
    )  # fmt: skip
    points = {one.label: (one.means.r, one.means.p) for one in measured}
    ordered = sorted(measured, key=lambda one: (-one.means.r, -one.means.p, one.label))
    rows = [
        Row(
            (
                *cells(one.label, len(one.scores), one.means.avg_tables, 100 * one.means.p),
                *cells(100 * one.means.r, 100 * one.means.f1, 100 * one.means.pr),
                *cells("yes" if on_frontier(one.label, points) else "no"),
            ),
            runs=(one.number,),
        )
        for one in ordered
    ]
    return Table(
        "frontier",
        "Precision and recall: the frontier",
        columns,
        tuple(rows),
        note="On the frontier is what no other run beats in one of precision and recall without "
        "losing in the other.",
        plots=(_precision_recall(measured), _f1_perfect(measured)),
    )


def on_frontier(label: str, points: dict[str, tuple[float, float]]) -> bool:
    """Whether no other point is as far on both axes and farther on one.

    >>> points = {"a": (0.9, 0.2), "b": (0.8, 0.3), "c": (0.8, 0.2)}
    >>> [on_frontier(label, points) for label in points]
    [True, True, False]
    """
    x, y = points[label]
    return not any(other[0] >= x and other[1] >= y and other != (x, y) for other in points.values())


def _precision_recall(measured: Sequence[ScoredRun]) -> Plot:
    lines: dict[str, list[tuple[float, float]]] = {}
    for one in measured:
        base = one.retriever.partition(":")[0]
        lines.setdefault(base, []).append((100 * one.means.r, 100 * one.means.p))
    drawn = tuple(Line(label, tuple(sorted(set(points)))) for label, points in lines.items())
    return Plot("Precision over recall", "recall %", "precision %", drawn)


def _f1_perfect(measured: Sequence[ScoredRun]) -> Plot:
    lines: dict[tuple[str, bool], list[tuple[float, float]]] = {}
    for one in measured:
        base = one.retriever.partition(":")[0]
        lines.setdefault((base, False), []).append((100 * one.means.pr, 100 * one.means.f1))
    columns = (Column("system"), *measures("F1", "PR"))
    for row in published_rows("selection", measured[0].dataset, columns):
        system, f1, pr = (cell.value for cell in row.cells)
        if isinstance(f1, float) and isinstance(pr, float):
            lines.setdefault((f"{system} (published)", True), []).append((pr, f1))
    drawn = tuple(
        Line(label, tuple(sorted(set(points))), joined=not published, published=published)
        for (label, published), points in lines.items()
    )
    return Plot("F1 over perfect recall", "PR %", "F1 %", drawn)


def _sweeps(measured: Sequence[ScoredRun]) -> dict[tuple[str, int], list[ScoredRun]]:
    found: dict[tuple[str, int], list[ScoredRun]] = {}
    for one in measured:
        found.setdefault((one.retriever.partition(":")[0], one.k), []).append(one)
    return found


def _setting(one: ScoredRun, differing: Sequence[str]) -> str:
    argument = one.retriever.partition(":")[2]
    named = [f"{name} {one.settings.get(name)}" for name in differing]
    evidence = ["evidence"] if one.run.made.get("evidence") else []
    return ", ".join([*([argument] if argument else []), *named, *evidence]) or "as it comes"


def _row(system: str, setting: str, one: ScoredRun) -> Row:
    means = one.means
    return Row(
        (
            *cells(system, setting, len(one.scores), means.avg_tables),
            *cells(100 * means.p, 100 * means.r, 100 * means.f1, 100 * means.pr),
        ),
        runs=(one.number,),
    )
