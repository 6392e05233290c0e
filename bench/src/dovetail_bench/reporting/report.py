"""Makes a report: for each dataset the analyses that its runs allow, and the origin of figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dovetail_bench.in_sample import MARKS, NOTES, mark_of
from dovetail_bench.reporting.comparison import paired_f1, reference, strata
from dovetail_bench.reporting.join_quality import JoinResult, joinability, read_join_results
from dovetail_bench.reporting.scored_run import (
    USUAL,
    ScoredRun,
    by_dataset,
    find_files,
    read_scored_runs,
)
from dovetail_bench.reporting.selection import (
    depth,
    errors,
    fallbacks,
    selection_performance,
)
from dovetail_bench.reporting.sql_accuracy import (
    answer_errors,
    answered,
    execution_accuracy,
    execution_strata,
    paired_execution,
)
from dovetail_bench.reporting.stages import (
    ablation,
    connectors,
    is_swept,
    prompt_lengths,
    recovery,
    thresholds,
)
from dovetail_bench.reporting.tabular import Cell, Row, Table


@dataclass(frozen=True, slots=True)
class Options:
    """What a reader may choose: where rankings are cut, which run others are held against.

    How deep rankings go is shown besides. A connector is a gold table whose relevance is not above
    `quantile`.
    """

    ks: tuple[int, ...] = USUAL
    against: str = ""
    quantile: float = 0.2


@dataclass(frozen=True, slots=True)
class Origin:
    """Where numbers come from: a file, and the command that made it."""

    number: int
    path: Path
    command: str


@dataclass(frozen=True, slots=True)
class Chapter:
    """All about one dataset: its tables, those without rows among them, and their origins."""

    dataset: str
    tables: tuple[Table, ...]
    origins: tuple[Origin, ...]

    @property
    def filled(self) -> list[Table]:
        return [table for table in self.tables if table.rows]

    @property
    def lacking(self) -> list[Table]:
        return [table for table in self.tables if not table.rows]


def make_report(paths: Sequence[Path], options: Options | None = None) -> list[Chapter]:
    """Read runs and joinability documents, in files or folders, and work out every analysis.

    There is a chapter for each dataset, in order of their names.
    """
    chosen = options or Options()
    files, documents = find_files(paths)
    measured = read_scored_runs(files, chosen.ks)
    last = max((one.number for one in measured), default=0)
    join_results = read_join_results(documents, last + 1)
    grouped = by_dataset(measured)
    datasets = sorted({*grouped, *(one.dataset for one in join_results)})
    return [_chapter(name, grouped.get(name, []), join_results, chosen) for name in datasets]


def _chapter(
    dataset: str,
    measured: Sequence[ScoredRun],
    join_results: Sequence[JoinResult],
    options: Options,
) -> Chapter:
    tables: list[Table] = []
    if measured:
        with_sql = {one.number for one, _ in answered(measured)}
        # A run with SQL repeats the sets of the run that it went on from.
        sets = [one for one in measured if one.number not in with_sql] or list(measured)
        tables += _about_sets(sets, options)
        tables += [
            execution_accuracy(measured),
            paired_execution(measured, options.against),
            execution_strata(measured, options.against),
            answer_errors(measured),
        ]
    tables.append(joinability(join_results, dataset))
    runs = {one.number: Origin(one.number, one.run.path, one.command) for one in measured}
    documents = [
        Origin(one.number, one.path, one.command) for one in join_results if one.dataset == dataset
    ]
    return Chapter(
        dataset, tuple(marked(table, dataset) for table in tables), (*runs.values(), *documents)
    )


def _about_sets(every: Sequence[ScoredRun], options: Options) -> list[Table]:
    cut = [one for one in every if not one.ranks or one.k in options.ks]
    measured = [one for one in cut or every if not is_swept(one)] or every
    against = reference(measured, options.against)
    fell_back = fallbacks(measured)
    return [
        selection_performance(measured),
        *([fell_back] if fell_back.rows else []),
        depth(every),
        paired_f1(measured, against),
        strata(measured, against),
        ablation(measured),
        recovery(measured),
        connectors(measured, options.quantile),
        *[table for table in (thresholds(every), prompt_lengths(measured)) if table.rows],
        errors(measured),
    ]


# The columns that name systems or scorings, in the tables that have one.
_SCORING = "scoring"
_NAMES = ("system", "systems", "pair", _SCORING)


def marked(table: Table, dataset: str) -> Table:
    """The table with a mark at each system of ours that was fitted on or chosen with the corpus."""
    places = [place for place, column in enumerate(table.columns) if column.name in _NAMES]
    if not places:
        return table
    # A scoring of joins may be called as a retriever that goes by it.
    kind = f"{_SCORING} " if table.columns[places[0]].name == _SCORING else ""
    rows = tuple(_marked(row, places[0], kind, dataset) for row in table.rows)
    used = {row.cells[places[0]].mark for row in rows if not row.published}
    notes = [NOTES[kind] for kind, mark in MARKS.items() if mark in used]
    return replace(table, rows=rows, note=" ".join([*([table.note] if table.note else []), *notes]))


def _marked(row: Row, place: int, kind: str, dataset: str) -> Row:
    cell = row.cells[place]
    if row.published or not isinstance(cell.value, str):
        return row
    mark = Cell(cell.value, mark_of(kind + cell.value, dataset))
    return replace(row, cells=(*row.cells[:place], mark, *row.cells[place + 1 :]))
