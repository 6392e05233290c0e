"""The rows of an answer in every form: a table, CSV, Parquet."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dovetail.cli.output import console, note, print_line, print_rows, write
from dovetail.errors import UsageError
from dovetail.text import count

if TYPE_CHECKING:
    from dovetail.answer.results import Answer

_SHOWN = 50


@dataclass(frozen=True, slots=True)
class Form:
    """How rows are wanted: `csv` or `json` on standard output or in `to`, or a file of Parquet.

    With none of them they are shown as a table.
    """

    csv: bool = False
    json: bool = False
    parquet: Path | None = None
    to: Path | None = None

    def __post_init__(self) -> None:
        if self.csv + self.json + (self.parquet is not None) > 1:
            raise UsageError("--json, --csv and --parquet: choose one")
        if self.to and not (self.csv or self.json):
            raise UsageError("--output is where --csv or --json go: choose one of them")
        file = self.parquet or self.to
        if file and not file.absolute().parent.is_dir():  # before anything is spent on rows
            raise UsageError(f"cannot write {file}: there is no such folder")

    @property
    def fills_output(self) -> bool:
        """Whether standard output is for the rows alone."""
        return (self.csv or self.json) and self.to is None


def give(answer: Answer, form: Form) -> None:
    """Print or write the rows as CSV, Parquet or a table; what to know about them goes beside."""
    if form.csv:
        write(_csv(answer), form.to)
    elif form.parquet is not None:
        _write_parquet(answer, form.parquet)
    else:
        _print_table(answer)
        return
    for warning in answer.warnings:
        note(warning)
    if file := form.parquet or form.to:
        print_line(f"{count(answer.rows.num_rows, 'row')} in {file}")


def _print_table(answer: Answer) -> None:
    import pyarrow as pa

    from dovetail.answer.results import cell_text, python_values

    screen = console()
    for table, name in answer.names.items():
        if name not in (table.name, str(table)):
            print_line(f"{table} is called {name} here")
    shown = answer.rows.slice(0, _SHOWN).columns
    numbers = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
    print_rows(
        answer.columns,
        [list(map(cell_text, row)) for row in zip(*map(python_values, shown), strict=True)],
        [any(is_number(field.type) for is_number in numbers) for field in answer.rows.schema],
    )
    more = f", the first {_SHOWN} shown" if answer.rows.num_rows > _SHOWN else ""
    seconds = sum(answer.seconds.values())
    screen.print(f"{count(answer.rows.num_rows, 'row')}{more} ({seconds:.2f} s)")
    for warning in answer.warnings:
        print_line(f"Note: {warning}")


def _csv(answer: Answer) -> str:
    from dovetail.answer.results import cell_text

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(answer.columns)
    writer.writerows(map(cell_text, row) for row in answer.tuples())
    return text.getvalue()


def _write_parquet(answer: Answer, file: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from dovetail.answer.results import plain_rows

    try:
        with file.open("wb") as to:  # by the system's own rules: Arrow takes file: for a URI
            pq.write_table(plain_rows(answer.rows), to)
    except OSError as error:
        raise UsageError(f"cannot write {file}: {error.strerror or error}") from None
    except pa.ArrowException as error:
        raise UsageError(f"cannot write {file}: {error}; use --csv or --json") from None
