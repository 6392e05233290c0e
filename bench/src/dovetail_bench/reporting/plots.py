"""Plots as SVG: panels side by side, each a frame with two axes, and in it curves and points.

The document follows the reader's light or dark mode.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

Point = tuple[float, float]

STYLES = ("a", "b", "c", "d")
SHARES = {"0": 0.0, "0.5": 0.5, "1": 1.0}
_SHEET = """
  svg { font: 12px system-ui, sans-serif }
  .paper { fill: #ffffff } .ink { fill: #24292f } .faint { fill: #6e7781 }
  .grid { stroke: #d0d7de } .line { fill: none; stroke-width: 2.5 }
  .thin { stroke-width: 1; opacity: .7 }
  .a { stroke: #0969da } .b { stroke: #bc4c00; stroke-dasharray: 5 3 }
  .c { stroke: #1a7f37 } .d { stroke: #8250df; stroke-dasharray: 2 2 }
  .dot { fill: #0969da } .other { fill: #bc4c00 }
  .ring { fill: #ffffff; stroke: #0969da; stroke-width: 2.5 }
  @media (prefers-color-scheme: dark) {
    .paper { fill: #0d1117 } .ink { fill: #e6edf3 } .faint { fill: #9198a1 }
    .grid { stroke: #30363d } .a { stroke: #4493f8 } .b { stroke: #f0883e }
    .c { stroke: #3fb950 } .d { stroke: #ab7df8 } .dot { fill: #4493f8 } .other { fill: #f0883e }
    .ring { fill: #0d1117; stroke: #4493f8 }
  }
"""
_SIDES = {"right": (7, 4, "start"), "left": (-7, 4, "end"), "above": (0, -8, "middle")}


@dataclass(frozen=True, slots=True)
class Frame:
    """Where values are drawn: a rectangle in pixels, and the values at its edges."""

    left: float
    top: float
    width: float
    height: float
    across: Point = (0.0, 1.0)
    up: Point = (0.0, 1.0)

    def at(self, x: float, y: float) -> Point:
        """The place of a pair of values."""
        x_share = (x - self.across[0]) / (self.across[1] - self.across[0])
        y_share = (y - self.up[0]) / (self.up[1] - self.up[0])
        return self.left + x_share * self.width, self.top + (1 - y_share) * self.height


@dataclass(frozen=True, slots=True)
class Curve:
    """Points in order, drawn as a line in a style of the sheet."""

    style: str
    points: Sequence[Point]


@dataclass(frozen=True, slots=True)
class Mark:
    """One point, `dot`, `ring` or `other`; its label stands to the right, to the left or above."""

    style: str
    at: Point
    size: float = 4
    label: str = ""
    side: str = "right"


@dataclass(frozen=True, slots=True)
class Panel:
    """Curves and marks over two axes, whose labels stand at the values that they are given with."""

    title: str
    across: Mapping[str, float]
    curves: Sequence[Curve]
    up: Mapping[str, float]
    marks: Sequence[Mark] = ()
    across_range: Point = (0.0, 1.0)
    up_range: Point = (0.0, 1.0)


@dataclass(frozen=True, slots=True)
class Layout:
    """The measures of a sheet in pixels: a panel, the room around it, and the panels of a row."""

    width: int = 190
    height: int = 120
    gap: int = 44
    top: int = 40
    columns: int = 4

    def corner(self, place: int) -> tuple[int, int]:
        """The upper left corner of a panel."""
        row, column = divmod(place, self.columns)
        left = self.gap + column * (self.width + self.gap)
        return left, self.top + row * (self.height + self.top + self.gap // 2)

    def size(self, places: int, notes: int) -> tuple[int, int]:
        """The whole sheet."""
        rows = -(-places // self.columns)
        half = self.gap // 2
        height = rows * (self.height + self.top + half) + half
        return self.columns * (self.width + self.gap) + half, height + 17 * notes


_LAYOUT = Layout()


def sheet(
    title: str,
    panels: Sequence[Panel],
    legend: Mapping[str, str] | None = None,
    *,
    notes: Sequence[str] = (),
    layout: Layout = _LAYOUT,
) -> str:
    """Panels as one SVG document.

    `legend` says what styles stand for, in the place of one more panel; `notes` stand below.
    """
    width, height = layout.size(len(panels) + bool(legend), len(notes))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">',
        f"<title>{escape(title)}</title>",
        f"<style>{_SHEET}</style>",
        f'<rect class="paper" width="{width}" height="{height}" rx="6"/>',
    ]
    for place, panel in enumerate(panels):
        parts += _panel(panel, layout, place)
    parts += _legend(legend or {}, *layout.corner(len(panels)))
    below = height - 17 * len(notes)
    parts += [
        _text(layout.gap, below + 17 * number, note, "faint", "start")
        for number, note in enumerate(notes)
    ]
    return "\n".join([*parts, "</svg>", ""])


def _panel(panel: Panel, layout: Layout, place: int) -> list[str]:
    left, top = layout.corner(place)
    frame = Frame(left, top, layout.width, layout.height, panel.across_range, panel.up_range)
    title = escape(panel.title)
    parts = [f'<text class="ink" x="{left}" y="{top - 12}" font-weight="600">{title}</text>']
    parts += _grid(frame, panel.across, panel.up, upright=False)
    parts += [_curve(curve.points, curve.style, frame) for curve in panel.curves]
    for mark in panel.marks:
        x, y = frame.at(*mark.at)
        parts.append(_circle((x, y), mark.style, mark.size))
        if mark.label:
            right, down, anchor = _SIDES[mark.side]
            parts.append(_text(x + right, y + down, mark.label, "faint", anchor))
    return parts


def _legend(legend: Mapping[str, str], left: int, top: int) -> list[str]:
    parts = []
    for number, (text, style) in enumerate(legend.items()):
        y = top + 12 + 26 * number
        parts.append(f'<path class="line {style}" d="M{left} {y}H{left + 36}"/>')
        parts.append(_text(left + 46, y + 4, text, "ink", "start"))
    return parts


def _grid(
    frame: Frame, across: Mapping[str, float], up: Mapping[str, float], *, upright: bool = True
) -> list[str]:
    """Lines at the labels of the axes, those of the axis across only where they are wanted."""
    bottom, right = frame.top + frame.height, frame.left + frame.width
    parts: list[str] = []
    for label, value in across.items():
        x, _ = frame.at(value, frame.up[0])
        if upright:
            parts.append(f'<path class="grid" d="M{x:.1f} {frame.top}V{bottom}"/>')
        parts.append(_text(x, bottom + 16, label, "faint"))
    for label, value in up.items():
        _, y = frame.at(frame.across[0], value)
        parts.append(f'<path class="grid" d="M{frame.left} {y:.1f}H{right}"/>')
        parts.append(_text(frame.left - 7, y + 4, label, "faint", "end"))
    return parts


def _curve(points: Sequence[Point], style: str, frame: Frame) -> str:
    path = "L".join(f"{x:.1f} {y:.1f}" for x, y in (frame.at(*point) for point in points))
    return f'<path class="line {style}" d="M{path}"/>'


def _circle(at: Point, style: str, size: float, label: str = "") -> str:
    told = f"<title>{escape(label)}</title>" if label else ""
    place = f'cx="{at[0]:.1f}" cy="{at[1]:.1f}"'
    return f'<circle class="{style}" {place} r="{size:g}">{told}</circle>'


def _text(x: float, y: float, text: str, style: str, anchor: str = "middle") -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f'<text class="{style}" {place}>{escape(text)}</text>'
