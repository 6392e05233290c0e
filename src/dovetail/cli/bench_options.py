"""Arguments and options that several commands of `dovetail bench` take, and what they mean."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Annotated

import typer

from dovetail.errors import UsageError

DataArgument = Annotated[
    Path,
    typer.Argument(
        metavar="DATA",
        readable=False,
        help="A corpus: sample, or a folder with databases/, questions.json and foreign_keys.json.",
    ),
]
EvidenceOption = Annotated[
    bool, typer.Option("--evidence", help="Ask with the evidence that questions carry.")
]
SkipBadOption = Annotated[
    bool,
    typer.Option("--skip-bad", help="Leave out questions that cannot be scored, and name them."),
]

SourceOption = Annotated[
    str,
    typer.Option(
        metavar="NAMES", help="Only questions whose gold tables all stand in these sources."
    ),
]
PurposesOption = Annotated[
    bool, typer.Option("--purposes", help="Have the model describe every table first.")
]
ShareOption = Annotated[
    str,
    typer.Option(
        metavar="SHARE", help="Only so many questions, like 1/3, of each number of gold tables."
    ),
]
SeedOption = Annotated[int, typer.Option(metavar="N", help="Draws the share.")]
LimitOption = Annotated[
    int | None, typer.Option(min=1, metavar="N", help="Only the first N questions.")
]
KOption = Annotated[str, typer.Option("--k", metavar="NUMBERS", help="Candidates to ask for.")]
RunsOption = Annotated[
    Path, typer.Option(metavar="FOLDER", help="Where runs are kept and gone on with.")
]
WorkersOption = Annotated[
    int, typer.Option(min=1, metavar="N", help="Questions asked at the same time.")
]


def named(text: str) -> list[str]:
    """The names of a list like `dense,graph`."""
    return [name.strip() for name in text.split(",") if name.strip()]


def numbers(text: str) -> list[int]:
    """The numbers of a list like `5,10`, ascending, each once."""
    try:
        found = sorted({int(part) for part in text.split(",")})
    except ValueError:
        raise UsageError(f"--k must be numbers like 5,10, not {text!r}") from None
    if found[0] < 1:
        raise UsageError(f"--k must be at least 1, not {found[0]}")
    return found


def share_of(text: str) -> Fraction:
    """A share like 1/3 or 0.5."""
    try:
        share = Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise UsageError(f"--share must be a number like 1/3 or 0.5, not {text!r}") from None
    if not 0 < share <= 1:
        raise UsageError(f"--share must be above 0 and at most 1, not {text}")
    return share
