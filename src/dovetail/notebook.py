"""Small pieces of HTML for notebooks: tables, notes, and a drawing of how tables join.

Everything is made printable and escaped, and nothing is loaded from anywhere: no script, no style
sheet, no image.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from html import escape
from typing import NamedTuple

from dovetail.text import confidence_word, printable_lines

_CELL = "text-align:left;vertical-align:top;padding:2px 8px"
# Sizes of the drawing, in pixels; a character of its font is about so wide.
_CHARACTER, _HEAD, _ROW, _PADDING = 8, 28, 20, 9
_ACROSS, _DOWN, _MARGIN = 64, 18, 6
_LONGEST_NAME = 28
# The colours of the words for how sure something is, as on the page, each on a paler one.
_COLOURS = {
    "sure": ("#1d6b34", "#e8f3eb"),
    "likely": ("#0d5872", "#e4f0f4"),
    "unsure": ("#7d5a00", "#f8f0da"),
    "guess": ("#9c2318", "#fbe9e7"),
}


def block(title: str, *parts: str, beside: str = "") -> str:
    """Pieces under a title, which more may stand beside."""
    inside = "".join(parts)
    more = f' <span style="opacity:.7">{_shown(beside)}</span>' if beside else ""
    return (
        f'<div style="max-width:100%;overflow-x:auto"><p><b>{_shown(title)}</b>{more}</p>'
        f"{inside}</div>"
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


def line(text: str, sure: float | None = None) -> str:
    """A plain sentence, behind how sure something is."""
    said = "" if sure is None else f"{sureness(sure)} "
    return f"<p>{said}{_shown(text)}</p>"


class Named(NamedTuple):
    """A cell by the short names of tables; the ids appear where the pointer rests on it."""

    text: str
    ids: str


class Sure(float):
    """How sure something is: a cell with a word in its colour, and the number behind it."""


def sureness(share: float) -> str:
    """How sure something is, in one word, with the number behind it.

    >>> sureness(0.93).rpartition("</b>")[0].rpartition(">")[2]
    'sure 0.93'
    """
    word = confidence_word(share)
    ink, paper = _COLOURS[word]
    style = f"color:{ink};background:{paper};border-radius:9px;padding:0 7px;white-space:nowrap"
    return f'<b style="{style}">{word} {share:.2f}</b>'


class Join(NamedTuple):
    """A join as it is drawn: the places of its tables, its columns, a label, and what it says."""

    one: int
    other: int
    columns: Sequence[tuple[str, str]]
    label: str
    words: str


class _Box:
    """A table of the drawing: its name, the columns that join, and where it stands."""

    def __init__(self, name: str) -> None:
        self.name = name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…"
        self.title, self.columns, self.near = name, list[str](), list[_Box]()
        self.left = self.top = self.width = self.height = 0

    def fit(self) -> None:
        """Size the box by what stands in it."""
        longest = max(len(text) for text in (self.name, *self.columns))
        self.width = min(longest, _LONGEST_NAME + 4) * _CHARACTER + 2 * _PADDING
        self.height = _HEAD + _ROW * len(self.columns) + (6 if self.columns else 0)

    def row(self, column: str) -> int:
        """How far down the middle of a column stands."""
        return self.top + _HEAD + _ROW * self.columns.index(column) + _ROW // 2


def join_graph(
    names: Sequence[str], joins: Iterable[Join], connectors: Collection[int] = ()
) -> str:
    """Tables as boxes with the columns that join, and lines from column to column, in SVG.

    Tables stand as on the page: in layers by how many joins they are away from the one with most,
    so that a line runs between two layers, or beside one, and never through a box. The text of a
    join appears where the pointer rests on its line. The boxes of connectors are dashed.
    """
    edges, boxes = list(joins), [_Box(name) for name in names]
    for edge in edges:
        ends = boxes[edge.one], boxes[edge.other]
        for box, other, own in zip(ends, ends[::-1], zip(*edge.columns, strict=True), strict=True):
            box.columns = list(dict.fromkeys((*box.columns, *own)))
            box.near.append(other)
    width, height = _placed(boxes)
    lines = "".join(_line(edge, boxes[edge.one], boxes[edge.other]) for edge in edges)
    drawn = "".join(_drawn(box, dashed=at in connectors) for at, box in enumerate(boxes))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="img" aria-label="how the tables join" '
        f'font-family="monospace" font-size="12">{lines}{drawn}</svg>'
    )


def _placed(boxes: Sequence[_Box]) -> tuple[int, int]:
    """Place boxes layer by layer; how wide and high the drawing is."""
    layers = _layers(boxes)
    for box in boxes:
        box.fit()
    high = max((_height(layer) for layer in layers), default=0)
    left = _MARGIN
    for layer in layers:
        wide, top = max(box.width for box in layer), _MARGIN + (high - _height(layer)) // 2
        for box in layer:
            box.left, box.top = left + (wide - box.width) // 2, top
            top += box.height + _DOWN
        left += wide + _ACROSS
    return max(left, 2 * _MARGIN), high + 2 * _MARGIN


def _height(layer: Sequence[_Box]) -> int:
    return sum(box.height + _DOWN for box in layer) - _DOWN


def _layers(boxes: Sequence[_Box]) -> list[list[_Box]]:
    """The box with most joins in the middle; what hangs together without it stands on one side."""
    layers: dict[int, list[_Box]] = {}
    placed: set[_Box] = set()
    for start in sorted(boxes, key=lambda box: -len(box.near)):
        if start in placed:
            continue
        layers.setdefault(0, []).append(start)
        placed.add(start)
        sides = {1: 0, -1: 0}
        for first in start.near:
            side = 1 if sides[1] <= sides[-1] else -1
            level = [first] if first not in placed else []
            # The others of its side that join the middle too stand as near to it.
            level += [box for box in start.near if level and _together(first, box, start)]
            distance = 1
            while level := [box for box in dict.fromkeys(level) if box not in placed]:
                layers.setdefault(side * distance, []).extend(level)
                placed.update(level)
                sides[side] += len(level)
                level, distance = [other for box in level for other in box.near], distance + 1
    return [layers[number] for number in sorted(layers)]


def _together(one: _Box, other: _Box, without: _Box) -> bool:
    """Whether joins lead from one box to another, but for those of a third."""
    reached = [one]
    for box in reached:
        reached += [near for near in box.near if near is not without and near not in reached]
    return other in reached


def _drawn(box: _Box, *, dashed: bool) -> str:
    dashes = ' stroke-dasharray="4 3"' if dashed else ""
    texts = "".join(
        f'<text x="{box.left + _PADDING}" y="{box.row(name) + 4}" fill="#3c4a5e">'
        f"{_shown(name[: _LONGEST_NAME + 4])}</text>"
        for name in box.columns
    )
    return (
        f'<g><title>{_shown(box.title)}</title><rect x="{box.left}" y="{box.top}" '
        f'width="{box.width}" height="{box.height}" rx="6" fill="#eef3fb" '
        f'stroke="#5b7db1"{dashes}/>'
        f'<text x="{box.left + _PADDING}" y="{box.top + 18}" '
        f'style="font-weight:bold" fill="#1b2a41">{_shown(box.name)}</text>{texts}</g>'
    )


def _line(edge: Join, one: _Box, other: _Box) -> str:
    """The lines of a join from column to column, and its label in the middle of the first."""
    paths, label = "", ""
    for left, right in edge.columns:
        y1, y2 = one.row(left), other.row(right)
        if one.left + one.width < other.left:
            x1, x2 = one.left + one.width, other.left
        elif other.left + other.width < one.left:
            x1, x2 = one.left, other.left + other.width
        else:  # in one layer: around the right side
            x1, x2 = one.left + one.width, other.left + other.width
        beside = x1 == one.left + one.width and x2 == other.left + other.width
        middle = max(x1, x2) + _ACROSS // 2 if beside else (x1 + x2) // 2
        paths += (
            f'<path d="M{x1} {y1} C{middle} {y1} {middle} {y2} {x2} {y2}" fill="none" '
            'stroke="#5b7db1" stroke-width="2"/>'
        )
        label = label or (
            f'<text x="{middle}" y="{(y1 + y2) // 2 - 7}" '
            f'style="text-anchor:middle" fill="#5b7db1">{_shown(edge.label)}</text>'
        )
    return f"<g><title>{_shown(edge.words)}</title>{paths}{label}</g>"


def _shown(text: str) -> str:
    return escape(printable_lines(text))


def _text(cell: object) -> str:
    if cell is None:
        return ""
    if isinstance(cell, Sure):
        return sureness(cell)
    if isinstance(cell, Named):
        return f'<span title="{_shown(cell.ids)}">{_shown(cell.text)}</span>'
    return _shown(cell.hex() if isinstance(cell, bytes) else str(cell))
