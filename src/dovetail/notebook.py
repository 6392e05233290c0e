"""Small pieces of HTML for notebooks: tables, notes, and a drawing of how tables join.

Everything is made printable and escaped, and nothing is loaded from anywhere: no script, no style
sheet, no image.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from html import escape

from dovetail.text import printable_lines

_CELL = "text-align:left;vertical-align:top;padding:2px 8px"
# Sizes of the drawing, in pixels; a character of its font is about so wide.
_CHARACTER, _HEIGHT, _PADDING = 7, 26, 9
_ACROSS, _DOWN, _MARGIN = 56, 16, 4
_LONGEST_NAME = 28


def block(title: str, *parts: str) -> str:
    """Pieces under a title."""
    inside = "".join(parts)
    return (
        f'<div style="max-width:100%;overflow-x:auto"><p><b>{_shown(title)}</b></p>{inside}</div>'
    )


def table(headers: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """A table; None is an empty cell.

    >>> table(["a"], [["<b>"], [None]]).count("&lt;b&gt;")
    1
    """
    head = "".join(f'<th style="{_CELL}">{_shown(name)}</th>' for name in headers)
    body = "".join(
        "<tr>" + "".join(f'<td style="{_CELL}">{_text(cell)}</td>' for cell in row) + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def note(text: str) -> str:
    """A sentence to look out for."""
    return f"<p>⚠ {_shown(text)}</p>"


def code(text: str) -> str:
    """SQL or the like, as it stands."""
    return f'<pre style="white-space:pre-wrap">{_shown(text)}</pre>'


def line(text: str) -> str:
    """A plain sentence."""
    return f"<p>{_shown(text)}</p>"


def join_graph(
    names: Sequence[str],
    joins: Iterable[tuple[int, int, str]],
    connectors: Collection[int] = (),
) -> str:
    """Tables as boxes and joins as lines, in SVG; a join is given by the places of its tables.

    A table stands one column to the right of the first table that it joins; the text of a join
    appears where the pointer rests on its line. The boxes of connectors are dashed.
    """
    edges = list(joins)
    columns = _columns(len(names), edges)
    boxes: dict[int, tuple[int, int, int]] = {}
    left = height = _MARGIN
    for column in columns:
        wide = max(_width(names[number]) for number in column)
        for row, number in enumerate(column):
            top = _MARGIN + row * (_HEIGHT + _DOWN)
            boxes[number] = (left, top, wide)
            height = max(height, top + _HEIGHT + _MARGIN)
        left += wide + _ACROSS
    width = max(left - _ACROSS + _MARGIN, 2 * _MARGIN)
    lines = "".join(_line(boxes[one], boxes[other], text) for one, other, text in edges)
    drawn = "".join(
        _box(boxes[number], names[number], dashed=number in connectors) for number in sorted(boxes)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="img" aria-label="how the tables join" '
        f'font-family="monospace" font-size="12">{lines}{drawn}</svg>'
    )


def _columns(tables: int, edges: Sequence[tuple[int, int, str]]) -> list[list[int]]:
    """Places of tables, column by column: by their distance from the first of their component."""
    columns: list[list[int]] = []
    seen: set[int] = set()
    for first in range(tables):
        level, depth = [first], 0
        while level := [number for number in dict.fromkeys(level) if number not in seen]:
            seen.update(level)
            if depth == len(columns):
                columns.append([])
            columns[depth] += level
            around = ((a, b) for one, two, _ in edges for a, b in ((one, two), (two, one)))
            level, depth = [b for a, b in around if a in level], depth + 1
    return columns


def _box(box: tuple[int, int, int], name: str, *, dashed: bool) -> str:
    left, top, width = box
    dashes = ' stroke-dasharray="4 3"' if dashed else ""
    shown = name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…"
    return (
        f'<g><title>{_shown(name)}</title><rect x="{left}" y="{top}" width="{width}" '
        f'height="{_HEIGHT}" rx="4" fill="#eef3fb" stroke="#5b7db1"{dashes}/>'
        f'<text x="{left + _PADDING}" y="{top + 17}" fill="#1b2a41">{_shown(shown)}</text></g>'
    )


def _line(one: tuple[int, int, int], other: tuple[int, int, int], text: str) -> str:
    first, second = sorted((one, other))
    if first[0] == second[0]:  # in one column: around the right side
        x = first[0] + first[2]
        y1, y2 = first[1] + _HEIGHT // 2, second[1] + _HEIGHT // 2
        path = f"M{x} {y1} C{x + 24} {y1} {x + 24} {y2} {x} {y2}"
    else:
        x1, y1 = first[0] + first[2], first[1] + _HEIGHT // 2
        x2, y2 = second[0], second[1] + _HEIGHT // 2
        path = f"M{x1} {y1} L{x2} {y2}"
    return (
        f'<g><title>{_shown(text)}</title><path d="{path}" fill="none" stroke="#5b7db1" '
        f'stroke-width="2"/></g>'
    )


def _width(name: str) -> int:
    return min(len(name), _LONGEST_NAME) * _CHARACTER + 2 * _PADDING


def _shown(text: str) -> str:
    return escape(printable_lines(text))


def _text(cell: object) -> str:
    if cell is None:
        return ""
    return _shown(cell.hex() if isinstance(cell, bytes) else str(cell))
