"""A table in Markdown, as the paper shows it to a model: name, header and sampled rows."""

from __future__ import annotations

from dovetail.domain import Table
from dovetail.text import cut, escape

# Characters of a cell.
WIDTH = 100


def markdown(table: Table) -> str:
    """Write a table's name, header row, alignment row and sample, cells cut to `WIDTH`."""
    rows = [
        [column.name for column in table.columns],
        ["---"] * len(table.columns),
        *([cell or "" for cell in row] for row in table.sample),
    ]
    return "\n".join(
        [
            f"Table: {escape(cut(table.name, WIDTH))}",
            "",
            *("| " + " | ".join(escape(cut(cell, WIDTH)) for cell in row) + " |" for row in rows),
        ]
    )
