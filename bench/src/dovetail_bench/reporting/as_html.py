"""Writes a report as one self-contained HTML page: sortable tables, plots, light and dark."""

from __future__ import annotations

import os
from collections.abc import Mapping
from html import escape
from importlib.resources import files
from pathlib import Path

from dovetail_bench.reporting.plots import figure
from dovetail_bench.reporting.report import Chapter, Origin, Report
from dovetail_bench.reporting.tabular import LONG, Cell, Column, Row, Table, text_of


def page(report: Report, folder: Path) -> str:
    """The page as it is to lie in a folder, from where its links to run files lead."""
    names = [chapter.dataset for chapter in report.chapters]
    links = "".join(f'<a href="#{_slug(name)}">{escape(name)}</a>' for name in names)
    body = [
        "<h1>Evaluation</h1>",
        '<p class="lead">Every number leads to its run and the command that made it. Rows in '
        "italics are published figures, with the models they were made with. Best in bold and "
        "second best underlined are among measured rows. Click a heading to sort.</p>",
        f"<nav>{links}</nav>",
        *(_chapter(chapter, folder) for chapter in report.chapters),
    ]
    template = files("dovetail_bench.reporting").joinpath("page.html").read_text("utf-8")
    return template.replace("{body}", "\n".join(body))


def _chapter(chapter: Chapter, folder: Path) -> str:
    slug = _slug(chapter.dataset)
    origins = {origin.number: origin for origin in chapter.origins}
    parts = [f'<h2 id="{slug}">{escape(chapter.dataset)}</h2>']
    parts += [_table(table, slug, origins) for table in chapter.filled]
    if chapter.lacking:
        missing = "".join(
            f"<li>{escape(table.title)}: {escape(table.missing)}</li>" for table in chapter.lacking
        )
        parts.append(f"<h3>Not here yet</h3><ul>{missing}</ul>")
    parts.append(_runs(chapter, folder))
    return "\n".join(parts)


def _table(table: Table, slug: str, origins: Mapping[int, Origin]) -> str:
    numeric = [
        any(isinstance(row.cells[place].value, float | int) for row in table.rows)
        for place in range(len(table.columns))
    ]
    heads = "".join(
        _head(column, numeric[place], _room(table, place))
        for place, column in enumerate(table.columns)
    )
    rows = "\n".join(_row(table, number, numeric, origins) for number in range(len(table.rows)))
    note = f'<p class="note">{escape(table.note)}</p>' if table.note else ""
    drawn = "".join(f"<figure>{figure(plot)}</figure>" for plot in table.plots if plot.lines)
    return (
        f'<section id="{slug}-{table.name}"><h3>{escape(table.title)}</h3>\n'
        f'<div class="wide"><table class="sorted"><thead><tr>{heads}'
        f'<th scope="col"><button>run</button></th></tr></thead>\n<tbody>\n{rows}\n</tbody></table>'
        f"</div>{note}{drawn}</section>"
    )


def _head(column: Column, numeric: bool, room: str) -> str:
    named = " ".join(each for each in ("number" * numeric, room) if each)
    attributes = f' class="{named}"' if named else ""
    mark = "<sup></sup>" if room else ""
    return f'<th scope="col"{attributes}><button>{escape(column.name)}</button>{mark}</th>'


def _row(table: Table, number: int, numeric: list[bool], origins: Mapping[int, Origin]) -> str:
    row = table.rows[number]
    shown = "".join(
        _cell(
            cell, table.columns[place], row, origins,
            (_kind(numeric[place], cell), table.ranks.get((number, place), ""),
             _room(table, place)),
        )
        for place, cell in enumerate(row.cells)
    )  # fmt: skip
    if row.published:
        return f'<tr class="published">{shown}<td>published: {escape(row.published)}</td></tr>'
    cited = ", ".join(f'<a href="#run-{each}">{each}</a>' for each in row.runs)
    return f"<tr>{shown}<td>{cited}</td></tr>"


def _cell(
    cell: Cell, column: Column, row: Row, origins: Mapping[int, Origin], classes: tuple[str, ...]
) -> str:
    text = escape(text_of(cell, column))
    named = " ".join(each for each in classes if each)
    # In a column with marks every number has room for one, so that the numbers stay in line.
    mark = f"<sup>{escape(cell.mark)}</sup>" if cell.mark or classes[-1] else ""
    attributes = f' class="{named}"' if named else ""
    if not isinstance(cell.value, float | int):
        return f"<td{attributes}>{text}{mark}</td>"
    attributes += f' data-value="{cell.value!r}"'
    if row.runs:
        commands = "; ".join(origins[each].command for each in row.runs if each in origins)
        text = f'<a href="#run-{row.runs[0]}" title="{escape(commands)}">{text}</a>'
    return f"<td{attributes}>{text}{mark}</td>"


def _runs(chapter: Chapter, folder: Path) -> str:
    rows = "\n".join(
        f'<tr id="run-{origin.number}"><td>{origin.number}</td>'
        f'<td><a href="{escape(_relative(origin.path, folder))}">'
        f"{escape(origin.path.name)}</a></td>"
        f"<td><code>{escape(origin.command)}</code></td></tr>"
        for origin in chapter.origins
    )
    return (
        '<h3>Runs</h3><div class="wide"><table><thead><tr><th scope="col">run</th>'
        '<th scope="col">file</th><th scope="col">command</th></tr></thead>\n'
        f"<tbody>\n{rows}\n</tbody></table></div>"
    )


def _kind(numeric: bool, cell: Cell) -> str:
    if isinstance(cell.value, str):
        return "long" if len(cell.value) > LONG else ""
    return "number" if numeric else ""


def _room(table: Table, place: int) -> str:
    """The class of a column with marks, by how many letters the longest has."""
    longest = max((len(row.cells[place].mark) for row in table.rows), default=0)
    if not longest:
        return ""
    return next((f"m{room}" for room in (2, 4, 8) if longest <= room), "m16")


def _relative(path: Path, folder: Path) -> str:
    return Path(os.path.relpath(path.resolve(), folder.resolve())).as_posix()


def _slug(text: str) -> str:
    return "".join(sign if sign.isalnum() else "-" for sign in text)
