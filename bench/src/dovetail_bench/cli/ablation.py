"""The command that tells what each signal of search is worth: dovetail bench ablation."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dovetail.cli.options import CatalogOption, JsonOption, settings_for
from dovetail.cli.output import console, note, print_json, rich_table
from dovetail.cli.progress import progress_bar
from dovetail_bench.cli.options import DataArgument, EvidenceOption, SkipBadOption, numbers

if TYPE_CHECKING:
    from dovetail.ports import Json

_SURE = 0.05


def ablation(
    data: DataArgument,
    k: Annotated[str, typer.Option("--k", metavar="NUMBERS", help="Tables to list.")] = "5,10",
    evidence: EvidenceOption = False,
    limit: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Only the first N questions.")
    ] = None,
    skip_bad: SkipBadOption = False,
    catalog: CatalogOption = None,
    as_json: JsonOption = False,
) -> None:
    """Search with each of its signals alone and left out: how often all gold is found."""
    from dovetail_bench.ablation import bench_ablation
    from dovetail_bench.datasets import open_dataset
    from dovetail_bench.question_filter import QuestionFilter
    from dovetail_bench.run_config import RunConfig

    question_filter = QuestionFilter(evidence=evidence, limit=limit, skip_bad=skip_bad)
    dataset = open_dataset(data, catalog=catalog)
    with progress_bar(show=not as_json) as on_progress:
        config = RunConfig(Path(), settings_for(catalog), on_progress=on_progress, note=note)
        result = bench_ablation(dataset, numbers(k), question_filter, config)
    if as_json:
        print_json(result)
    else:
        _print(result)


def _print(result: Json) -> None:
    rows = result["results"]
    ks = list(dict.fromkeys(row["k"] for row in rows))
    cells: dict[str, list[str]] = {}
    for row in rows:
        sure = row["p"] is not None and row["p"] < _SURE
        cells.setdefault(row["variant"], []).append(f"{100 * row['pr']:.1f}{'*' if sure else ' '}")
    listing = rich_table("signals", *(f"PR at {k}" for k in ks))
    for variant, shares in cells.items():
        listing.add_row(variant, *shares)
    screen = console()
    title = f"{result['dataset']}: {result['questions']} questions over {result['tables']} tables"
    screen.print(title, highlight=False)
    screen.print(listing)
    screen.print("* differs from all signals together (sign-flip, Holm, p < 0.05)", highlight=False)
