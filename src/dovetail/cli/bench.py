"""The commands that measure: dovetail bench …"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dovetail.cli.options import JsonOption, ScoringOption
from dovetail.cli.output import console, print_json, rich_table
from dovetail.cli.progress import progress_bar

_JOIN_MEASURES = (
    "accuracy", "column_pair", "mean_error", "precision", "recall", "f1", "auc",
)  # fmt: skip

bench = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Measure on a corpus.")


@bench.command("joins")
def bench_joins(
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help="A corpus: databases/ and foreign_keys.json.")
    ],
    scoring: ScoringOption = "keylike",
    comparison: Annotated[
        str, typer.Option(metavar="NAME", help="How values compare: coerced, string or typed.")
    ] = "coerced",
    as_json: JsonOption = False,
) -> None:
    """Hold scored joins against the declared keys of a pooled corpus."""
    from dovetail.bench.datasets import open_dataset
    from dovetail.bench.joins import bench_joins as measure

    with progress_bar(show=not as_json) as watch:
        result = measure(open_dataset(data), scoring, comparison=comparison, watch=watch)
    if as_json:
        print_json(result)
        return
    listing = rich_table("pairs", "count", *_JOIN_MEASURES)
    for name in ("all", "within"):
        row = result[name]
        values = [f"{row[measure_name]:.4f}" for measure_name in _JOIN_MEASURES]
        listing.add_row(f"{name}, {row['gold']} declared", f"{row['pairs']:,}", *values)
    screen = console()
    title = (
        f"{result['dataset']}: {result['tables']} tables, {result['columns']} columns, {scoring}"
    )
    screen.print(f"{title}, {result['seconds']} s", highlight=False)
    screen.print(listing)
