"""The commands that measure: dovetail bench …"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from runpy import run_module
from typing import TYPE_CHECKING, Annotated

import typer

from dovetail.cli.options import Json as JsonOption
from dovetail.cli.output import console, print_json, progress_bar, rich_table
from dovetail.errors import UsageError
from dovetail_bench import programs as _programs
from dovetail_bench.cli.data import data, report
from dovetail_bench.cli.mess import bench_mess
from dovetail_bench.cli.options import (
    DataArgument,
    KOption,
    RunOptions,
    mark_notes,
    marked_name,
    named,
    numbers,
    with_run_options,
)
from dovetail_bench.cli.sql import bench_sql

if TYPE_CHECKING:
    from rich.table import Table

    from dovetail.ports import Json

# What joins are measured with besides, under these names in the result.
_WITH_MORE = ("by_source", "declared")
_JOIN_MEASURES = {
    "accuracy": "right", "column_pair": "cols", "mean_error": "|s-g|", "precision": "P",
    "recall": "R", "f1": "F1", "auc": "AUC",
}  # fmt: skip

# What the file of a program ends with.
_PROGRAM = 'if __name__ == "__main__":'

bench = typer.Typer(
    no_args_is_help=True, add_completion=False, rich_markup_mode=None, help="Measure on a corpus."
)


@bench.command("joins")
def bench_joins(
    data: DataArgument,
    scoring: Annotated[
        str, typer.Option(metavar="NAME", help="How to score: foreign_key, paper or jar.")
    ] = "foreign_key",
    embedder: Annotated[
        str, typer.Option(metavar="NAME", help="For what headers mean: minilm, none, …")
    ] = "none",
    as_json: JsonOption = False,
) -> None:
    """Hold scored joins against the declared keys of a pooled corpus."""
    from dovetail_bench.datasets import open_dataset
    from dovetail_bench.joins import bench_joins as measure

    with progress_bar(show=not as_json) as on_progress:
        result = measure(
            open_dataset(data),
            scoring,
            embedder=embedder,
            on_progress=on_progress,
        )
    if as_json:
        words = ["dovetail", "bench", "joins", str(data), "--scoring", scoring]
        command = shlex.join([*words, "--embedder", embedder, "--json"])
        print_json({**result, "command": command})
        return
    listing = rich_table("pairs", "of", "keys", *_JOIN_MEASURES.values())
    more = {f", {name.replace('_', ' ')}": result.get(name, {}) for name in _WITH_MORE}
    for said, part in (("", result), *more.items()):
        for name in [population for population in ("all", "within") if population in part]:
            row = part[name]
            values = [f"{100 * row[measure_name]:.1f}" for measure_name in _JOIN_MEASURES]
            listing.add_row(f"{name}{said}", f"{row['pairs']:,}", str(row["gold"]), *values)
    screen = console()
    title = (
        f"{result['dataset']}: {result['tables']} tables, {result['columns']} columns, {scoring}"
    )
    screen.print(f"{title}, {result['seconds']} s", highlight=False)
    screen.print(listing)


@bench.command("retrieval")
@with_run_options
def bench_retrieval(
    data: DataArgument,
    options: RunOptions,
    retriever: Annotated[
        str,
        typer.Option(
            metavar="NAMES",
            help="Retrievers, separated by commas; all for each that can run.",
        ),
    ] = "all",
    k: KOption = "10",
) -> None:
    """Hold the tables that retrievers find against the gold tables of questions."""
    from dovetail_bench.retrieval import bench_retrieval as measure

    question_filter = options.question_filter()
    with progress_bar(show=not options.as_json) as on_progress:
        config = options.run_config(data, on_progress)
        result = options.measured(
            data,
            lambda corpus: measure(corpus, named(retriever), numbers(k), question_filter, config),
        )
    if options.as_json:
        print_json(result)
    else:
        _print_retrieval(result)


def _print_retrieval(result: Json) -> None:
    rows = result["results"]
    paid = any(row["llm_calls"] for row in rows)
    costs = ("calls", "tokens in", "tokens out", "fallbacks") if paid else ()
    listing = rich_table("retriever", "k", "tables", "P", "R", "F1", "PR", "ms", *costs)
    for row in rows:
        listing.add_row(*_cells(row, paid=paid))
    screen = console()
    title = f"{result['dataset']}: {result['questions']} questions over {result['tables']} tables"
    screen.print(title, highlight=False)
    screen.print(listing)
    if any(map(_says_more, rows)):
        screen.print(_sets(rows))
    for line in mark_notes(rows):
        screen.print(line, highlight=False)


# What is measured of sets, and the heads of its columns (docs/lab/evaluation.md says what each is).
_SET_MEASURES = {
    "exact": "exact", "lenient_f1": "lenient F1", "lenient_exact": "lenient exact",
    "exact_any": "exact, any", "pr_any": "PR, any", "refused": "refused", "abstained": "abstained",
}  # fmt: skip


def _says_more(row: Json) -> bool:
    """Whether there are questions without an answer, several right sets, or alternatives."""
    more = row["lenient_f1"] > row["f1"] or row["pr_any"] > row["pr"]
    return bool(row["unanswerable"] or row["refused"] or more)


def _sets(rows: Sequence[Json]) -> Table:
    listing = rich_table("retriever", "k", *_SET_MEASURES.values())
    for row in rows:
        shares = [row[name] for name in _SET_MEASURES]
        cells = ["" if share is None else f"{100 * share:.1f}" for share in shares]
        listing.add_row(marked_name(row), str(row["k"]), *cells)
    return listing


def _cells(row: Json, *, paid: bool) -> list[str]:
    shares = [f"{100 * row[name]:.1f}" for name in ("p", "r", "f1", "pr")]
    costs = [f"{row[name]:,.1f}" for name in ("llm_calls", "tokens_in", "tokens_out")]
    costs.append(str(row["fallbacks"]))
    seconds = f"{1000 * row['seconds_per_question']:,.1f}"
    head = [marked_name(row), str(row["k"]), f"{row['avg_tables']:.1f}"]
    return [*head, *shares, seconds, *(costs if paid else ())]


@bench.command(
    "run",
    context_settings={
        "allow_extra_args": True,
        "ignore_unknown_options": True,
        "help_option_names": [],
    },
)
def run_program(
    context: typer.Context,
    program: Annotated[
        str, typer.Argument(metavar="PROGRAM", help="Its name; none lists them.")
    ] = "",
) -> None:
    """Run one of the laboratory's programs, with its own options: run PROGRAM --help."""
    files = Path(_programs.__path__[0]).glob("*.py")
    programs = sorted(file.stem for file in files if _PROGRAM in file.read_text("utf-8"))
    if program not in programs:
        raise UsageError(f"there is no program {program!r}; there are: {', '.join(programs)}")
    sys.argv = [f"dovetail bench run {program}", *context.args]
    run_module(f"{_programs.__name__}.{program}", run_name="__main__")


bench.command("mess")(bench_mess)
bench.command("sql")(bench_sql)
bench.command("data")(data)
bench.command("report")(report)
