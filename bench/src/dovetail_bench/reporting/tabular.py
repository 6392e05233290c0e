"""The tables of a report as data, independent of the output format."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

HIGH, LOW, NEITHER = "high", "low", ""
NONE = "\N{EN DASH}"
BEST, SECOND = "best", "second"


@dataclass(frozen=True, slots=True)
class Column:
    """A column by name; `better` says which end of it is the good one, if any."""

    name: str
    better: str = NEITHER
    digits: int = 1


@dataclass(frozen=True, slots=True)
class Cell:
    """A number, a text, or nothing; `mark` stands above it."""

    value: float | int | str | None
    mark: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """A row; `runs` are the numbers of the runs that it was measured on.

    `published` names the models of a row that was not measured here but taken from the paper.
    """

    cells: tuple[Cell, ...]
    runs: tuple[int, ...] = ()
    published: str = ""


@dataclass(frozen=True)
class Table:
    """A table with a name for files and links; `missing` says what it lacks, where it has no rows.

    Best and second best are found among rows that were measured here: published ones have other
    models, and sometimes other copies of the data.
    """

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    note: str = ""
    missing: str = ""

    @cached_property
    def ranks(self) -> dict[tuple[int, int], str]:
        """By row and column, the best and the second best values, as far as they differ."""
        found: dict[tuple[int, int], str] = {}
        for place, column in enumerate(self.columns):
            if column.better == NEITHER:
                continue
            sign = -1 if column.better == HIGH else 1
            shown = {
                number: sign * round(value, column.digits)
                for number, row in enumerate(self.rows)
                if not row.published and isinstance(value := row.cells[place].value, float | int)
            }
            ordered = sorted(set(shown.values()))
            if len(ordered) < 2:
                continue
            for name, value in zip((BEST, SECOND), ordered, strict=False):
                equal = (number for number in shown if shown[number] == value)
                found |= {(number, place): name for number in equal}
        return found


def cells(*values: float | int | str | None) -> tuple[Cell, ...]:
    """Plain cells."""
    return tuple(Cell(value) for value in values)


def text_of(cell: Cell, column: Column) -> str:
    """What a cell says, without its mark.

    >>> text_of(Cell(31.96), Column("F1")), text_of(Cell(1534), Column("questions"))
    ('32.0', '1,534')
    """
    if cell.value is None:
        return NONE
    if isinstance(cell.value, str):
        return cell.value
    if isinstance(cell.value, int):
        return f"{cell.value:,}"
    return f"{cell.value:,.{column.digits}f}"


def percent(part: float, whole: float = 1) -> float | None:
    """A share in percent; of nothing there is none."""
    return 100 * part / whole if whole else None


def measures(*names: str) -> tuple[Column, ...]:
    """The columns of measures that several tables share."""
    known = {
        "tables": Column("tables", LOW),
        "questions": Column("questions"),
        **{name: Column(name, HIGH) for name in ("P", "R", "F1", "PR")},
    }
    return tuple(known[name] for name in names)


def empty(name: str, title: str, missing: str) -> Table:
    """A table that says what it would need."""
    return Table(name, title, (), (), missing=missing)
