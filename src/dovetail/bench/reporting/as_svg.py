"""Plots as SVG that takes its colours from the page: lines, points, axes, a legend."""

from __future__ import annotations

import math
from html import escape

from dovetail.bench.reporting.tabular import Line, Plot

WIDTH, HEIGHT = 780, 340
LEFT, RIGHT, TOP, BOTTOM = 52, 310, 16, 44
HUES = 8
_TICKS = 5


def svg(plot: Plot) -> str:
    """A plot; its lines have the classes s0 to s7, which the page gives colours."""
    points = [point for line in plot.lines for point in line.points]
    across = _Axis.over([x for x, _ in points], LEFT, WIDTH - RIGHT)
    up = _Axis.over([y for _, y in points], HEIGHT - BOTTOM, TOP)
    parts = [
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(plot.title)}">',
        f"<title>{escape(plot.title)}</title>",
        *_grid(across, up),
        f'<text class="axis" x="{(LEFT + WIDTH - RIGHT) / 2:.1f}" y="{HEIGHT - 6}" '
        f'text-anchor="middle">{escape(plot.across)}</text>',
        f'<text class="axis" transform="translate(13 {(TOP + HEIGHT - BOTTOM) / 2:.1f}) '
        f'rotate(-90)" text-anchor="middle">{escape(plot.up)}</text>',
    ]
    for number, line in enumerate(plot.lines):
        parts += _drawn(line, number, across, up)
        parts += _legend(line, number)
    return "\n".join([*parts, "</svg>"])


class _Axis:
    """Values on one axis, from round number to round number, and where they are drawn."""

    def __init__(self, low: float, high: float, step: float, ends: tuple[float, float]) -> None:
        self._low, self._high, self._ends = low, high, ends
        count = round((high - low) / step)
        self.ticks = [low + step * place for place in range(count + 1)]

    @classmethod
    def over(cls, values: list[float], start: float, end: float) -> _Axis:
        """An axis that all values fit on."""
        least, most = min(values, default=0.0), max(values, default=1.0)
        if least == most:
            least, most = least - 1, most + 1
        rough = (most - least) / _TICKS
        size = 10 ** math.floor(math.log10(rough))
        step = next(size * each for each in (1, 2, 5, 10) if size * each >= rough)
        low, high = math.floor(least / step) * step, math.ceil(most / step) * step
        return cls(low, high, step, (start, end))

    def at(self, value: float) -> float:
        """Where a value is drawn."""
        start, end = self._ends
        return start + (value - self._low) / (self._high - self._low) * (end - start)


def _grid(across: _Axis, up: _Axis) -> list[str]:
    right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM
    lines: list[str] = []
    for tick in across.ticks:
        x = across.at(tick)
        lines.append(f'<path class="grid" d="M{x:.1f} {TOP}V{bottom}"/>')
        lines.append(f'<text x="{x:.1f}" y="{bottom + 16}" text-anchor="middle">{tick:g}</text>')
    for tick in up.ticks:
        y = up.at(tick)
        lines.append(f'<path class="grid" d="M{LEFT} {y:.1f}H{right}"/>')
        lines.append(f'<text x="{LEFT - 7}" y="{y + 4:.1f}" text-anchor="end">{tick:g}</text>')
    return lines


def _drawn(line: Line, number: int, across: _Axis, up: _Axis) -> list[str]:
    style = f"s{number % HUES}" + (" published" if line.published else "")
    places = [(across.at(x), up.at(y)) for x, y in line.points]
    parts: list[str] = []
    if line.joined and len(places) > 1:
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
        parts.append(f'<path class="line {style}" d="M{path}"/>')
    for (x, y), (across_value, up_value) in zip(places, line.points, strict=True):
        told = escape(f"{line.label}: {across_value:.1f}, {up_value:.1f}")
        parts.append(
            f'<circle class="point {style}" cx="{x:.1f}" cy="{y:.1f}" r="3.5">'
            f"<title>{told}</title></circle>"
        )
    return parts


def _legend(line: Line, number: int) -> list[str]:
    x, y = WIDTH - RIGHT + 16, TOP + 10 + 17 * number
    style = f"s{number % HUES}" + (" published" if line.published else "")
    return [
        f'<circle class="point {style}" cx="{x}" cy="{y - 4}" r="3.5"/>',
        f'<text class="legend" x="{x + 10}" y="{y}">{escape(line.label)}</text>',
    ]
