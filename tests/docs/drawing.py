"""Boxes, arrows and labels as one SVG document that follows the reader's light or dark mode."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

STYLE = """
  svg { font: 12px system-ui, sans-serif }
  .paper { fill: #ffffff } .ink { fill: #24292f } .faint { fill: #59636e }
  .code { font: 11px ui-monospace, monospace }
  .box { fill: #f6f8fa; stroke-width: 1.5 } .optional { stroke-dasharray: 5 3 }
  .edge { stroke: #59636e; stroke-width: 1.5; fill: none } .head { fill: #59636e }
  .plain { stroke: #59636e } .a { stroke: #0969da } .b { stroke: #bc4c00 } .c { stroke: #1a7f37 }
  @media (prefers-color-scheme: dark) {
    .paper { fill: #0d1117 } .ink { fill: #e6edf3 } .faint { fill: #9198a1 }
    .box { fill: #161b22 } .edge { stroke: #9198a1 } .head { fill: #9198a1 }
    .plain { stroke: #9198a1 } .a { stroke: #4493f8 } .b { stroke: #f0883e } .c { stroke: #3fb950 }
  }
"""
ARROW = (
    '<marker id="arrow" viewBox="0 0 8 8" refX="7.5" refY="4" markerWidth="8" markerHeight="8" '
    'orient="auto-start-reverse"><path class="head" d="M0 0.5 8 4 0 7.5z"/></marker>'
)

Point = tuple[float, float]


def document(title: str, width: int, height: int, parts: Iterable[str]) -> str:
    """The parts on paper of a size."""
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">',
            f"<title>{escape(title)}</title>",
            f"<style>{STYLE}</style>",
            f"<defs>{ARROW}</defs>",
            f'<rect class="paper" width="{width}" height="{height}" rx="6"/>',
            *parts,
            "</svg>",
            "",
        ]
    )


def box(left: float, top: float, width: float, height: float, style: str) -> str:
    """A rectangle with round corners."""
    return (
        f'<rect class="box {style}" x="{left:g}" y="{top:g}" width="{width:g}" '
        f'height="{height:g}" rx="6"/>'
    )


def text(
    x: float, y: float, line: str, style: str = "ink", anchor: str = "middle", weight: int = 400
) -> str:
    """A line of text."""
    bold = f' font-weight="{weight}"' if weight != 400 else ""
    return (
        f'<text class="{style}" x="{x:g}" y="{y:g}" text-anchor="{anchor}"{bold}>'
        f"{escape(line)}</text>"
    )


def arrow(*points: Point) -> str:
    """A line through some points, with its head at the last."""
    path = " ".join(f"{x:g},{y:g}" for x, y in points)
    return f'<polyline class="edge" points="{path}" marker-end="url(#arrow)"/>'
