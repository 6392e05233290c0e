"""A picture of small panels side by side, light and dark: curves over two axes, and a legend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

# Measures in pixels: a panel, the room around it, the panels of a row.
WIDE, HIGH, GAP, TOP, ACROSS = 190, 120, 44, 40, 4
STYLE = """
  svg { font: 12px system-ui, sans-serif }
  .paper { fill: #ffffff } .ink { fill: #24292f } .faint { fill: #6e7781 }
  .grid { stroke: #d0d7de } .line { fill: none; stroke-width: 2.5 }
  .thin { stroke-width: 1; opacity: .7 }
  .a { stroke: #0969da } .b { stroke: #bc4c00; stroke-dasharray: 5 3 }
  .c { stroke: #1a7f37 } .d { stroke: #8250df; stroke-dasharray: 2 2 }
  @media (prefers-color-scheme: dark) {
    .paper { fill: #0d1117 } .ink { fill: #e6edf3 } .faint { fill: #9198a1 }
    .grid { stroke: #30363d } .a { stroke: #4493f8 } .b { stroke: #f0883e }
    .c { stroke: #3fb950 } .d { stroke: #ab7df8 }
  }
"""
STYLES = ("a", "b", "c", "d")
SHARES = {"0": 0.0, "0.5": 0.5, "1": 1.0}


@dataclass(frozen=True, slots=True)
class Curve:
    """Points, both parts of them from 0 to 1, drawn in a style of the sheet."""

    style: str
    points: Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Panel:
    """Curves over two axes, whose labels stand where the axes say, from 0 to 1."""

    title: str
    across: Mapping[str, float]
    curves: Sequence[Curve]
    up: Mapping[str, float]


def sheet(title: str, panels: Sequence[Panel], legend: Mapping[str, str]) -> str:
    """The panels as one SVG document, and after them what the styles stand for."""
    rows = -(-(len(panels) + 1) // ACROSS)
    width, height = ACROSS * (WIDE + GAP) + GAP // 2, rows * (HIGH + TOP + GAP // 2) + GAP // 2
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">',
        f"<title>{escape(title)}</title>",
        f"<style>{STYLE}</style>",
        f'<rect class="paper" width="{width}" height="{height}" rx="6"/>',
    ]
    for place, panel in enumerate(panels):
        parts += _drawn(place, panel)
    parts += _legend(len(panels), legend)
    return "\n".join([*parts, "</svg>", ""])


def _corner(place: int) -> tuple[int, int]:
    return GAP + place % ACROSS * (WIDE + GAP), TOP + place // ACROSS * (HIGH + TOP + GAP // 2)


def _drawn(place: int, panel: Panel) -> list[str]:
    left, top = _corner(place)
    title = escape(panel.title)
    parts = [f'<text class="ink" x="{left}" y="{top - 12}" font-weight="600">{title}</text>']
    for text, share in panel.up.items():
        y = top + HIGH * (1 - share)
        parts.append(f'<line class="grid" x1="{left}" x2="{left + WIDE}" y1="{y:g}" y2="{y:g}"/>')
        parts.append(_label(left - 6, y + 4, text, "end"))
    parts += [
        _label(left + WIDE * share, top + HIGH + 16, text) for text, share in panel.across.items()
    ]
    for curve in panel.curves:
        points = " ".join(
            f"{left + WIDE * x:g},{top + HIGH * (1 - y):.1f}" for x, y in curve.points
        )
        parts.append(f'<polyline class="line {curve.style}" points="{points}"/>')
    return parts


def _label(x: float, y: float, text: str, anchor: str = "middle") -> str:
    return f'<text class="faint" x="{x:g}" y="{y:g}" text-anchor="{anchor}">{escape(text)}</text>'


def _legend(place: int, legend: Mapping[str, str]) -> list[str]:
    left, top = _corner(place)
    parts = []
    for number, (text, style) in enumerate(legend.items()):
        y = top + 12 + 26 * number
        parts.append(f'<line class="line {style}" x1="{left}" x2="{left + 36}" y1="{y}" y2="{y}"/>')
        parts.append(f'<text class="ink" x="{left + 46}" y="{y + 4}">{escape(text)}</text>')
    return parts
