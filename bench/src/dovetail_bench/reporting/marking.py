"""Marks on the systems of a table that are in-sample on its corpus, and a note that says so."""

from __future__ import annotations

from dataclasses import replace

from dovetail_bench.in_sample import MARKS, NOTES, mark_of
from dovetail_bench.reporting.tabular import Cell, Row, Table

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
