"""Writes a report to a folder: Markdown, and the figures as JSON."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from dovetail.ports import Json
from dovetail_bench.in_sample import KINDS
from dovetail_bench.reporting.report import Chapter
from dovetail_bench.reporting.tabular import BEST, SECOND, Cell, Column, Row, Table, text_of

TEXT, FIGURES = "report.md", "figures.json"


def write_report(chapters: Sequence[Chapter], folder: Path) -> list[Path]:
    """Write a report and its figures; returns the files."""
    written = {
        folder / TEXT: "\n".join(
            f"## {chapter.dataset}\n\n{chapter_markdown(chapter)}" for chapter in chapters
        ),
        folder / FIGURES: json.dumps(figures(chapters), ensure_ascii=False, indent=1) + "\n",
    }
    folder.mkdir(parents=True, exist_ok=True)
    for file, text in written.items():
        file.write_text(text, encoding="utf-8")
    return list(written)


def figures(chapters: Sequence[Chapter]) -> Json:
    """Every measured value by dataset and table; without times, so that two runs give the same."""
    return {chapter.dataset: _measured(chapter) for chapter in chapters}


def _measured(chapter: Chapter) -> Json:
    files = {origin.number: origin.path.name for origin in chapter.origins}
    return {
        table.name: [
            {
                **{
                    column.name: round(cell.value, 6)
                    if isinstance(cell.value, float)
                    else cell.value
                    for column, cell in zip(table.columns, row.cells, strict=True)
                },
                "in_sample": next((KINDS[c.mark] for c in row.cells if c.mark in KINDS), None),
                "runs": [files[number] for number in row.runs],
            }
            for row in table.rows
            if not row.published
        ]
        for table in chapter.filled
    }


def table_markdown(table: Table) -> str:
    """A table with its title and note."""
    lines = [f"### {_escape(table.title)}", ""]
    names = [column.name for column in table.columns]
    origins = any(row.runs or row.published for row in table.rows)
    lines.append(_line([*map(_escape, names), *["run"] * origins]))
    align = ["---:" if _numeric(table, place) else "---" for place in range(len(names))]
    lines.append(_line([*align, *["---"] * origins]))
    for number, row in enumerate(table.rows):
        shown = [
            _cell(cell, table.columns[place], table.ranks.get((number, place), ""))
            for place, cell in enumerate(row.cells)
        ]
        lines.append(_line([*shown, *[_origin(row)] * origins]))
    if table.note:
        lines += ["", _escape(table.note)]
    return "\n".join(lines) + "\n"


def chapter_markdown(chapter: Chapter, shown: Collection[str] | None = None) -> str:
    """The tables of a dataset, or those of some names, and the runs that they stand on."""
    tables = [table for table in chapter.filled if shown is None or table.name in shown]
    cited = {number for table in tables for row in table.rows for number in row.runs}
    lines = ["### Runs", ""]
    lines += [
        f"{origin.number}. `{origin.command.replace('`', chr(39))}`"
        for origin in chapter.origins
        if origin.number in cited
    ]
    if shown is None and chapter.lacking:
        lines += ["", "Not here yet:", ""]
        lines += [f"- {_escape(each.title)}: {_escape(each.missing)}" for each in chapter.lacking]
    return "\n".join([*map(table_markdown, tables), *lines, ""])


def _cell(cell: Cell, column: Column, rank: str) -> str:
    text = _escape(text_of(cell, column))
    if rank == BEST:
        text = f"**{text}**"
    elif rank == SECOND:
        text = f"<ins>{text}</ins>"
    return f"{text}<sup>{_escape(cell.mark)}</sup>" if cell.mark else text


def _origin(row: Row) -> str:
    if row.published:
        return f"published: {_escape(row.published)}"
    return ", ".join(map(str, row.runs))


def _numeric(table: Table, place: int) -> bool:
    return any(isinstance(row.cells[place].value, float | int) for row in table.rows)


def _line(parts: Iterable[str]) -> str:
    return f"| {' | '.join(parts)} |"


def _escape(text: str) -> str:
    """Text of which nothing is read as markup.

    >>> print(_escape("a|b <c> *"))
    a\\|b &lt;c&gt; \\*
    """
    plain = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    for sign in ("\\", "|", "*", "_", "`"):
        plain = plain.replace(sign, f"\\{sign}")
    return " ".join(plain.split())
