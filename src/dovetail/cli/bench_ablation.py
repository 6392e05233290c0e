"""The command that tells what each part of search is worth: dovetail bench parts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dovetail.cli.bench_options import DataArgument, EvidenceOption, SkipBadOption, numbers
from dovetail.cli.options import CatalogOption, JsonOption, settings_for
from dovetail.cli.output import console, note, print_json, rich_table
from dovetail.cli.progress import progress_bar

if TYPE_CHECKING:
    from dovetail.ports import Json

_SURE = 0.05


def parts(
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
    """Search with each of its parts alone and left out: the share of questions fully answered."""
    from dovetail.bench.ablation import bench_parts
    from dovetail.bench.datasets import open_dataset
    from dovetail.bench.question_filter import Choice
    from dovetail.bench.retrieval import Lab

    choice = Choice(evidence=evidence, limit=limit, skip_bad=skip_bad)
    dataset = open_dataset(data, catalog=catalog)
    with progress_bar(show=not as_json) as watch:
        lab = Lab(Path(), settings_for(catalog), watch=watch, note=note)
        result = bench_parts(dataset, numbers(k), choice, lab)
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
    listing = rich_table("parts", *(f"PR at {k}" for k in ks))
    for variant, shares in cells.items():
        listing.add_row(variant, *shares)
    screen = console()
    title = f"{result['dataset']}: {result['questions']} questions over {result['tables']} tables"
    screen.print(title, highlight=False)
    screen.print(listing)
    screen.print("* differs from all parts together (sign-flip, Holm, p < 0.05)", highlight=False)
