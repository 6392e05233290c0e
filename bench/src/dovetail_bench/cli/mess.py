"""The command that measures on made companies: dovetail bench mess."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from dovetail.cli.options import Json as JsonOption
from dovetail.cli.output import console, print_json, rich_table
from dovetail.errors import UsageError

_STYLES = ("seen", "held")


def bench_mess(
    corpora: Annotated[
        list[str], typer.Argument(metavar="DATA...", help="Corpora of clean databases.")
    ],
    into: Annotated[
        Path, typer.Option("-o", "--into", metavar="FOLDER", help="Where companies are written.")
    ],
    companies: Annotated[int, typer.Option(min=1, help="How many, from as many seeds.")] = 5,
    seed: Annotated[int, typer.Option(min=0, help="The first seed.")] = 0,
    styles: Annotated[
        str, typer.Option(metavar="NAME", help="Styles of the mess: seen in fitting, or held.")
    ] = "held",
    as_json: JsonOption = False,
) -> None:
    """Make companies out of clean databases, index them and ask their questions."""
    from dovetail_bench.datasets import open_dataset
    from dovetail_bench.mess.company import read_databases
    from dovetail_bench.mess.measure import made, measured, outcome

    if styles not in _STYLES:
        raise UsageError(f"there are no styles {styles!r}; there are: {', '.join(_STYLES)}")
    databases = read_databases([open_dataset(corpus) for corpus in corpora])
    seeds = range(seed, seed + companies)
    result = asdict(measured([outcome(made(databases, s, styles, into)) for s in seeds]))
    if as_json:
        print_json({"styles": styles, "seed": seed, **result})
        return
    listing = rich_table(*(name.replace("_", " ") for name in result))
    listing.add_row(
        *(
            f"{100 * v:.1f}" if 0 <= v <= 1 and isinstance(v, float) else f"{v:g}"
            for v in result.values()
        )
    )
    console().print(listing)
